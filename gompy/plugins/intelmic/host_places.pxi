# What the host has at an address, for messages.

cdef extern from "gompy/native/host_symbols.h" nogil:
    bint gompy_symbol_of_host(uint64_t address, int kind, char *name, size_t room, uint64_t *offset)


cdef bint variable_of_host(uint64_t address, char *to, size_t room) noexcept nogil:
    """``its variable NAME + OFFSET`` of an address in the program or a library, from that file's symbol table.

    False: no such variable, or the file is stripped.
    """
    cdef char name[256]
    cdef uint64_t offset = 0
    if not gompy_symbol_of_host(address, STT_OBJECT, name, sizeof(name), &offset):
        return False
    if offset != 0:
        snprintf(to, room, b"its variable %s + %zu", name, <size_t>offset)
    else:
        snprintf(to, room, b"its variable %s", name)
    return True


cdef void place_of_host(uint64_t address, char *to, size_t room) noexcept nogil:
    """What the host has at an address: "its variable x", "its stack", "its heap", a file's name, "its memory"; empty:
    nothing.
    """
    cdef char text[65536]
    cdef int fd = gompy_open(b"/proc/self/maps", O_RDONLY, 0)
    cdef size_t have = 0
    cdef ssize_t n
    cdef char *line
    cdef char *end
    cdef char *p
    cdef char *name
    cdef uint64_t begin
    to[0] = 0
    if variable_of_host(address, to, room):
        if fd >= 0:
            close(fd)
        return
    while fd >= 0:
        n = read(fd, text + have, sizeof(text) - 1 - have)
        if n <= 0:
            break
        have += <size_t>n
        text[have] = 0
        line = text
        end = strchr(line, c'\n')
        while end != NULL:
            end[0] = 0
            begin = strtoull(line, &p, 16)
            if address >= begin and address < strtoull(p + 1, &p, 16):
                name = strchr(line, c'/')  # the first one: a path may have blanks
                if name == NULL:
                    name = strrchr(line, c' ')
                    name = name + 1 if name != NULL else line
                if strcmp(name, b"[stack]") == 0:
                    snprintf(to, room, b"its stack")
                elif strcmp(name, b"[heap]") == 0:
                    snprintf(to, room, b"its heap")
                elif name[0] == c'/':
                    snprintf(to, room, b"data of %s", strrchr(name, c'/') + 1)
                else:
                    snprintf(to, room, b"its memory")
                close(fd)
                return
            line = end + 1
            end = strchr(line, c'\n')
        have -= <size_t>(line - text)
        memmove(text, line, have)
    if fd >= 0:
        close(fd)
