# Which construct of the program a device's lock is held for, in the words of messages.

cdef extern from "<elf.h>" nogil:
    int STT_FUNC

cdef extern from "gompy/native/host_symbols.h" nogil:
    bint gompy_symbol_of_host(uint64_t address, int kind, char *name, size_t room, uint64_t *offset)

cdef extern from "../plugins/cxx_names.h" nogil:
    void gompy_readable_name(char *name, size_t room)

cdef extern from *:
    """
    /* In an entry point: the program's call of it.  */
    #define gompy_call_site() ((const char *) __builtin_return_address (0) - 1)
    """
    const void *call_site "gompy_call_site"() noexcept nogil


cdef inline void note_construct(DeviceDescr *dev, const char *what, const void *where) noexcept nogil:
    """Note what the device's lock is taken for: NULL and a region's function, or a directive's words and where it is.
    """
    dev.what = what
    dev.where = where


cdef const char *place_field(const char *place, int number, size_t *length) noexcept nogil:
    """A field of clang's `;file;function;line;column;;`, from 0 on; without one an empty text."""
    cdef const char *end
    while place[0] == c';' and number >= 0:
        place += 1
        end = strchr(place, c';')
        if end == NULL:
            end = place + strlen(place)
        if number == 0:
            length[0] = end - place
            return place
        place = end
        number -= 1
    length[0] = 0
    return b""


cdef void name_source_place(const char *place, char *to, size_t room) noexcept nogil:
    """`FUNCTION at FILE:LINE:COLUMN` of a construct that clang compiled."""
    cdef size_t file, function, line, column
    cdef const char *in_file = place_field(place, 0, &file)
    cdef const char *in_function = place_field(place, 1, &function)
    cdef const char *in_line = place_field(place, 2, &line)
    cdef const char *in_column = place_field(place, 3, &column)
    if line == 0 or in_line[0] == c'0':
        snprintf(to, room, b"a construct (compiled without -g)")
        return
    snprintf(to, room, b"%.*s at %.*s:%.*s:%.*s", <int> min(function, 100), in_function, <int> min(file, 200), in_file,
             <int> min(line, 10), in_line, <int> min(column, 10), in_column)


cdef void name_construct(const char *what, const void *where, char *to, size_t room) noexcept nogil:
    """`region NAME` or `target update in NAME`; an address where the program is stripped."""
    cdef char name[400]
    cdef char *suffix
    cdef uint64_t offset = 0
    if where == NULL and what != NULL and what[0] == c';':
        name_source_place(what, to, room)
        return
    if where == NULL:
        snprintf(to, room, b"%s", or_text(what, b"a region"))
        return
    if gompy_symbol_of_host(<uint64_t> where, STT_FUNC, name, sizeof(name), &offset):
        suffix = strstr(name, b".lto_priv.")
        if suffix != NULL:
            suffix[0] = 0
        gompy_readable_name(name, sizeof(name))
    else:
        snprintf(name, sizeof(name), b"%p", where)
    if what == NULL:
        snprintf(to, room, b"region %s", name)
    else:
        snprintf(to, room, b"%s in %s", what, name)


cdef inline void begin_copy(DeviceDescr *dev, bint to_device, const void *host, size_t size) noexcept nogil:
    """Note the host range, for the case that it is not all memory (host_faults.pxi)."""
    dev.copying.host = <uintptr_t> host
    dev.copying.to_device = to_device
    dev.copying.size = size


cdef inline bint end_copy(DeviceDescr *dev, bint done) noexcept nogil:
    dev.copying.size = 0
    return done
