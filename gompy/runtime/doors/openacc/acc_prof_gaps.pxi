# What the profiling interface tells of device memory under GOMPY_CHECK.
#
# A block has gaps then (mapping/gaps.pxi), and its objects lie at the ends of pages.  A tool is told the size and begin
# that the block has in a run without checks: what it adds up is of the program, not of the checks.

cdef struct GappedBlock:
    int device_type, device_number  # two devices may have blocks at one address
    uintptr_t block  # as the plugin has it
    uintptr_t told
    GappedBlock *next

cdef GappedBlock *gapped_blocks


cdef bint is_gapped(const GappedBlock *at, const AccProfInfo *info, uintptr_t block) noexcept nogil:
    """Whether it is this block of that device."""
    return at.block == block and at.device_type == info.device_type and at.device_number == info.device_number


cdef uintptr_t forget_gapped(const AccProfInfo *info, uintptr_t block) noexcept nogil:
    """What was told of a block, which is no longer known; 0: it has no gaps."""
    global gapped_blocks
    cdef GappedBlock **at = &gapped_blocks
    cdef GappedBlock *found
    cdef uintptr_t told
    while at[0] != NULL and not is_gapped(at[0], info, block):
        at = &at[0].next
    if at[0] == NULL:
        return 0
    found = at[0]
    at[0] = found.next
    told = found.told
    free(found)
    return told


cdef void note_gapped(const AccProfInfo *info, uintptr_t block, uintptr_t told) noexcept nogil:
    """Its end is to name what its begin has named; without memory for that it names the block."""
    global gapped_blocks
    cdef GappedBlock *new = <GappedBlock *> malloc(sizeof(GappedBlock))
    if new != NULL:
        new.device_type, new.device_number = info.device_type, info.device_number
        new.block = block
        new.told = told
        new.next = gapped_blocks
        gapped_blocks = new


cdef void tell_without_gaps(const AccProfInfo *info, AccEventInfo *event) noexcept nogil:
    """Correct the event of a block that is taken or given back."""
    cdef uintptr_t block, told
    cdef const Gaps *gaps = gaps_now
    if event.event_type != ACC_EV_ALLOC and event.event_type != ACC_EV_FREE:
        return
    gompy_lock_acquire(&gompy_gapped_lock)
    block = event.device_ptr
    told = forget_gapped(info, block)
    if event.event_type == ACC_EV_FREE:
        if told:
            event.device_ptr = told
    elif gaps != NULL:
        told = align_up(block, gaps.align) + gaps.first
        note_gapped(info, block, told)
        event.device_ptr = told
        event.bytes = gaps.bytes
    gompy_lock_release(&gompy_gapped_lock)
