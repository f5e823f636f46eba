# Names and lines of what the rows are about, from the symbol and line tables of the program and its libraries.

cdef extern from "<elf.h>" nogil:
    int STT_FUNC, STT_OBJECT

cdef extern from "gompy/native/host_symbols.h" nogil:
    int gompy_file_of_host(uint64_t address, uint64_t *value)
    bint gompy_symbol_of_host(uint64_t address, int kind, char *name, size_t room, uint64_t *offset)

cdef extern from "../plugins/cxx_names.h" nogil:
    void gompy_readable_name(char *name, size_t room)

cdef extern from "gompy/native/line_tables.h" nogil:
    void gompy_read_lines(int fd, void (*fn)(void *data, uint64_t begin, uint64_t end, const char *file,
                                             int line) noexcept nogil, void *data)

cdef struct FileWanted:
    void *base  # where the file is in memory
    uint64_t difference  # of an address here and in the file


cdef bint find_name(uintptr_t at, int kind, char *to, size_t room) noexcept nogil:
    """The function or variable at an address; 0 where it has none."""
    cdef uint64_t offset = 0
    cdef char *suffix
    if at == 0 or not gompy_symbol_of_host(at, kind, to, room, &offset):
        return False
    suffix = strstr(to, b".lto_priv.")
    if suffix != NULL:
        suffix[0] = 0
    gompy_readable_name(to, room)
    return True


cdef void name_row(ProfileRow *row) noexcept nogil:
    cdef char function[NAME_ROOM]
    if row.kind == ROW_REGION:
        if not find_name(row.at, STT_FUNC, row.name, NAME_ROOM):
            snprintf(row.name, NAME_ROOM, b"%p", <void *> row.at)
    elif row.kind == ROW_VARIABLE:
        if not find_name(row.at, STT_OBJECT, row.name, NAME_ROOM):
            snprintf(row.name, NAME_ROOM, b"(stack or heap)")
    else:
        snprintf(row.name, NAME_ROOM, b"%s", row.what)
    if row.kind != ROW_DEVICE and find_name(row.where, STT_FUNC, function, NAME_ROOM):
        snprintf(row.place, PLACE_ROOM, b"in %s", function)


cdef void take_row(void *data, uint64_t begin, uint64_t end, const char *name, int line) noexcept nogil:
    """A row of a file's line table."""
    cdef FileWanted *wanted = <FileWanted *> data
    cdef ProfileRow *row
    cdef uint64_t i, value
    cdef Dl_info info
    for i in range(profile.num_rows):
        row = profile.in_order[i]
        value = row.where - wanted.difference
        if row.where and row.kind != ROW_DEVICE and begin <= value and value < end \
                and dladdr(<void *> row.where, &info) and info.dli_fbase == wanted.base:
            snprintf(row.place, PLACE_ROOM, b"%s:%d", name, line)


cdef void find_lines(uint64_t first) noexcept nogil:
    """The lines of all rows of one file: that of this row."""
    cdef FileWanted wanted
    cdef Dl_info info
    cdef uint64_t value = 0
    cdef uintptr_t at = profile.in_order[first].where
    cdef int fd
    if not dladdr(<void *> at, &info):
        return
    fd = gompy_file_of_host(at, &value)
    if fd < 0:
        return
    wanted.base = info.dli_fbase
    wanted.difference = at - value
    gompy_read_lines(fd, take_row, &wanted)
    close(fd)


cdef void find_places() noexcept nogil:
    """Names and lines of all rows; a file is read once."""
    cdef void *bases[64]
    cdef int num_bases = 0, known
    cdef Dl_info info
    cdef uint64_t i
    for i in range(profile.num_rows):
        name_row(profile.in_order[i])
    for i in range(profile.num_rows):
        if profile.in_order[i].where == 0 or not dladdr(<void *> profile.in_order[i].where, &info):
            continue
        known = 0
        while known < num_bases and bases[known] != info.dli_fbase:
            known += 1
        if known == num_bases and num_bases < 64:
            bases[num_bases] = info.dli_fbase
            num_bases += 1
            find_lines(i)
