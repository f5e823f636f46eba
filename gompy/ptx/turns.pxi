# The stacks of warps, and going from one to the next.

cdef void op_yield(gompy_warp *w) noexcept nogil:
    """Let the block's other warps run."""
    global gompy_running
    cdef runner *r = <runner *> w.runner
    cdef bint spent = w.fuel < 0  # a loop's turns, not nanosleep
    # Blocks that run together wait for each other in loops: they let others run soon.
    w.fuel = FUEL_TOGETHER if r.launch.config.together else FUEL
    if w.races != NULL:
        if spent and gompy_race_at_work(<gompy_races *> w.races):
            return
        gompy_race_end_notes(<gompy_races *> w.races)
    gompy_running = NULL
    if r.sums.used:
        gompy_add_sums(&r.sums)  # it may wait for them
    gompy_switch(&w.sp, stack_of_later(r, w))
    gompy_running = w


cdef inline void *stack_of_later(runner *r, gompy_warp *w) noexcept nogil:
    """The stack to go on with when a warp lets others run: of the next one whose turn is still to come in this round,
    else the scheduler's, which looks after the launch."""
    global gompy_running
    cdef uint32_t later = r.ready & <uint32_t> -2 << w.warpid
    cdef gompy_warp *other
    if w.warpid == 0 or w.races != NULL or r.launch.warp_step or r.launch.failed or not (later | r.ready & 1):
        return r.home
    other = &r.warps[gompy_lowest(later) if later else 0]  # warp 0 is the last
    if other.sp == NULL:
        start_warp(r, other)
    r.current = gompy_running = other
    return other.sp


cdef inline void *end_warp(gompy_warp *w) noexcept nogil:
    """The warp is done.  The stack to go on with."""
    global gompy_running
    (<runner *> w.runner).ready &= ~(<uint32_t> 1 << w.warpid)
    (<runner *> w.runner).ended = True
    gompy_running = NULL
    return (<runner *> w.runner).home


cdef void warp_ends(gompy_warp *w) noexcept nogil:
    """The warp is done, somewhere in its code: never comes back."""
    gompy_resume(end_warp(w))


cdef inline gompy_warp *fresh_warp(runner *r, gompy_warp *w) noexcept nogil:
    """The warp after one that is done, if it has not begun and nothing else is to be looked at."""
    cdef gompy_warp *other = &r.warps[w.warpid + 1 if w.warpid + 1 < r.nwarps else 0]
    if r.used or w.warpid == 0 or r.launch.warp_step or r.launch.failed or r.launch.module.image.check:
        return NULL
    return other if other.sp == NULL else NULL


cdef inline void number_block(runner *r, run *launch, uint64_t block) noexcept nogil:
    """Tell the warps which block they are."""
    cdef const ptx_launch_config *c = launch.config
    r.placed = block
    place_block(r, <uint32_t> (block % c.grid[0]), <uint32_t> (block // c.grid[0] % c.grid[1]),
                <uint32_t> (block // c.grid[0] // c.grid[1]))


cdef inline void place_block(runner *r, uint32_t x, uint32_t y, uint32_t z) noexcept nogil:
    """Tell them where in the grid that is."""
    cdef gompy_warp *w = r.warps
    cdef gompy_warp *end = r.warps + r.nwarps
    while w < end:
        w.ctaid[0], w.ctaid[1], w.ctaid[2] = x, y, z
        w += 1


cdef inline void number_next_block(runner *r, run *launch, uint64_t block) noexcept nogil:
    """The same where the last block was of the same launch: as a rule its neighbour, which takes no division."""
    cdef uint32_t x, y, z
    if block != r.placed + 1:
        number_block(r, launch, block)
        return
    r.placed = block
    x, y, z = r.warps[0].ctaid[0] + 1, r.warps[0].ctaid[1], r.warps[0].ctaid[2]
    if x == launch.config.grid[0]:
        x, y = 0, y + 1
        if y == launch.config.grid[1]:
            y, z = 0, z + 1
    place_block(r, x, y, z)


cdef inline bint next_whole_block(runner *r, run *launch) noexcept nogil:
    """The same stack goes on with another block, where a call of the code runs all warps: nothing else is to be set."""
    cdef uint64_t block
    if launch.failed or not take_block(r, launch, &block):
        return False
    if launch.races != NULL and not begin_raced_block(r, block, r.warps[0].shared_size):
        return False
    number_next_block(r, launch, block)
    r.warps[0].fuel = FUEL
    return True


cdef void *warp_main(void *argument) noexcept nogil:
    """The bottom of a warp's stack; as a rule the next warps' as well, one after the other.

    The stack to go on with: gompy_begin goes there, behind a return.
    """
    global gompy_running
    cdef gompy_warp *w = <gompy_warp *> argument
    cdef gompy_warp *other
    cdef runner *r = <runner *> w.runner
    cdef run *launch = r.launch
    while True:
        gompy_running = w
        launch.code(w, w.mask, NULL, launch.function)
        if launch.whole and next_whole_block(r, launch):
            continue
        other = fresh_warp(r, w)
        if other == NULL:
            break
        r.ready &= ~(<uint32_t> 1 << w.warpid)
        r.live -= 1
        other.place, other.stack, other.local, other.sp = w.place, w.stack, w.local, w.sp
        r.current = w = other
    return end_warp(w)


cdef inline void start_warp(runner *r, gompy_warp *w) noexcept nogil:
    """Give a warp a stack and local memory: those of the warp that ended last, which the caches still have."""
    r.nplaces -= 1
    w.place = r.places[r.nplaces]
    w.stack = r.stacks + <size_t> w.place * STACK
    w.local = r.local + <size_t> w.place * LOCAL_APART
    w.sp = gompy_new_stack(w.stack, STACK - w.place * APART, <void *> warp_main, w, &r.home)


cdef inline uint32_t warp_behind(runner *r, uint32_t at) noexcept nogil:
    """Which warp comes after another in the scheduler's order; 32: none does but itself.

    Warp 0 is the last (meet_warps).
    """
    cdef uint32_t others = r.ready & ~(<uint32_t> 1 << at), step = r.launch.warp_step, i, above
    if step == 0:
        above = others & ~<uint32_t> 1 & <uint32_t> -2 << at
        if above == 0:
            above = others & ~<uint32_t> 1
        return <uint32_t> gompy_lowest(above) if above else 0 if others else 32
    for i in range(1, r.nwarps):
        at = (at + step) % r.nwarps
        if others >> at & 1:
            return at
    return 32


cdef void *stack_behind(gompy_warp *w) noexcept nogil:
    """The stack to go on with when a warp waits: of the next that does not, or the scheduler's."""
    global gompy_running
    cdef runner *r = <runner *> w.runner
    cdef uint32_t at = warp_behind(r, w.warpid)
    cdef gompy_warp *other
    w.fuel = FUEL
    r.moved = True
    if at == 32:
        gompy_running = NULL
        return r.home
    other = &r.warps[at]
    if other.sp == NULL:
        start_warp(r, other)
    r.current = gompy_running = other
    return other.sp
