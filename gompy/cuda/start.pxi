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
    # Bytes by which the shadow is shifted against the memory.  Processors find lines in their first cache by the lower
    # bits of the address (AMD's Zen: below 2 to the 28th): a store to a byte and one to its shadow would take turns in
    # one place there, and a loop over an array ten times as long.
    SHADOW_APART = 5120


cdef bint reserve_window(gpu *g, uint64_t window) noexcept nogil:
    """Reserve a device's addresses, and with GOMPY_CHECK their shadow; errno says why not."""
    # Where that is taken, the kernel chooses another place.
    cdef void *p = mmap(<void *>(wanted_address if g.ordinal == 0 else 0), window + CHUNK, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
    cdef void *shadow = NULL
    if p == MAP_FAILED:
        return False
    munlock(p, window + CHUNK)  # of a program with all memory locked, what is opened later would be filled at once
    if checking:
        shadow = gompy_map_sparse(NULL, window + 2 * CHUNK, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        if shadow == MAP_FAILED:
            munmap(p, window + CHUNK)
            return False
        madvise(shadow, window + 2 * CHUNK, MADV_DONTDUMP)
        madvise(shadow, window + 2 * CHUNK, MADV_HUGEPAGE)  # all of what a block has is written when it is given out
    madvise(p, window + CHUNK, MADV_DONTDUMP)
    g.base = round_up(<uint64_t>p, CHUNK)
    if checking:  # between multiples of CHUNK, as the memory is: what it is shifted by is no accident
        g.view.shadow = <uint8_t *>round_up(<uint64_t>shadow, CHUNK) + SHADOW_APART
    g.window = window
    return True


cdef bint open_gpu(gpu *g, int ordinal) noexcept nogil:
    """Reserve a device's window and make its areas."""
    # Large blocks begin at chunks, a page longer than they are (carve_large).
    cdef uint64_t memory = g.bytes * 2 if checking else g.bytes + round_up(g.bytes // 4, CHUNK) + CHUNK
    cdef uint64_t pinned = g.bytes
    cdef uint64_t heap = <uint64_t>1 << HEAP_SPACE_SHIFT
    cdef uint64_t window = round_up(memory + pinned + heap, CHUNK)
    cdef uint64_t virtual = virtual_space(g)
    g.ordinal = ordinal
    # Many large devices may leave no addresses for cuMemAddressReserve.
    if not reserve_window(g, window + virtual):
        virtual = 0
        if not reserve_window(g, window):
            fprintf(stderr, b"libcuda (gompy): error: can't reserve %llu MiB of addresses for device %d%s\n",
                    <unsigned long long>(window >> (19 if checking else 20)), ordinal,
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
    g.view.hosts = &host_ranges
    if checking:
        g.heap.rests = <rest_list *>calloc(REST_SIZES, sizeof(rest_list))
        g.heap.launches = &g.launches
        if g.heap.rests == NULL:
            return False
    return (
        open_area(&g.memory, g.base, memory, 4096 if checking else 512, g.bytes)
        and open_area(&g.heap, g.base + memory, heap, 64 if checking else 32, g.heap_limit)
        and open_area(&g.pinned, g.base + memory + heap, pinned, 4096, g.bytes)
        and open_extents(&g.virtual, g.base + window, virtual)
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
