# For messages about faults on a device: what is mapped near an address.


cdef public bint gompy_nearest_object(int type, int number, uintptr_t address, uintptr_t *host, size_t *size,
                                      intptr_t *past) noexcept nogil:
    """For messages about a fault on a device: the mapped object nearest to a device address.

    type, number: the plugin's kind and its number of the device, -1 for any.  *host, *size: the object on the host;
    *past: how far behind its end, or, negative, before its begin.  False: none is known, or another thread is mapping.
    """
    cdef uintptr_t best = ~<uintptr_t> 0
    cdef int i
    for i in range(num_devices):
        if devices[i].type == type and (number < 0 or devices[i].target_id == number):
            nearest_on(&devices[i], address, &best, host, size, past)
    return best != ~<uintptr_t> 0


cdef void nearest_on(DeviceDescr *dev, uintptr_t address, uintptr_t *best, uintptr_t *host, size_t *size,
                     intptr_t *past) noexcept nogil:
    cdef RangeCursor place
    cdef SplayNode *node
    cdef uintptr_t begin, end, distance
    if not gompy_lock_try(&dev.lock):
        return
    place = all_ranges(&dev.mem_map)
    while True:
        node = next_range(&place)
        if node == NULL:
            break
        if node.tgt == NULL or node.ref_kind == REF_LINK:
            continue
        begin = node.tgt.tgt_start + node.tgt_offset
        end = begin + (node.host_end - node.host_start)
        distance = address - end if address >= end else begin - address
        if (address < begin or address >= end) and distance < best[0]:
            best[0] = distance
            host[0] = node.host_start
            size[0] = node.host_end - node.host_start
            past[0] = <intptr_t> distance if address >= end else -<intptr_t> distance
    gompy_lock_release(&dev.lock)
