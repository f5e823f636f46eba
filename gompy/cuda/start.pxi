# cuInit: the environment is read, and the addresses of devices and handles are reserved.


cdef bint reserve_all_handles() noexcept nogil:
    """Reserve the ranges of all kinds of handles."""
    return (
        reserve_handles(CONTEXT, sizeof(context), 1 << 16)
        and reserve_handles(STREAM, sizeof(stream), 1 << 20)
        and reserve_handles(EVENT, sizeof(event), 1 << 22)
        and reserve_handles(MODULE, sizeof(module), 1 << 20)
        and reserve_handles(FUNCTION, sizeof(function), 1 << 22)
        and reserve_handles(LINK, sizeof(link_state), 1 << 16)
        and reserve_handles(LIBRARY, sizeof(library), 1 << 20)
        and reserve_handles(KERNEL, sizeof(kernel), 1 << 22)
        and reserve_handles(POOL, sizeof(pool), 1 << 16)
        and reserve_handles(GRAPH, sizeof(graph), 1 << 18)
        and reserve_handles(NODE, sizeof(node), 1 << 21)
        and reserve_handles(EXECUTABLE, sizeof(executable), 1 << 16)
        and reserve_handles(ARRAY, sizeof(array), 1 << 20)
        and reserve_handles(MIPMAP, sizeof(mipmap), 1 << 16)
        and reserve_handles(USER_OBJECT, sizeof(user_object), 1 << 16)
        and reserve_handles(PHYSICAL_HANDLE, sizeof(physical_handle), 1 << 20)
    )


cdef uint64_t virtual_space(gpu *g) noexcept nogil:
    """Bytes of addresses for cuMemAddressReserve: allocators reserve a device's memory several times over.  None where
    addresses are limited (ulimit -v): the program needs them."""
    if gompy_few_addresses():
        return 0
    return round_up(min(g.bytes * 4, max(g.bytes, <uint64_t>1 << VIRTUAL_SHIFT)), CHUNK)


cdef enum:
    RACE_ROW_SHIFT = 43            # 8 TiB: of more addresses not all accesses are remembered in one row
    # Bytes by which the shadow is shifted against the memory.  Processors find lines in their first cache by the lower
    # bits of the address (AMD's Zen: below 2 to the 28th): a store to a byte and one to its shadow would take turns in
    # one place there, and a loop over an array ten times as long.
    SHADOW_APART = 5120


cdef struct window_parts:      # bytes of addresses
    uint64_t memory, pinned, heap
    uint64_t window            # all of these
    uint64_t virtual           # of cuMemAddressReserve, behind them


