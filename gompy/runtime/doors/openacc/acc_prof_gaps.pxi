# What the profiling interface tells of device memory under GOMPY_CHECK.
#
# A block has gaps then (mapping/gaps.pxi), and its objects lie at the ends of pages.  A tool is told the size and begin
# that the block has in a run without checks: what it adds up is of the program, not of the checks.

cdef struct GappedBlock:
    uintptr_t block  # as the plugin has it
    uintptr_t told
    GappedBlock *next

cdef GappedBlock *gapped_blocks


cdef uintptr_t forget_gapped(uintptr_t block) noexcept nogil:
    """What was told of a block, which is no longer known; 0: it has no gaps."""
    global gapped_blocks
    cdef GappedBlock **at = &gapped_blocks
    cdef GappedBlock *found
    cdef uintptr_t told
    while at[0] != NULL and at[0].block != block:
        at = &at[0].next
    if at[0] == NULL:
        return 0
    found = at[0]
    at[0] = found.next
    told = found.told
    free(found)
    return told


cdef void note_gapped(uintptr_t block, uintptr_t told) noexcept nogil:
    """Its end is to name what its begin has named; without memory for that it names the block."""
    global gapped_blocks
    cdef GappedBlock *new = <GappedBlock *> malloc(sizeof(GappedBlock))
    if new != NULL:
        new.block = block
        new.told = told
        new.next = gapped_blocks
        gapped_blocks = new


cdef void tell_without_gaps(AccEventInfo *event) noexcept nogil:
    """Correct the event of a block that is taken or given back."""
    cdef uintptr_t block, told
    cdef const Gaps *gaps = gaps_now
    if event.event_type != ACC_EV_ALLOC and event.event_type != ACC_EV_FREE:
        return
    gompy_lock_acquire(&gompy_gapped_lock)
    block = event.device_ptr
    told = forget_gapped(block)
    if event.event_type == ACC_EV_FREE:
        if told:
            event.device_ptr = told
    elif gaps != NULL:
        told = align_up(block, gaps.align) + gaps.first
        note_gapped(block, told)
        event.device_ptr = told
        event.bytes = gaps.bytes
    gompy_lock_release(&gompy_gapped_lock)
