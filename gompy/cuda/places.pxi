# Where the program is that calls this library: lines of its own source, for messages.

cdef extern from "<elf.h>" nogil:
    int STT_FUNC, STT_OBJECT

cdef extern from "gompy/native/host_symbols.h" nogil:
    int gompy_file_of_host(uint64_t address, uint64_t *value)
    bint gompy_symbol_of_host(uint64_t address, int kind, char *name, size_t room, uint64_t *offset)

cdef extern from "gompy/native/line_tables.h" nogil:
    void gompy_read_lines(int fd, void (*fn)(void *data, uint64_t begin, uint64_t end, const char *file,
                                             int line) noexcept nogil, void *data)

cdef extern from "<execinfo.h>" nogil:
    int backtrace(void **frames, int room)

cdef enum:
    CALLERS = 24               # frames that are looked at
    NEAR_CALLERS = 6           # those of this driver, and who called it

cdef struct wanted_line:
    uint64_t value             # of the code, in its file
    char *to
    size_t size


cdef extern from "places.h" nogil:
    const char *gompy_leaf(const char *path)
    const char *gompy_file_with(const void *address)


cdef bint is_runtime(const char *file) noexcept nogil:
    """Whether a file is OpenMP's or OpenACC's runtime, or a plugin of it, or libgompy."""
    return strncmp(file, b"libgomp", 7) == 0 or strncmp(file, b"libomp", 6) == 0


cdef bint called_by_runtime() noexcept nogil:
    """Whether OpenMP's or OpenACC's runtime, or a plugin of it, has called this driver.  A region calls it several
    times, so no more is looked at than who called."""
    cdef void *frames[NEAR_CALLERS]
    cdef const char *name
    cdef int i, count = backtrace(frames, NEAR_CALLERS)
    for i in range(1, count):
        name = gompy_file_with(frames[i])
        if strncmp(name, b"libcuda.so", 10) != 0:
            return is_runtime(name)
    return False


cdef bint find_callers(uint64_t *callers) noexcept nogil:
    """Where the program, or a library, has called this driver, the CUDA runtime or OpenMP's or OpenACC's runtime, and
    who called there; 0: unknown.  Whether it was one of the last two."""
    cdef void *frames[CALLERS]
    cdef const char *name
    cdef bint by_runtime = False
    cdef int i, count = backtrace(frames, CALLERS)
    for i in range(1, count):
        name = gompy_file_with(frames[i])
        if is_runtime(name):
            by_runtime = True
        elif strncmp(name, b"libcuda.so", 10) != 0 and strncmp(name, b"libcudart.so", 12) != 0:
            callers[0] = <uint64_t>frames[i] - 1
            callers[1] = <uint64_t>frames[i + 1] - 1 if i + 1 < count else 0
            return by_runtime
    callers[0] = callers[1] = 0
    return by_runtime


cdef void take_line(void *data, uint64_t begin, uint64_t end, const char *file, int line) noexcept nogil:
    """A row of a file's line table."""
    cdef wanted_line *wanted = <wanted_line *>data
    if begin <= wanted.value < end:
        snprintf(wanted.to, wanted.size, b"%s:%d", file, line)


cdef void name_place(uint64_t place, char *to, size_t size) noexcept nogil:
    """`file.cu:12`; without lines `main+0x1c`, or `prog+0x115c`."""
    cdef wanted_line wanted
    cdef Dl_info info
    cdef char function[200]
    cdef uint64_t offset = 0
    cdef int fd
    to[0] = 0
    wanted.to, wanted.size, wanted.value = to, size, 0
    fd = gompy_file_of_host(place, &wanted.value)
    if fd >= 0:
        gompy_read_lines(fd, take_line, &wanted)
        close(fd)
    if to[0]:
        return
    if gompy_symbol_of_host(place, STT_FUNC, function, sizeof(function), &offset):
        snprintf(to, size, b"%s+0x%llx", function, <unsigned long long>offset)
    elif dladdr(<void *>place, &info) != 0:
        snprintf(to, size, b"%s+0x%llx", gompy_leaf(info.dli_fname),
                 <unsigned long long>(place - <uint64_t>info.dli_fbase))


cdef bint is_made_up(const char *place, uint64_t address) noexcept nogil:
    """Whether code is not the program's own source: of our headers, or what clang has made to launch a kernel."""
    cdef char function[400]
    cdef uint64_t offset = 0
    cdef size_t skip = 3
    if strncmp(place, b"gompy_cuda", 10) == 0 or strstr(place, b"/gompy_cuda") != NULL:
        return True
    if not gompy_symbol_of_host(address, STT_FUNC, function, sizeof(function), &offset):
        return False
    if strncmp(function, b"_ZL", 3) == 0:  # static, of C++: without lines, cudaMalloc of any type
        while 48 <= function[skip] <= 57:
            skip += 1
        if strncmp(function + skip, b"cudaMalloc", 10) == 0 or strncmp(function + skip, b"cudaHostAlloc", 13) == 0:
            return True
    return strstr(function, b"__device_stub__") != NULL


cdef void name_caller(const uint64_t *callers, char *to, size_t size) noexcept nogil:
    """The place where something was asked for."""
    to[0] = 0
    if callers[0]:
        name_place(callers[0], to, size)
    if callers[1] and is_made_up(to, callers[0]):
        name_place(callers[1], to, size)


cdef void name_variable(uint64_t address, char *to, size_t size) noexcept nogil:
    """The program's variable at an address, or nothing."""
    cdef uint64_t offset = 0
    cdef size_t skip = 3
    if not gompy_symbol_of_host(address, STT_OBJECT, to, size, &offset):
        to[0] = 0
    if strncmp(to, b"_ZL", 3) == 0:  # static, of C++: its length comes before the name
        while 48 <= to[skip] <= 57:
            skip += 1
        memmove(to, to + skip, strlen(to + skip) + 1)
