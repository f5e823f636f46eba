# What a debugger asks for (gompy/gdb): devices and what is mapped to them, as a text.  It calls the function in a
# process whose threads stand still, so nothing is allocated, and no lock is waited for.

cdef extern from "tools/debugger.h" nogil:
    pass

cdef enum:
    OFFLOAD_TEXT = 1 << 18

cdef char offload_text[OFFLOAD_TEXT]


cdef public const char *gompy_describe_offload() noexcept nogil:
    """A line `device NUMBER NAME STATE LAUNCHES REGION` for each device, and behind it for each mapped range
    `map HOST-START HOST-END DEVICE-ADDRESS COUNT`; `busy` where a thread is mapping, `more` where the text is too
    long."""
    cdef size_t used = 0
    cdef int i
    offload_text[0] = 0
    for i in range(num_devices):
        used += snprintf(offload_text + used, OFFLOAD_TEXT - used, b"device %d %s %d %lu %#lx\n", devices[i].number,
                         devices[i].name, gompy_load(&devices[i].state),
                         <unsigned long> gompy_read_count(&devices[i].launches),
                         <unsigned long> gompy_load_ptr(<void *> &devices[i].region))
        used = describe_mappings(&devices[i], used)
        if used > OFFLOAD_TEXT - 256:
            snprintf(offload_text + used, OFFLOAD_TEXT - used, b"more\n")
            break
    return offload_text


cdef size_t describe_mappings(DeviceDescr *dev, size_t used) noexcept nogil:
    """The lines of one device; how much of the text is used then."""
    cdef RangeCursor place
    cdef SplayNode *node
    cdef uintptr_t count
    if not gompy_lock_try(&dev.lock):
        return used + snprintf(offload_text + used, OFFLOAD_TEXT - used, b"busy\n")
    place = all_ranges(&dev.mem_map)
    while used < OFFLOAD_TEXT - 256:
        node = next_range(&place)
        if node == NULL:
            break
        if node.tgt == NULL or node.ref_kind == REF_LINK:
            continue
        if of_image(node) and node.host_end == node.host_start + 1:
            continue  # a function
        count = count_owner(node).refcount if node.ref_kind != REF_INFINITY else 0
        used += snprintf(offload_text + used, OFFLOAD_TEXT - used, b"map %#lx %#lx %#lx %lu\n",
                         <unsigned long> node.host_start, <unsigned long> node.host_end,
                         <unsigned long> (node.tgt.tgt_start + node.tgt_offset), <unsigned long> count)
    gompy_lock_release(&dev.lock)
    return used
