# What waits for all work of a device: its mappings that change, copies between two.


cdef void settle_device(gpu *g) noexcept nogil:
    """Wait for the work of all contexts of a device."""
    cdef handle_range *r = &handle_ranges[CONTEXT]
    cdef context *c
    cdef size_t i
    for i in range(r.used):
        c = <context *>(r.base + i * r.step)
        if is_handle(CONTEXT, c) and c.device == g:
            wait_for_context(c)


cdef inline bint is_of_device(const block *n) noexcept nogil:
    """Whether a side of a copy is a device's memory, and not everybody's."""
    return n != NULL and n.use not in (HOST_MEMORY, MANAGED)


cdef void settle_sides(block **pins, gpu *to, gpu *of, bint later) noexcept nogil:
    """A copy between two devices, but an asynchronous one, comes after all that was asked of either of them (CUDA C++
    Programming Guide, "Peer-to-Peer Memory Copy")."""
    if not later and to != of and is_of_device(pins[0]) and is_of_device(pins[1]):
        settle_device(to)
        settle_device(of)
