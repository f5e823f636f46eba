# Checks (GOMPY_CHECK, images made with -fsanitize=address) on devices whose plugin can close memory (gompy_guard): between
# the objects of a construct there are gaps that the device may not access.  A plugin that closes pages (its step is 4096) gets each object into pages of its own, at their
# end, as near as its alignment allows; one that closes bytes (step 1) a gap of GUARD_GAP bytes behind each.


cdef enum:
    GUARD_GAP = 64


cdef size_t guard_step(DeviceDescr *dev) noexcept nogil:
    """In what steps the device's memory can be closed; 0: not at all, or nobody asked for it."""
    if dev.ops.guard == NULL or dev.ops.guard_step == NULL:
        return 0
    return dev.ops.guard_step(dev.target_id)


cdef void reserve_guarded(MapJob *job, MapEntry *entry, size_t from_base, size_t size, size_t align) noexcept nogil:
    """Give a new object a place with a gap behind it.  It begins from_base bytes after what `planned` is the place of."""
    cdef size_t begin, top, step = job.guard
    if job.align < align:
        job.align = align
    if job.align < step:
        job.align = step
    entry.large = 1
    entry.length = from_base + size
    if step == 1:
        if job.large_size == 0:
            job.large_size = GUARD_GAP
        entry.planned = align_up(job.large_size - from_base, align)
        job.large_size = entry.planned + entry.length + GUARD_GAP
        return
    begin = align_up(job.large_size, align if align > step else step)
    top = align_up(begin + size, step)
    if from_base and top - size - begin < align:
        top += step
    entry.planned = (top - size - from_base) & ~(align - 1)
    job.large_size = top + step


cdef void close_gaps(MapJob *job, size_t first) noexcept nogil:
    """Close the gap behind each new object of the construct, and, if gaps are of bytes, that before the first one."""
    cdef MapEntry *entry
    cdef uintptr_t end
    cdef size_t i, size = GUARD_GAP if job.guard == 1 else job.guard
    if job.guard == 1 and job.large_size:
        job.dev.ops.guard(job.dev.target_id, job.tgt.tgt_start + first, size)
    for i in range(job.mapnum):
        entry = &job.tgt.list[i]
        if entry.large:
            end = align_up(job.tgt.tgt_start + entry.planned + entry.length, job.guard)
            job.dev.ops.guard(job.dev.target_id, end, size)


cdef public bint gompy_nearest_object(int type, int number, uintptr_t address, uintptr_t *host, size_t *size,
                                      intptr_t *past) noexcept nogil:
    """For messages about a fault on a device: the mapped object nearest to a device address.

    type, number: the plugin's kind and its number of the device, -1 for any.  *host, *size: the object on the host; *past:
    how far behind its end, or, negative, before its begin.  False: none is known, or another thread is mapping.
    """
    cdef uintptr_t best = ~<uintptr_t> 0
    cdef int i
    for i in range(num_devices):
        if devices[i].type == type and (number < 0 or devices[i].target_id == number):
            nearest_on(&devices[i], address, &best, host, size, past)
    return best != ~<uintptr_t> 0


cdef void nearest_on(DeviceDescr *dev, uintptr_t address, uintptr_t *best, uintptr_t *host, size_t *size,
                     intptr_t *past) noexcept nogil:
    cdef SplayNode **link = &dev.mem_map.root
    cdef SplayNode *node
    cdef SplayNode *left
    cdef uintptr_t begin, end, distance
    if not gompy_lock_try(&dev.lock):
        return
    while link[0] != NULL:
        # The tree may be deep: it is turned into a list on the way, which is a tree as well.
        node = link[0]
        left = node.left
        if left != NULL:
            node.left = left.right
            left.right = node
            link[0] = left
            continue
        link = &node.right
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