cdef void plan_window(gpu *g, window_parts *w) noexcept nogil:
    """What a device's window consists of."""
    # Large blocks begin at chunks, a page longer than they are (carve_large).
    w.memory = g.bytes * 2 if checking else g.bytes + round_up(g.bytes // 4, CHUNK) + CHUNK
    w.pinned = g.bytes
    w.heap = <uint64_t>1 << HEAP_SPACE_SHIFT
    w.window = round_up(w.memory + w.pinned + w.heap, CHUNK)
    w.virtual = virtual_space(g)


cdef uint64_t reserve_addresses_at(uint64_t wanted, uint64_t size, ptx_memory *view) noexcept nogil:
    """Reserve addresses, and with GOMPY_CHECK their shadow and its states; 0, and errno says why not."""
    # Where that is taken, the kernel chooses another place.
    cdef void *p = mmap(<void *>wanted, size + CHUNK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
    cdef void *marks = NULL
    cdef void *states = NULL
    if p == MAP_FAILED:
        return 0
    munlock(p, size + CHUNK)  # of a program with all memory locked, what is opened later would be filled at once
    if checking:
        marks = gompy_map_sparse(NULL, size + 2 * CHUNK, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        if marks == MAP_FAILED:
            munmap(p, size + CHUNK)
            return 0
        madvise(marks, size + 2 * CHUNK, MADV_DONTDUMP)
        madvise(marks, size + 2 * CHUNK, MADV_HUGEPAGE)  # all of what a block has is written when it is given out
        # Between multiples of CHUNK, as the memory is: what it is shifted by is no accident.
        view.shadow = <uint8_t *>round_up(<uint64_t>marks, CHUNK) + SHADOW_APART
        states = gompy_map_sparse(NULL, (size >> PTX_WHOLE_SHIFT) + 1, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        if states == MAP_FAILED:
            munmap(marks, size + 2 * CHUNK)
            munmap(p, size + CHUNK)
            return 0
        madvise(states, (size >> PTX_WHOLE_SHIFT) + 1, MADV_DONTDUMP)
        view.states = <uint8_t *>states
        madvise(p, size + CHUNK, MADV_HUGEPAGE)  # of what a block fills: opened and closed by an entry for 512 pages
    madvise(p, size + CHUNK, MADV_DONTDUMP)
    return round_up(<uint64_t>p, CHUNK)


cdef bint reserve_window(gpu *g, uint64_t window) noexcept nogil:
    """Reserve a device's addresses by themselves."""
    g.base = reserve_addresses_at(wanted_address if g.ordinal == 0 else 0, window, &g.view)
    g.window = window
    g.view.whole, g.view.whole_size = g.base, window
    return g.base != 0


cdef void reserve_row() noexcept nogil:
    """Reserve the addresses of several devices side by side, if there are so many; else each gets its own later.

    With GOMPY_CHECK=race there are several times as many bytes of what is remembered of them.
    """
    global side_by_side
    cdef window_parts w
    cdef ptx_memory row
    cdef uint64_t size = 0, base, at
    cdef int i
    side_by_side = False
    for i in range(gpu_count):
        plan_window(&gpus[i], &w)
        size += w.window + w.virtual
    if gpu_count < 2 or (checking & PTX_CHECK_RACE and size >> RACE_ROW_SHIFT):
        return
    base = at = reserve_addresses_at(wanted_address, size, &row)
    if base == 0:
        return
    side_by_side = True
    for i in range(gpu_count):
        plan_window(&gpus[i], &w)
        gpus[i].base, gpus[i].window = at, w.window + w.virtual
        if checking:
            gpus[i].view.shadow = row.shadow + (at - base)
            gpus[i].view.states = row.states + ((at - base) >> PTX_WHOLE_SHIFT)
        gpus[i].view.whole, gpus[i].view.whole_size = base, size
        at += gpus[i].window


cdef bint open_gpu(gpu *g, int ordinal) noexcept nogil:
    """Reserve a device's window, if it has none as yet, and make its areas."""
    cdef window_parts w
    plan_window(g, &w)
    g.ordinal = ordinal
    # Many large devices may leave no addresses for cuMemAddressReserve.
    if not side_by_side and not reserve_window(g, w.window + w.virtual):
        w.virtual = 0
        if not reserve_window(g, w.window):
            fprintf(stderr, b"libcuda (gompy): error: can't reserve %llu MiB of addresses for device %d%s\n",
                    <unsigned long long>(w.window >> (19 if checking else 20)), ordinal,
                    pick_text(checking != 0, b" for GOMPY_CHECK: set GOMPY_CUDA_MEMORY to less",
                              gompy_limit_hint(errno)))
            return False
    g.heap_limit = 8 << 20
    g.view.base = g.base
    g.view.size = g.window
    g.view.user = g
    g.view.alloc_variable = variable_alloc
    g.view.free_variable = variable_free
    g.view.heap_malloc = heap_alloc
    g.view.heap_free = heap_release
    g.view.print_text = print_text
    g.view.describe = describe_address
    g.view.warn = warn_text
    g.view.host_wrote = host_wrote
    g.view.hosts = &host_ranges
    if gpu_count > 1:
        g.view.reach = reach_memory
    if checking:
        g.heap.rests = <rest_list *>calloc(REST_SIZES, sizeof(rest_list))
        g.heap.launches = &g.launches
        if g.heap.rests == NULL:
            return False
    return (
        open_area(&g.memory, g.base, w.memory, 4096 if checking else 512, g.bytes)
        and open_area(&g.heap, g.base + w.memory, w.heap, 64 if checking else 32, g.heap_limit)
        and open_area(&g.pinned, g.base + w.memory + w.heap, w.pinned, 4096, g.bytes)
        and open_extents(&g.virtual, g.base + w.window, w.virtual)
        and (checking or leave_margin(&g.memory, 65536))
    )


cdef void forked_child() noexcept nogil:
    """In a forked child there are no workers, and the memory is not the parent's: as with the real driver, nothing
    works."""
    global forked
    forked = True


cdef int initialise_driver() noexcept nogil:
    """cuInit, once; later calls give the first one's answer."""
    global initialised, init_answer, number_in_log
    cdef int i
    cdef void *log = find_log() if not initialised else NULL
    pthread_mutex_lock(&driver_lock)
    if not initialised:
        init_answer = CUDA_SUCCESS
        if not read_settings():
            init_answer = CUDA_ERROR_INVALID_VALUE
        else:
            read_visible()
            if visible_count == 0:
                init_answer = CUDA_ERROR_NO_DEVICE
        if init_answer == CUDA_SUCCESS:
            reserve_row()
            for i in range(gpu_count):
                if not open_gpu(&gpus[i], i):
                    init_answer = CUDA_ERROR_OUT_OF_MEMORY
            if not reserve_all_handles():
                init_answer = CUDA_ERROR_OUT_OF_MEMORY
            publish_status()
            if checking:
                number_in_log = <uint32_t (*)() noexcept nogil>log
            pthread_atfork(NULL, NULL, forked_child)
        initialised = True
    pthread_mutex_unlock(&driver_lock)
    return init_answer


cdef public int cuInit(unsigned flags) noexcept nogil:
    """Read the environment and reserve the devices' memory."""
    if flags != 0:
        return CUDA_ERROR_INVALID_VALUE
    if forked:
        return CUDA_ERROR_NOT_INITIALIZED
    if cuda_thread.in_callback:
        return CUDA_ERROR_NOT_PERMITTED
    return initialise_driver()
