# Names and lines of addresses in an image, for messages.  Nothing here runs while all is well.

cdef extern from *:
    ctypedef struct Elf64_Ehdr:
        uint16_t e_type
        uint64_t e_shoff
        uint16_t e_shnum
        uint16_t e_shentsize
        uint16_t e_phnum
        uint64_t e_phoff
    ctypedef struct Elf64_Phdr:
        uint32_t p_type
        uint32_t p_flags
        uint64_t p_vaddr
        uint64_t p_memsz
    int SHT_SYMTAB, SHT_DYNSYM, STT_FUNC, STT_OBJECT, PT_LOAD

cdef extern from "gompy/native/host_symbols.h" nogil:
    const char *gompy_symbol_in(const char *bytes, uint64_t size, uint64_t value, unsigned table_type, int kind,
                                uint64_t *offset)
    bint gompy_symbol_of_host(uint64_t address, int kind, char *name, size_t room, uint64_t *offset)


cdef bint holds(host_image *image, uint64_t offset, uint64_t n) noexcept nogil:
    """Whether n bytes at a file offset are inside the image: it may be damaged."""
    return offset <= image.size and n <= image.size - offset


cdef host_image *image_at(mic_device *d, uint64_t address) noexcept nogil:
    """The image that a device address lies in, or NULL."""
    cdef host_image *image = d.images
    cdef Elf64_Ehdr *elf
    cdef Elf64_Phdr *segments
    cdef int i
    while image != NULL:
        elf = <Elf64_Ehdr *>image.bytes
        if holds(image, elf.e_phoff, elf.e_phnum * sizeof(Elf64_Phdr)):
            segments = <Elf64_Phdr *>(image.bytes + elf.e_phoff)
            for i in range(elf.e_phnum):
                if segments[i].p_type == <uint32_t>PT_LOAD and address - image.base >= segments[i].p_vaddr and \
                        address - image.base - segments[i].p_vaddr < segments[i].p_memsz:
                    return image
        image = image.next
    return NULL


cdef inline const char *symbol_in(host_image *image, uint64_t value, int table_type, int kind,
                                  uint64_t *offset) noexcept nogil:
    """The function or variable (kind: STT_*) that covers a link-time address in a symbol table, or NULL."""
    return gompy_symbol_in(image.bytes, image.size, value, table_type, kind, offset)


cdef void name_of(mic_device *d, uint64_t address, char *to, size_t room) noexcept nogil:
    """The name of the function at a device address; the address itself if the image doesn't tell.

    What LTO appended to keep local names apart is left out.
    """
    cdef host_image *image = image_at(d, address)
    cdef const char *name = NULL
    cdef uint64_t offset
    cdef char *suffix
    if image != NULL:
        name = symbol_in(image, address - image.base, SHT_SYMTAB, STT_FUNC, &offset)
        if name == NULL:
            name = symbol_in(image, address - image.base, SHT_DYNSYM, STT_FUNC, &offset)
    if name == NULL:
        snprintf(to, room, b"%p", <void *>address)
        return
    snprintf(to, room, b"%s", name)
    suffix = strstr(to, b".lto_priv.")
    if suffix != NULL:
        suffix[0] = 0


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


cdef extern from *:
    """
    /* Start `readelf -W --debug-dump=decodedline <file on fd>`.  Returns its output, NULL if it can't be started.  */
    static FILE *
    mic_line_tables (int fd, pid_t *pid)
    {
      char path[40];
      char *argv[] = { "readelf", "-W", "--debug-dump=decodedline", path, NULL };
      int ends[2], error;
      posix_spawn_file_actions_t actions;
      snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
      if (gompy_pipe (ends) != 0)
        return NULL;
      posix_spawn_file_actions_init (&actions);
      posix_spawn_file_actions_adddup2 (&actions, fd, fd);
      posix_spawn_file_actions_adddup2 (&actions, ends[1], 1);
      posix_spawn_file_actions_addopen (&actions, 0, "/dev/null", O_RDONLY, 0);
      posix_spawn_file_actions_addopen (&actions, 2, "/dev/null", O_WRONLY, 0);
      error = gompy_spawnp (pid, argv[0], &actions, NULL, argv, gompy_child_environ ());
      posix_spawn_file_actions_destroy (&actions);
      close (ends[1]);
      if (error == 0)
        return fdopen (ends[0], "r");
      close (ends[0]);
      return NULL;
    }
    """
    FILE *line_tables "mic_line_tables"(int fd, pid_t *pid) nogil
    ssize_t getline(char **line, size_t *room, FILE *f) nogil
    int fclose(FILE *f) nogil


cdef void line_of(mic_device *d, uint64_t address, char *to, size_t room) noexcept nogil:
    """``file:line`` of a device address from the image's DWARF, empty if that isn't known.

    Reads the rows of binutils' readelf: name, line, address; a sequence of them ends with the line "-".  (addr2line of
    binutils 2.40 takes the wrong file name in units that LTO made: those have another name for file 0 than for file 1.)
    """
    cdef host_image *image = image_at(d, address)
    cdef uint64_t value, before = 0
    cdef int fd, status, number, last = 0
    cdef bint inside = False, found = False
    cdef pid_t pid = 0
    cdef FILE *rows
    cdef char *text = NULL
    cdef size_t length = 0
    cdef char name[256]
    cdef char last_name[256]
    cdef char kind[32]
    to[0] = 0
    if image == NULL:
        return
    address -= image.base
    fd = file_in_memory(image.bytes, image.size)
    if fd < 0:
        return
    rows = line_tables(fd, &pid)
    close(fd)
    if rows == NULL:
        return
    while getline(&text, &length, rows) > 0:
        if sscanf(text, b"%255s %31s 0x%lx", name, kind, &value) != 3:
            continue
        if inside and before <= address and address < value and not found:
            snprintf(to, room, b"%s:%d", last_name, last)
            found = True  # read on: readelf must not die of a closed pipe
        inside = kind[0] != c'-'
        number = atoi(kind)
        if inside:
            before, last = value, number
            memcpy(last_name, name, sizeof(name))
    free(text)
    fclose(rows)
    while waitpid(pid, &status, 0) < 0 and errno == EINTR:
        pass
