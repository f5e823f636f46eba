# Large mappings of which little is ever used: gompy/native/sparse_map.h.

from posix.types cimport off_t


cdef extern from "gompy/native/sparse_map.h" nogil:
    void *gompy_map_sparse(void *at, size_t size, int flags, int fd, off_t offset)
