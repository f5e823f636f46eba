# The stacks of warps, and going from one to the next.

cdef void op_yield(gompy_warp *w) noexcept nogil:
    """Let the block's other warps run."""
    global gompy_running
    w.fuel = FUEL
    gompy_running = NULL
    gompy_switch(&w.sp, (<runner *> w.runner).home)
    gompy_running = w


cdef void warp_ends(gompy_warp *w) noexcept nogil:
    """The warp is done: never comes back."""
    global gompy_running
    w.state = DONE
    gompy_running = NULL
    gompy_resume((<runner *> w.runner).home)


cdef void warp_main(void *argument) noexcept nogil:
    """The bottom of a warp's stack."""
    global gompy_running
    cdef gompy_warp *w = <gompy_warp *> argument
    cdef run *launch = <run *> w.launch
    gompy_running = w
    launch.code(w, w.mask, NULL, launch.function)
    warp_ends(w)


cdef inline void start_warp(runner *r, gompy_warp *w) noexcept nogil:
    """Give a warp a stack and local memory: those of the warp that ended last, which the caches still have."""
    r.nplaces -= 1
    w.place = r.places[r.nplaces]
    w.stack = r.stacks + <size_t> w.place * STACK
    w.local = r.local + <size_t> w.place * LOCAL_APART
    w.sp = gompy_new_stack(w.stack, STACK - w.place * APART, <void *> warp_main, w)


cdef void next_warp(gompy_warp *w) noexcept nogil:
    """Leave a warp that waits at a barrier: for the next that does not, or for the scheduler.

    In the scheduler's order, warp 0 the last (op_barrier).
    """
    global gompy_running
    cdef runner *r = <runner *> w.runner
    cdef gompy_warp *other = NULL
    cdef uint32_t i, at = w.warpid, step = r.launch.warp_step
    for i in range(1, r.nwarps):
        at += 1
        if step:
            at = (at - 1 + step) % r.nwarps
        elif at == r.nwarps:
            at = 1
        if at != w.warpid and r.warps[at].state == READY:
            other = &r.warps[at]
            break
    if other == NULL and w.warpid != 0 and r.warps[0].state == READY:
        other = &r.warps[0]
    if other == NULL:
        op_yield(w)
        return
    w.fuel = FUEL
    if other.sp == NULL:
        start_warp(r, other)
    r.current = gompy_running = other
    gompy_switch(&w.sp, other.sp)
    gompy_running = w
