# The program's own memory that cuMemHostRegister has pinned.

cdef struct host_range:        # cuMemHostRegister
    host_range *next
    uint64_t start, size
    unsigned flags

cdef host_range *registered    # guarded by memory_lock


cdef host_range *registered_at(uint64_t address) noexcept nogil:
    """The registered range that an address lies in."""
    cdef host_range *r = registered
    while r != NULL and address - r.start >= r.size:
        r = r.next
    return r
