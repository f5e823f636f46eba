# The program's own memory that cuMemHostRegister has pinned.  Kernels use it at its address (executor.h).

cdef struct host_range:        # cuMemHostRegister
    host_range *next
    uint64_t start, size
    unsigned flags
    void *owner                # context
    uint32_t place             # in host_ranges

cdef host_range *registered    # guarded by memory_lock
cdef ptx_host_ranges host_ranges


cdef host_range *registered_at(uint64_t address) noexcept nogil:
    """The registered range that an address lies in."""
    cdef host_range *r = registered
    while r != NULL and address - r.start >= r.size:
        r = r.next
    return r


cdef bint show_to_kernels(host_range *r) noexcept nogil:
    """Let kernels use a range; False when there are too many.  With memory_lock held."""
    cdef uint32_t i = 0
    while i < host_ranges.count and host_ranges.range[i].size:
        i += 1
    if i == PTX_HOST_RANGES:
        return False
    r.place = i
    host_ranges.range[i].start = r.start
    store64(&host_ranges.range[i].size, r.size, RELEASE)
    if i == host_ranges.count:
        store32(&host_ranges.count, i + 1, RELEASE)
    return True


cdef void hide_from_kernels(host_range *r) noexcept nogil:
    """Undo it.  With memory_lock held."""
    store64(&host_ranges.range[r.place].size, 0, RELEASE)
