# Where warps wait for each other: bar.sync and bar.arrive.


cdef bint are_mixed(runner *r, uint32_t waiting) noexcept nogil:
    """Whether these warps, which go on behind a barrier, are not all, or not of one place."""
    cdef uint32_t i
    if r.parted or waiting != <uint32_t> ((<uint64_t> 1 << r.nwarps) - 1):
        return True
    for i in range(1, r.nwarps):
        if (r.warps[i].wait_line != r.warps[0].wait_line or r.warps[i].wait_unit != r.warps[0].wait_unit
                or r.warps[i].wait_place != r.warps[0].wait_place):
            return True
    return False


cdef void leave_together(gompy_races *races, uint32_t number, uint32_t waiting) noexcept nogil:
    """Some warps go on behind a barrier."""
    cdef uint32_t some = waiting
    while some:
        gompy_race_join(races, <uint32_t> gompy_lowest(some), number)
        some &= some - 1
    some = waiting
    while some:
        gompy_race_leave(races, <uint32_t> gompy_lowest(some), number)
        some &= some - 1
    gompy_race_empty(races, number)


cdef bint release_cluster(runner *r) noexcept nogil:
    """The cluster's barrier is complete: who waits goes on.  Whether there is one but warp 0."""
    cdef uint32_t waiting = r.barriers[CLUSTER_BARRIER].waiting, some = waiting
    while some and r.launch.races != NULL:
        gompy_race_leave(r.launch.races, <uint32_t> gompy_lowest(some), cluster_clocks(r))
        some &= some - 1
    memset(&r.barriers[CLUSTER_BARRIER], 0, sizeof(barrier_state))
    r.used &= ~(<uint32_t> 1 << CLUSTER_BARRIER)
    r.ready |= waiting
    r.clustered = 0
    r.cluster_phase += 1
    return waiting & ~<uint32_t> 1 != 0


cdef inline uint32_t cluster_clocks(runner *r) noexcept nogil:
    """What is known at the cluster's barrier, as a number of one (races.h): two take turns, as a warp may come to it
    again before another has gone on behind it."""
    return CLUSTER_BARRIER + (r.cluster_phase & 1)


cdef uint32_t owed_arrivals(runner *r, uint32_t warp, uint32_t lanes) noexcept nogil:
    """Lanes arrive for which their warp has counted already: the others of them."""
    cdef uint32_t *owed = r.cluster_owed[warp]
    cdef uint32_t some = lanes, lane, left = 0
    while some:
        lane = <uint32_t> gompy_lowest(some)
        some &= some - 1
        if owed[lane]:
            owed[lane] -= 1
            lanes &= ~(<uint32_t> 1 << lane)
    for lane in range(32):
        left |= owed[lane]
    if left == 0:
        r.cluster_owing &= ~(<uint32_t> 1 << warp)
    return lanes


cdef void owe_arrivals(runner *r, uint32_t warp, uint32_t lanes) noexcept nogil:
    """A warp counts without these lanes."""
    cdef uint32_t lane
    if lanes == 0:
        return
    if not r.cluster_owing >> warp & 1:
        memset(r.cluster_owed[warp], 0, sizeof(r.cluster_owed[warp]))
        r.cluster_owing |= <uint32_t> 1 << warp
    for lane in range(32):
        r.cluster_owed[warp][lane] += lanes >> lane & 1


cdef bint count_in_cluster(runner *r, uint32_t warp) noexcept nogil:
    """A warp has arrived at the cluster's barrier.  Whether others than warp 0 go on."""
    r.cluster_come[warp] = 0
    r.clustered |= <uint32_t> 1 << warp
    r.barriers[CLUSTER_BARRIER].all_arrived += 1
    return release_cluster(r) if barrier_complete(r, CLUSTER_BARRIER) else False


cdef inline void forget_barriers(runner *r) noexcept nogil:
    """Another block begins."""
    if r.used:
        memset(r.barriers, 0, sizeof(r.barriers))
        memset(r.cluster_come, 0, sizeof(r.cluster_come))
        r.used = r.clustered = 0
    r.cluster_owing = 0


cdef void *meet_cluster(gompy_warp *w, uint32_t mask, int kind, void *sp) noexcept nogil:
    """barrier.cluster: the stack to go on with.  A cluster is one block; arriving and waiting are two things.

    A warp counts when all of its lanes have arrived.  Lanes that wait before the others have come let it count, for
    they keep the others from coming: what those owe is no arrival of the next phase.
    """
    cdef runner *r = <runner *> w.runner
    cdef barrier_state *b = &r.barriers[CLUSTER_BARRIER]
    cdef uint32_t own = <uint32_t> 1 << w.warpid, lanes = w.mask & ~w.exited
    cdef bint others = False
    if kind == BARRIER_CLUSTER_WAIT:
        if r.cluster_come[w.warpid] & mask:
            owe_arrivals(r, w.warpid, lanes & ~r.cluster_come[w.warpid])
            others = count_in_cluster(r, w.warpid)
        if r.clustered & own:
            w.barrier = CLUSTER_BARRIER
            b.waiting |= own
            r.ready &= ~own
            return stack_behind(w)
        if r.launch.races != NULL:
            gompy_race_come(r.launch.races, w.warpid)
            gompy_race_leave(r.launch.races, w.warpid, cluster_clocks(r) ^ 1)
        return stack_behind(w) if others and w.warpid == 0 else sp
    if r.cluster_owing & own:
        mask = owed_arrivals(r, w.warpid, mask)
    if mask == 0 or r.clustered & own:
        return sp
    if r.launch.races != NULL:
        # Who has ended since it arrived is not counted any more, but what it knew is.
        gompy_race_arrive_cluster(r.launch.races, w.warpid, cluster_clocks(r), r.used >> CLUSTER_BARRIER & 1 == 0,
                                  kind == BARRIER_CLUSTER_RELAXED)
    r.used |= <uint32_t> 1 << CLUSTER_BARRIER
    r.cluster_come[w.warpid] |= mask
    if lanes & ~r.cluster_come[w.warpid] == 0:
        others = count_in_cluster(r, w.warpid)
    return stack_behind(w) if others and w.warpid == 0 else sp


