# The warps of a block on one host thread: each on a stack of its own, one after the other, until it waits or is done.

cdef runner *idle_runners
cdef void *spare_runner                 # one more, that is taken without the lock


cdef runner *take_runner() noexcept nogil:
    """A host thread's stacks and memories, used before or new."""
    cdef runner *r
    cdef int i
    global idle_runners
    r = <runner *> gompy_swap(&spare_runner, NULL)
    if r != NULL:
        return r
    pthread_mutex_lock(&gompy_pool_lock)
    r = idle_runners
    if r != NULL:
        idle_runners = r.next
    elif op_table[0] == NULL:
        make_ops()
        make_checked_ops()
    pthread_mutex_unlock(&gompy_pool_lock)
    if r != NULL:
        return r
    r = <runner *> calloc(1, sizeof(runner))
    if r == NULL:
        return NULL
    r.warps = <gompy_warp *> aligned_alloc(64, 32 * sizeof(gompy_warp))
    r.stacks = <char *> mmap(NULL, 32 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                             0)
    r.local = <char *> mmap(NULL, <size_t> 32 * LOCAL_APART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS
                            | MAP_NORESERVE, -1, 0)
    if r.warps == NULL or gompy_is_map_failed(r.stacks) or gompy_is_map_failed(r.local):
        if not gompy_is_map_failed(r.stacks):
            munmap(r.stacks, 32 * STACK)
        if not gompy_is_map_failed(r.local):
            munmap(r.local, <size_t> 32 * LOCAL_APART)
        free(r.warps)
        free(r)
        return NULL
    memset(r.warps, 0, 32 * sizeof(gompy_warp))
    for i in range(32):
        mprotect(r.stacks + <size_t> i * STACK, GUARD, PROT_NONE)
    return r


cdef void give_runner(runner *r) noexcept nogil:
    """For the next launch."""
    global idle_runners
    r = <runner *> gompy_swap(&spare_runner, r)  # this one is in the caches
    if r == NULL:
        return
    pthread_mutex_lock(&gompy_pool_lock)
    r.next = idle_runners
    idle_runners = r
    pthread_mutex_unlock(&gompy_pool_lock)


cdef void number_threads(runner *r, const ptx_launch_config *c) noexcept nogil:
    """Masks and thread numbers of a block's warps; nothing is to do if the last block had the same shape."""
    cdef uint32_t nx = c.block[0], ny = c.block[1], x = 0, y = 0, z = 0, thread = 0, i, lane
    cdef uint32_t threads = nx * ny * c.block[2]
    cdef gompy_warp *w
    if r.numbered == r.nwarps and r.shape[0] == nx and r.shape[1] == ny and r.shape[2] == c.block[2]:
        return
    for i in range(r.nwarps):
        w = &r.warps[i]
        w.mask = 0
        for lane in range(32):
            if thread < threads:
                w.mask |= <uint32_t> 1 << lane
            w.tid[0][lane], w.tid[1][lane], w.tid[2][lane] = x, y, z
            thread += 1
            x += 1
            if x == nx:
                x = 0
                y += 1
                if y == ny:
                    y = 0
                    z += 1
    r.shape[0], r.shape[1], r.shape[2], r.numbered = nx, ny, c.block[2], r.nwarps


cdef void order_warps(runner *r, run *launch) noexcept nogil:
    """Of a call for a whole block: which warp comes after which.

    As run_block has it for calls for one; upwards where no barrier is, as blocks go: memory that they go through is
    fetched ahead then, which processors hardly do across a step back.  Races are told in one order, however warps run.
    """
    cdef uint32_t i, turn, begin = 0 if launch.upwards and launch.races == NULL else 1
    cdef gompy_warp *before = NULL
    for turn in range(begin, r.nwarps + begin):
        i = (turn * launch.warp_step + launch.first_warp if launch.warp_step else turn) % r.nwarps
        if before == NULL:
            r.warps[0].first = &r.warps[i]
        else:
            before.following = &r.warps[i]
        before = &r.warps[i]
    before.following = NULL


cdef void prepare_warps(runner *r, run *launch, uint64_t shared) noexcept nogil:
    """What is the same for all blocks of a launch."""
    cdef const ptx_launch_config *c = launch.config
    cdef ptx_module *module = launch.module
    cdef gompy_warp *w
    cdef uint32_t i, number
    number_threads(r, c)
    for i in range(r.nwarps):
        w = &r.warps[i]
        w.base, w.size = launch.memory.base, launch.memory.size
        w.shared, w.shared_size = r.shared, shared
        w.local_size = LOCAL
        w.memory, w.far_size = launch.memory, 0
        w.params, w.ops = <const char *> c.params, op_table
        if module.image.check:
            w.ops, w.shadow, w.shared_shadow = check_table, launch.memory.shadow, r.shared_shadow
            w.whole = launch.memory.states
            if code_kind(module.image) == CODE_RACING:
                w.ops = race_table
        w.races, w.race_mask, w.race_blocks = launch.races, launch.race_mask, launch.race_blocks
        if launch.races != NULL:
            launch.races.end_notes, launch.races.row = end_all_notes, op_race_row
            w.notes, w.note_mask = launch.races.notes, 0
        w.workspace = c.workspace
        w.group = 0
        if launch.whole:
            w.group, w.local = r.nwarps, r.local + <size_t> i * LOCAL_APART
        w.warpid, w.nwarps, w.dynamic_shared = i, launch.nwarps, c.shared_bytes
        for number in range(3):
            w.ntid[number], w.nctaid[number] = c.block[number], c.grid[number]
        w.runner, w.launch, w.module = r, launch, module
        w.sums = &r.sums
    if launch.whole:
        order_warps(r, launch)
    r.prepared = True


