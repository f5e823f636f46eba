# Files that are memory only.

from gompy.native.file_size cimport gompy_write


cdef bint write_all(int fd, const char *bytes, size_t size) noexcept nogil:
    """Write everything.  False with errno set if that fails."""
    cdef size_t done = 0
    cdef ssize_t n
    while done < size:
        n = gompy_write(fd, bytes + done, size - done)
        if n < 0 and errno == EINTR:
            continue
        if n <= 0:
            return False
        done += <size_t>n
    return True


cdef int file_in_memory(const char *bytes, size_t size) noexcept nogil:
    """A memfd that holds the bytes.  Returns its descriptor (close on exec), or -1 with errno set."""
    cdef int fd = gompy_memfd(b"gompy-image")
    if fd >= 0 and not write_all(fd, bytes, size):
        close(fd)
        return -1
    return fd
