# Which blocks a host thread runs: its share of the grid, then what others have not begun of theirs.
#
# Neighbours in the grid are neighbours in memory.  Threads that take turns at blocks would fetch each other's lines
# ahead, and each launch would find in the other processor's cache what the last one wrote.  So each has one part of the
# grid, the same one in each launch.

cdef inline void share_blocks(run *launch, int wanted) noexcept nogil:
    """Divide the grid for so many host threads.

    Not where a block may wait for another: those before it are to run before it.  Blocks whose warps run in one call
    wait for none (fission.py)."""
    cdef int i
    cdef uint64_t begin = 0, more
    launch.at_once = launch.blocks // (64 * <uint64_t> wanted)
    launch.at_once = 1 if launch.at_once == 0 else MOST_AT_ONCE if launch.at_once > MOST_AT_ONCE else launch.at_once
    launch.nshares = wanted if launch.whole and not launch.config.together else 1
    more = launch.blocks % <uint64_t> launch.nshares
    for i in range(launch.nshares):
        launch.shares[i].next_block = begin
        begin += launch.blocks // <uint64_t> launch.nshares + (1 if <uint64_t> i < more else 0)
        launch.shares[i].end_block = begin
        launch.shares[i].owned = i == 0  # by the thread that launches: alone, it goes through all in their order


cdef inline void own_share(runner *r, run *launch, int number) noexcept nogil:
    """A host thread's share: by its number, or the next one that nobody has."""
    cdef int i, share
    r.share = 0
    r.next_block = r.end_block = r.taken = 0
    r.shares_left = launch.nshares
    if number == 0 or launch.nshares == 1:
        return
    for i in range(launch.nshares - 1):
        share = 1 + (number - 1 + i) % (launch.nshares - 1)
        r.share = share
        if gompy_change(&launch.shares[share].owned, 0, 1):
            return


cdef inline bint take_blocks(runner *r, run *launch) noexcept nogil:
    """Some more of a host thread's share, or of the next one where blocks are left; False: there are none."""
    cdef share_of_blocks *share
    while r.shares_left:
        share = &launch.shares[r.share]
        r.next_block = gompy_take(&share.next_block, launch.at_once)
        if r.next_block < share.end_block:
            r.end_block = min(r.next_block + launch.at_once, share.end_block)
            return True
        r.shares_left -= 1
        r.share = r.share + 1 if r.share + 1 < launch.nshares else 0
    r.next_block = r.end_block
    return False


cdef inline void look_at_clock(run *launch) noexcept nogil:
    """A launch that was thought to be short may not be."""
    if gompy_ticks() - launch.begun > launch.short_ticks:
        launch.more(launch)


cdef inline bint take_block(runner *r, run *launch, uint64_t *block) noexcept nogil:
    """The number of a host thread's next block; False: there are none left."""
    # Not before the first: it was looked at where the launch began.
    if launch.deferred and r.next_block and (r.next_block < 8 or r.next_block % 8 == 0):
        look_at_clock(launch)  # which takes as long as an empty block
    if r.next_block == r.end_block and not take_blocks(r, launch):
        return False
    r.taken += 1
    block[0] = r.next_block
    if launch.block_step:
        block[0] = (launch.first_block + r.next_block * launch.block_step) % launch.blocks
    r.next_block += 1
    return True