cdef void leave_block(runner *r, gompy_warp *w) noexcept nogil:
    """A warp is done: its place is free, and barriers of the whole block may be complete without it."""
    cdef uint32_t number = 0
    r.live -= 1
    r.places[r.nplaces] = <uint8_t> w.place
    r.nplaces += 1
    if r.clustered >> w.warpid & 1:
        r.clustered &= ~(<uint32_t> 1 << w.warpid)
        r.barriers[CLUSTER_BARRIER].all_arrived -= 1
    if r.launch.module.image.check:
        if r.launch.races != NULL:
            gompy_race_end_notes(r.launch.races)
        if num_waiting:
            settle_races()
        checked_end(r)
    while r.used >> number:
        if r.barriers[number].wanted == 0 and barrier_complete(r, number):
            release_barrier(r, number)
        number += 1


cdef extern from *:
    """
    /* All places of a runner (start_warp), the first one last.  */
    static const uint8_t gompy_places[32] = { 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
                                              15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0 };
    """
    const uint8_t PLACES "gompy_places"[32]


cdef enum:
    IDLE_ROUNDS = 16                    # of all warps, each of which waits in a loop, before the processor is let go


cdef bint make_shared(runner *r, uint64_t shared) noexcept nogil:
    """More shared memory, of zeros; False: there is none.  Vectors of a warp lie in no more lines than need be."""
    free(r.shared)
    r.shared_room = (shared * 2 + 4096) // CACHE_LINE * CACHE_LINE
    r.shared = <char *> aligned_alloc(CACHE_LINE, r.shared_room)
    if r.shared == NULL:
        r.shared_room = 0
        return False
    memset(r.shared, 0, r.shared_room)
    return True


cdef void tell_deadlock(runner *r, bint checked) noexcept nogil:
    """The launch fails: no warp of a block can go on."""
    if checked:
        checked_deadlock(r)
    else:
        record_failure(&r.warps[0], r.warps[0].mask, PTX_ERROR_LAUNCH_TIMEOUT, 0, NULL, 0,
                       "every warp of the block waits at a barrier that nobody else will reach")


cdef void let_blocks_run(runner *r, run *launch) noexcept nogil:
    """All warps of a block wait, maybe for another block."""
    if launch.turns != NULL:
        pass_turn(r)
    elif launch.deferred:
        launch.more(launch)
    else:
        sched_yield()


cdef bint run_block(runner *r, run *launch, uint64_t block) noexcept nogil:
    """One block to its end; False if the launch failed."""
    cdef const ptx_launch_config *c = launch.config
    cdef ptx_module *module = launch.module
    cdef uint32_t i, turn, idle = 0
    cdef uint64_t shared = (module.image.shared_bytes + c.shared_bytes + 15) // 16 * 16
    cdef gompy_warp *w
    cdef bint fresh = not r.prepared
    global gompy_running
    r.launch = launch
    r.nwarps = 1 if launch.alone else launch.nwarps
    r.live = r.nwarps
    r.ended = False
    forget_barriers(r)
    if shared > r.shared_room and not make_shared(r, shared):
        no_launch_memory(launch, "no memory for the shared memory of a block")
        return False
    if module.image.check & ~<unsigned> PTX_CHECK_RACE and not begin_checked_block(r, launch, shared, c.shared_bytes):
        no_launch_memory(launch, "no memory for the shared memory of a block")
        return False
    if launch.races != NULL and not begin_raced_block(r, block, shared):
        return False
    if fresh:
        prepare_warps(r, launch, shared)
    memcpy(r.places, PLACES, 32)
    r.nplaces = 32
    if fresh:
        number_block(r, launch, block)
    else:
        number_next_block(r, launch, block)
    for i in range(r.nwarps):
        w = &r.warps[i]
        w.local_top, w.fuel, w.exited, w.sp = 0, FUEL, 0, NULL
    r.ready = <uint32_t> ((<uint64_t> 1 << r.nwarps) - 1)
    if launch.whole:  # the others run in the call for warp 0
        r.live = r.ready = 1
    while r.live:
        if r.ready == 0:
            tell_deadlock(r, module.image.check != 0)
            return False
        r.moved = False
        turn = 0
        while turn < r.nwarps:
            turn += 1
            i = turn if turn < r.nwarps else 0
            if launch.warp_step:
                i = (turn * launch.warp_step + launch.first_warp) % r.nwarps
            if not r.ready >> i & 1:
                continue
            w = &r.warps[i]
            if w.sp == NULL:
                start_warp(r, w)
            r.current = gompy_running = w
            gompy_switch(&r.home, w.sp)
            w = r.current  # warps that wait go on to others by themselves
            if r.faulted != NULL:
                tell_fault(r)
            if launch.failed:
                if launch.races != NULL:  # it may have failed for a race
                    gompy_race_end_notes(launch.races)
                return False
            if r.ended:
                r.ended, r.moved = False, True
                leave_block(r, w)
            elif r.ready >> w.warpid & 1 and launch.warp_step == 0:
                i = w.warpid if w.warpid else r.nwarps
                turn = i if i > turn else turn  # those before it have had theirs (op_yield)
        # A loop with a lock in it looks like one that waits: what it waits for is mostly there already.
        idle = 0 if r.moved else idle + 1
        if idle == IDLE_ROUNDS:
            idle = 0
            let_blocks_run(r, launch)
            if launch.failed:
                return False
        elif launch.deferred and not r.moved:
            look_at_clock(launch)
    return True
