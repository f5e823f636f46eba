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


cdef inline void doing(DeviceDescr *dev, const char *what, const void *where) noexcept nogil:
    """Note what the device's lock is taken for: NULL and a region's function, or a directive's words and where it is."""
    dev.what = what
    dev.where = where


cdef void name_construct(const char *what, const void *where, char *to, size_t room) noexcept nogil:
    """`region NAME` or `target update in NAME`; an address where the program is stripped."""
    cdef char name[400]
    cdef char *suffix
    cdef uint64_t offset = 0
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