cdef bint release_barrier(runner *r, uint32_t number) noexcept nogil:
    """A barrier is complete: its warps go on.  Whether there is one but warp 0."""
    if number == CLUSTER_BARRIER:
        return release_cluster(r)
    return release_block(r, number)


cdef bint release_block(runner *r, uint32_t number) noexcept nogil:
    """The same for one of the block's barriers."""
    cdef uint32_t i
    cdef barrier_state left = r.barriers[number]
    memset(&r.barriers[number], 0, sizeof(barrier_state))
    r.used &= ~(<uint32_t> 1 << number)
    r.ready |= left.waiting
    if left.voters:
        for i in range(r.nwarps):
            if left.waiting >> i & 1:
                r.warps[i].votes, r.warps[i].voters = left.votes, left.voters
    if r.launch.races != NULL:
        if left.all_arrived == r.nwarps and left.waiting == <uint32_t> ((<uint64_t> 1 << r.nwarps) - 1):
            gompy_race_meet(r.launch.races)
        else:
            leave_together(r.launch.races, number, left.waiting)
        if r.mixed != are_mixed(r, left.waiting):
            set_mixed(r, not r.mixed)
    return left.waiting & ~<uint32_t> 1 != 0


cdef bint barrier_complete(runner *r, uint32_t number) noexcept nogil:
    """Whether everybody has arrived."""
    cdef barrier_state *b = &r.barriers[number]
    if b.all_arrived == 0:
        return False
    return b.arrived >= b.wanted if b.wanted else b.all_arrived >= r.live


cdef void *meet_warps(gompy_warp *w, uint32_t mask, int kind, uint32_t number, uint32_t threads, void *unit,
                      uint32_t line, void *sp) noexcept nogil:
    """bar.sync and bar.arrive (gompy_barrier): a warp counts as 32 threads.  The stack to go on with; `sp`: its own.

    Behind a barrier warp 0 goes on last.  GCC's code for OpenACC's workers counts on warps that go on together, as a
    GPU's do: what warp 0 has broadcast in shared memory (a frame, before a call: nvptx_wpropagate in GCC's nvptx.cc) is
    read behind the barrier by all, and overwritten by the next broadcast without another barrier.
    """
    cdef runner *r = <runner *> w.runner
    cdef barrier_state *b
    cdef uint32_t own = <uint32_t> 1 << w.warpid
    cdef bint others = False
    w.sp = sp
    if threads == 0 and number == 0 and kind == BARRIER_SYNC and r.nwarps > 1 and r.launch.races == NULL:
        b = &r.barriers[0]  # as a rule
        if b.wanted == 0 and b.all_arrived + 1 < r.live:
            b.arrived += 32
            b.all_arrived += 1
            b.waiting |= own
            r.used |= 1
            r.ready &= ~own
            w.barrier = 0
            return stack_behind(w)
    if kind > BARRIER_ARRIVE:
        return meet_cluster(w, mask, kind, sp)
    if number > 15:
        stop_warp(w, mask, PTX_ERROR_ILLEGAL_INSTRUCTION, 0, <code_unit *> unit, line, "barrier number above 15")
    if threads % 32:
        stop_warp(w, mask, PTX_ERROR_ILLEGAL_INSTRUCTION, 0, <code_unit *> unit, line,
                  "the number of threads at a barrier is not a multiple of 32")
    if threads > 1024:  # GCC 12's libgomp at times waits for -128: a GPU, too, would wait forever
        stop_warp(w, mask, PTX_ERROR_LAUNCH_TIMEOUT, 0, <code_unit *> unit, line,
                  "a barrier for more threads than any block can have")
    b = &r.barriers[number]
    if r.launch.races != NULL:
        gompy_race_come(r.launch.races, w.warpid)
        if kind != BARRIER_SYNC:
            gompy_race_join(r.launch.races, w.warpid, number)
    if r.nwarps == 1 and (threads <= 32 or r.launch.alone) and b.all_arrived == 0 and b.voters == 0:
        if r.launch.races != NULL and kind == BARRIER_SYNC:
            gompy_race_meet(r.launch.races)
        return sp  # nobody else will come
    b.wanted = threads
    b.arrived += 32
    b.all_arrived += 1
    r.used |= <uint32_t> 1 << number
    if kind == BARRIER_SYNC:
        w.barrier = number
        b.waiting |= own
        r.ready &= ~own
    if barrier_complete(r, number):
        others = release_barrier(r, number)
    if not r.ready & own or (others and w.warpid == 0):
        return stack_behind(w)
    return sp


cdef inline bint warp_waits(runner *r, uint32_t warp) noexcept nogil:
    """Whether a warp waits at a barrier."""
    return r.barriers[r.warps[warp].barrier].waiting >> warp & 1


cdef int count_lanes(uint32_t mask) noexcept nogil:
    """How many lanes."""
    cdef int n = 0
    while mask:
        mask &= mask - 1
        n += 1
    return n
