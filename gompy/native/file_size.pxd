# Files that cannot grow are an error, and no signal: gompy/native/file_size.h.

from posix.types cimport off_t

from gompy.native.signals cimport sigset_t

cdef extern from "gompy/native/file_size.h" nogil:
    void gompy_size_begin(sigset_t *before)
    void gompy_size_end(const sigset_t *before, bint failed)
    ssize_t gompy_write(int fd, const void *bytes, size_t n)
    ssize_t gompy_pwrite(int fd, const void *bytes, size_t n, off_t at)
    int gompy_resize(int fd, off_t size)
