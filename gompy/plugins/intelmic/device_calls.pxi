# Calls of the C library that hand a region's memory to the kernel.  The image finds them here before libc's (see
# device_shims.pxi); so do language libraries.  What libc itself writes by its own way, as printf does, it has copied
# before.

cdef extern from "device_calls.h" nogil:
    unsigned open_for_kernel "mic_open_for_kernel"(const void *p, size_t size, bint writes, bint exact, uint64_t *where)
    void *next_call "mic_next_call"(void **kept, const char *name)
    void *mic_next_read
    void *mic_next_write
    void *mic_next_pread
    void *mic_next_pwrite
    void *mic_next_open
    void *mic_next_openat
    void *mic_next_fopen
    void *mic_next_fread
    void *mic_next_fwrite

cdef extern from * nogil:
    void *__builtin_return_address(unsigned level)

ctypedef ssize_t (*read_fn)(int, void *, size_t) noexcept nogil
ctypedef ssize_t (*write_fn)(int, const void *, size_t) noexcept nogil
ctypedef ssize_t (*pread_fn)(int, void *, size_t, off_t) noexcept nogil
ctypedef ssize_t (*pwrite_fn)(int, const void *, size_t, off_t) noexcept nogil
ctypedef int (*open_fn)(const char *, int, unsigned) noexcept nogil
ctypedef int (*openat_fn)(int, const char *, int, unsigned) noexcept nogil
ctypedef FILE *(*fopen_fn)(const char *, const char *) noexcept nogil
ctypedef size_t (*fread_fn)(void *, size_t, size_t, FILE *) noexcept nogil
ctypedef size_t (*fwrite_fn)(const void *, size_t, size_t, FILE *) noexcept nogil


cdef inline void kernel_uses(const void *p, size_t size, bint writes, void *pc) noexcept nogil:
    """Open what the kernel is to use, and note a read of what is doubtful."""
    cdef uint64_t where = 0
    cdef unsigned mark
    if control == NULL or control.marked == 0:
        return
    mark = open_for_kernel(p, size, writes, control.exact != 0, &where)
    if mark:
        note_doubtful(mark, where, <uintptr_t>pc - 1, stack_pointer(), 0)


cdef inline void kernel_uses_path(const char *path) noexcept nogil:
    """The same of a path, whose bytes are judged as they are read here."""
    if control != NULL and control.marked != 0 and path != NULL:
        kernel_uses(path, strlen(path) + 1, True, NULL)


cdef public int device_open "mic_open_call"(const char *path, int flags, unsigned mode) noexcept nogil:
    kernel_uses_path(path)
    return (<open_fn>next_call(&mic_next_open, b"open"))(path, flags, mode)


cdef public int device_open64 "mic_open64_call"(const char *path, int flags, unsigned mode) noexcept nogil:
    return device_open(path, flags, mode)  # there is no difference


cdef public int device_openat "mic_openat_call"(int at, const char *path, int flags, unsigned mode) noexcept nogil:
    kernel_uses_path(path)
    return (<openat_fn>next_call(&mic_next_openat, b"openat"))(at, path, flags, mode)


cdef public int device_openat64 "mic_openat64_call"(int at, const char *path, int flags, unsigned mode) noexcept nogil:
    return device_openat(at, path, flags, mode)


cdef public FILE *device_fopen "mic_fopen_call"(const char *path, const char *how) noexcept nogil:
    kernel_uses_path(path)
    return (<fopen_fn>next_call(&mic_next_fopen, b"fopen"))(path, how)


cdef public FILE *device_fopen64 "mic_fopen64_call"(const char *path, const char *how) noexcept nogil:
    return device_fopen(path, how)


cdef public ssize_t device_read "mic_read_call"(int fd, void *p, size_t size) noexcept nogil:
    kernel_uses(p, size, True, NULL)
    return (<read_fn>next_call(&mic_next_read, b"read"))(fd, p, size)


cdef public ssize_t device_write "mic_write_call"(int fd, const void *p, size_t size) noexcept nogil:
    kernel_uses(p, size, False, __builtin_return_address(0))
    return (<write_fn>next_call(&mic_next_write, b"write"))(fd, p, size)


cdef public ssize_t device_pread "mic_pread64_call"(int fd, void *p, size_t size, off_t at) noexcept nogil:
    kernel_uses(p, size, True, NULL)
    return (<pread_fn>next_call(&mic_next_pread, b"pread64"))(fd, p, size, at)


cdef public ssize_t device_pwrite "mic_pwrite64_call"(int fd, const void *p, size_t size, off_t at) noexcept nogil:
    kernel_uses(p, size, False, __builtin_return_address(0))
    return (<pwrite_fn>next_call(&mic_next_pwrite, b"pwrite64"))(fd, p, size, at)


cdef public ssize_t device_pread_short "mic_pread_call"(int fd, void *p, size_t size, off_t at) noexcept nogil:
    return device_pread(fd, p, size, at)


cdef public ssize_t device_pwrite_short "mic_pwrite_call"(int fd, const void *p, size_t size, off_t at) noexcept nogil:
    kernel_uses(p, size, False, __builtin_return_address(0))
    return (<pwrite_fn>next_call(&mic_next_pwrite, b"pwrite64"))(fd, p, size, at)


cdef public size_t device_fread "mic_fread_call"(void *p, size_t size, size_t n, FILE *file) noexcept nogil:
    """Large parts go to the caller's memory at once."""
    kernel_uses(p, size * n, True, NULL)
    return (<fread_fn>next_call(&mic_next_fread, b"fread"))(p, size, n, file)


cdef public size_t device_fwrite "mic_fwrite_call"(const void *p, size_t size, size_t n, FILE *file) noexcept nogil:
    kernel_uses(p, size * n, False, __builtin_return_address(0))
    return (<fwrite_fn>next_call(&mic_next_fwrite, b"fwrite"))(p, size, n, file)
