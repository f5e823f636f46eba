# Functions: attributes, occupancy, launches.

cdef struct launch_attribute:  # CUlaunchAttribute
    int kind
    int apart
    unsigned value[16]         # a union


cdef int check_launch(function *f, const unsigned *grid, const unsigned *block, unsigned shared) noexcept nogil:
    """The limits of the device and of the kernel."""
    cdef uint64_t threads = <uint64_t>block[0] * block[1] * block[2]
    if grid[0] == 0 or grid[1] == 0 or grid[2] == 0 or threads == 0:
        return CUDA_ERROR_INVALID_VALUE
    if grid[0] > 2147483647 or grid[1] > 65535 or grid[2] > 65535:
        return CUDA_ERROR_INVALID_VALUE
    if block[0] > 1024 or block[1] > 1024 or block[2] > 64:
        return CUDA_ERROR_INVALID_VALUE
    if threads > 1024:
        return CUDA_ERROR_INVALID_VALUE
    if threads > f.attributes.max_threads_per_block or (f.attributes.registers * round_up(threads, 32) > 65536):
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
    if shared > f.dynamic_limit:
        return CUDA_ERROR_INVALID_VALUE
    return CUDA_SUCCESS


cdef int take_parameters(function *f, void **params, void **extra, char *to) noexcept nogil:
    """Copy the parameters, given one by one or as a block."""
    cdef uint32_t i
    cdef const void *buffer = NULL
    cdef size_t size = 0
    cdef size_t wanted = f.attributes.param_bytes
    if params != NULL and extra != NULL:
        return CUDA_ERROR_INVALID_VALUE
    if params != NULL:
        for i in range(f.attributes.num_params):
            if params[i] == NULL:
                return CUDA_ERROR_INVALID_VALUE
            memcpy(to + f.offsets[2 * i], params[i], f.offsets[2 * i + 1])
        return CUDA_SUCCESS
    if extra != NULL:
        while extra[0] != NULL:
            if <size_t>extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER:
                buffer = extra[1]
            elif <size_t>extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE:
                size = (<size_t *>extra[1])[0] if extra[1] != NULL else 0
            else:
                return CUDA_ERROR_INVALID_VALUE
            extra += 2
    if size < wanted or (wanted and buffer == NULL):
        return CUDA_ERROR_INVALID_VALUE
    if wanted:
        memcpy(to, buffer, wanted)
    return CUDA_SUCCESS


cdef void describe_launch(op *o, function *f, const unsigned *grid, const unsigned *block,
                          unsigned shared) noexcept nogil:
    """All of a launch but its parameters, which lie behind it."""
    o.kernel = f
    memcpy(o.config.grid, grid, sizeof(o.config.grid))
    memcpy(o.config.block, block, sizeof(o.config.block))
    o.config.shared_bytes = shared
    o.config.threads = host_processors
    o.config.seed = order_seed
    o.config.params = <char *>(o + 1)
    o.config.params_size = f.attributes.param_bytes


cdef int hold_function(function *f) noexcept nogil:
    """From now on its module stays until the launch is over; CUDA_ERROR_INVALID_HANDLE if another thread has unloaded
    it."""
    cdef int r = CUDA_SUCCESS
    pthread_mutex_lock(&work_lock)
    if is_handle(FUNCTION, f):
        f.of.launches += 1
    else:
        r = CUDA_ERROR_INVALID_HANDLE
    pthread_mutex_unlock(&work_lock)
    return r


cdef void release_function(function *f) noexcept nogil:
    """A launch that is none."""
    pthread_mutex_lock(&work_lock)
    f.of.launches -= 1
    pthread_cond_broadcast(&work_done)
    pthread_mutex_unlock(&work_lock)


cdef int blocks_per_processor(function *f, int threads, size_t shared) noexcept nogil:
    """How many blocks one multiprocessor holds: by threads, registers (given in 256s to a warp), shared memory, at most
    32."""
    cdef uint64_t warps = (<uint64_t>threads + 31) / 32
    cdef uint64_t n = threads_per_processor(f.of.of.device) / (32 * warps)
    cdef uint64_t by_registers = 65536 / (round_up(f.attributes.registers * 32, 256) * warps)
    cdef int arch = f.of.of.device.arch
    cdef uint64_t by_shared = 32, each
    if shared > f.dynamic_limit:
        return 0
    each = round_up(f.attributes.shared_bytes + shared, 128) + cuda_reserved_shared(arch)
    if each:
        by_shared = cuda_shared_size(arch).processor * 1024 / each
    if by_registers < n:
        n = by_registers
    if by_shared < n:
        n = by_shared
    return 32 if n > 32 else n


cdef bint fits_together(function *f, const unsigned *grid, const unsigned *block, unsigned shared) noexcept nogil:
    """Whether all blocks of a grid are on the device at a time."""
    cdef int each = blocks_per_processor(f, block[0] * block[1] * block[2], shared)
    return <uint64_t>grid[0] * grid[1] * grid[2] <= <uint64_t>each * f.of.of.device.processors


cdef int launch_kernel(void *p, const unsigned *grid, const unsigned *block, unsigned shared, void *queue,
                       void **params, void **extra, bint together) noexcept nogil:
    """Queue a kernel.  A thread without a current context uses the function's (libgomp's plugin relies on it)."""
    cdef function *f = <function *>p
    cdef context *c = NULL
    cdef stream *s = NULL
    cdef op *o = NULL
    cdef uint64_t[2] launched
    cdef bint queued, recorded = recording_kernels()
    cdef int r = top_context(&c)
    if r == CUDA_ERROR_INVALID_CONTEXT and is_handle(FUNCTION, p):
        c = f.of.of
        cuda_thread.launched_in = c
        cuda_thread.launched_serial = c.head.serial
        r = CUDA_SUCCESS
    if r != CUDA_SUCCESS:
        return r
    if c.failure != CUDA_SUCCESS:
        return c.failure
    if is_handle(KERNEL, p):
        r = function_of_kernel(&p, c)
        if r != CUDA_SUCCESS:
            return r
        f = <function *>p
    if not is_handle(FUNCTION, p):
        return CUDA_ERROR_INVALID_HANDLE
    if f.of.of != c:
        return CUDA_ERROR_INVALID_HANDLE
    r = find_stream(c, queue, &s)
    if r != CUDA_SUCCESS:
        return r
    if s.of != c:
        return CUDA_ERROR_INVALID_HANDLE
    r = check_launch(f, grid, block, shared)
    note_asker()
    if recorded:
        note_launch(launched)
    pthread_mutex_lock(&work_lock)
    if not is_handle(FUNCTION, f):  # another thread has unloaded it meanwhile
        r = CUDA_ERROR_INVALID_HANDLE
    if r == CUDA_SUCCESS and together and not fits_together(f, grid, block, shared):
        r = CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
    if r == CUDA_SUCCESS:
        o = new_launch(s, f.attributes.param_bytes + 16)
        r = take_parameters(f, params, extra, <char *>(o + 1)) if o != NULL else CUDA_ERROR_OUT_OF_MEMORY
    if r == CUDA_SUCCESS:
        describe_launch(o, f, grid, block, shared)
        if recorded:
            o.launched[0], o.launched[1] = launched[0], launched[1]
        o.config.together = together
        r = enter_op(s, o, &queued)
        f.of.launches += queued
    pthread_mutex_unlock(&work_lock)
    if r != CUDA_SUCCESS:
        free(o)
    return r


cdef public int cuLaunchKernel(void *p, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                               unsigned block_y, unsigned block_z, unsigned shared, void *queue, void **params,
                               void **extra) noexcept nogil:
    """Queue a kernel."""
    cdef unsigned[3] grid
    cdef unsigned[3] block
    grid[0], grid[1], grid[2] = grid_x, grid_y, grid_z
    block[0], block[1], block[2] = block_x, block_y, block_z
    return launch_kernel(p, grid, block, shared, queue, params, extra, False)


cdef public int cuLaunchCooperativeKernel(void *p, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                          unsigned block_y, unsigned block_z, unsigned shared, void *queue,
                                          void **params) noexcept nogil:
    """Queue a kernel whose blocks may wait for each other: CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE if the device has
    no room for all of them."""
    cdef unsigned[3] grid
    cdef unsigned[3] block
    grid[0], grid[1], grid[2] = grid_x, grid_y, grid_z
    block[0], block[1], block[2] = block_x, block_y, block_z
    return launch_kernel(p, grid, block, shared, queue, params, NULL, True)


cdef inline bint only_tells(int kind) noexcept nogil:
    """Whether a launch attribute says what is quick, so that a launch without it is right, too."""
    return kind in (
        CU_LAUNCH_ATTRIBUTE_IGNORE, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
        CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
        CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, CU_LAUNCH_ATTRIBUTE_PRIORITY,
        CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
        CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
        CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING,
    )


cdef inline bint is_cluster(const unsigned *size) noexcept nogil:
    """Whether a cluster of a size has more blocks than one."""
    return size[0] > 1 or size[1] > 1 or size[2] > 1


cdef public int cuLaunchKernelEx(const CUlaunchConfig *config, void *p, void **params, void **extra) noexcept nogil:
    """Queue a kernel with attributes.  Those that only tell what is quick have no effect.

    CUDA_ERROR_NOT_SUPPORTED: clusters of more than a block, events of parts of a launch, nodes that kernels change.
    """
    cdef unsigned i
    cdef const launch_attribute *attributes
    cdef const launch_attribute *a
    cdef bint together = False
    if config == NULL or (config.numAttrs and config.attrs == NULL):
        return CUDA_ERROR_INVALID_VALUE
    attributes = <const launch_attribute *>config.attrs
    for i in range(config.numAttrs):
        a = &attributes[i]
        if a.kind == CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
            together = a.value[0] != 0
        elif a.kind == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
            if is_cluster(a.value):
                return CUDA_ERROR_NOT_SUPPORTED
        elif not only_tells(a.kind):
            return CUDA_ERROR_NOT_SUPPORTED
    return launch_kernel(p, &config.gridDimX, &config.blockDimX, config.sharedMemBytes, config.hStream, params, extra,
                         together)


cdef int enter_function(void *p, function **to) noexcept nogil:
    """What a call about a function begins with."""
    cdef context *c
    cdef int r = api_state()
    if r == CUDA_SUCCESS and is_handle(KERNEL, p):
        r = current_context(&c)
        if r == CUDA_SUCCESS:
            r = function_of_kernel(&p, c)
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(FUNCTION, p):
        return CUDA_ERROR_INVALID_HANDLE
    to[0] = <function *>p
    return to[0].of.of.failure


cdef public int cuFuncGetAttribute(int *to, int which, void *p) noexcept nogil:
    """CU_FUNC_ATTRIBUTE_*."""
    cdef function *f = NULL
    cdef int r = enter_function(p, &f)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    if which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        to[0] = f.attributes.max_threads_per_block
    elif which == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        to[0] = f.attributes.shared_bytes
    elif which == CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        to[0] = f.attributes.const_bytes
    elif which == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        to[0] = f.attributes.local_bytes
    elif which == CU_FUNC_ATTRIBUTE_NUM_REGS:
        to[0] = f.attributes.registers
    elif which == CU_FUNC_ATTRIBUTE_PTX_VERSION:
        to[0] = f.attributes.ptx_version
    elif which == CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        to[0] = f.of.of.device.arch
    elif which == CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
        to[0] = 0
    elif which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        to[0] = f.dynamic_limit
    elif which == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        to[0] = f.carveout
    elif CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET <= which <= CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        to[0] = 0
    else:
        return CUDA_ERROR_INVALID_VALUE
    return CUDA_SUCCESS


cdef public int cuFuncSetAttribute(void *p, int which, int value) noexcept nogil:
    """MAX_DYNAMIC_SHARED_SIZE_BYTES counts; the carve-out is kept, without effect."""
    cdef function *f = NULL
    cdef int r = enter_function(p, &f)
    if r != CUDA_SUCCESS:
        return r
    if (which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES and 0 <= value
            and value + f.attributes.shared_bytes <= <uint64_t>(cuda_shared_size(f.of.of.device.arch).block * 1024)):
        f.dynamic_limit = value
    elif which == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT and -1 <= value <= 100:
        f.carveout = value
    else:
        return CUDA_ERROR_INVALID_VALUE
    return CUDA_SUCCESS


cdef public int cuFuncSetCacheConfig(void *p, int value) noexcept nogil:
    """Without effect."""
    cdef function *f = NULL
    cdef int r = enter_function(p, &f)
    if r != CUDA_SUCCESS:
        return r
    return CUDA_SUCCESS if 0 <= value <= 3 else CUDA_ERROR_INVALID_VALUE


cdef public int cuFuncSetSharedMemConfig(void *p, int value) noexcept nogil:
    """Without effect."""
    cdef function *f = NULL
    cdef int r = enter_function(p, &f)
    if r != CUDA_SUCCESS:
        return r
    return CUDA_SUCCESS if 0 <= value <= 2 else CUDA_ERROR_INVALID_VALUE


cdef public int cuFuncGetModule(void **to, void *p) noexcept nogil:
    """The function's module."""
    cdef function *f = NULL
    cdef int r = enter_function(p, &f)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = f.of
    return CUDA_SUCCESS


cdef public int cuFuncGetName(const char **to, void *p) noexcept nogil:
    """The function's name."""
    cdef function *f = NULL
    cdef int r = enter_function(p, &f)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = f.name
    return CUDA_SUCCESS


cdef public int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *to, void *p, int threads, size_t shared,
                                                                     unsigned flags) noexcept nogil:
    """How many blocks of a size one multiprocessor holds."""
    cdef function *f = NULL
    cdef int r = enter_function(p, &f)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or threads <= 0 or flags > 1:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = 0 if <unsigned>threads > f.attributes.max_threads_per_block else blocks_per_processor(f, threads, shared)
    return CUDA_SUCCESS


cdef public int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *to, void *p, int threads,
                                                            size_t shared) noexcept nogil:
    """How many blocks of a size one multiprocessor holds."""
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(to, p, threads, shared, 0)


cdef public int cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, void *p, shared_of_block of_block,
                                                          size_t shared, int limit, unsigned flags) noexcept nogil:
    """The block size and the grid with which a device is used best: a processor of the host runs one warp at a time, so
    that one block of a warp for each is enough, and each further warp costs its start.  Runtimes choose launches by
    this answer."""
    cdef function *f = NULL
    cdef int size = 32
    cdef int r = enter_function(p, &f)
    if r != CUDA_SUCCESS:
        return r
    if grid == NULL or block == NULL or limit < 0 or flags > 1:
        return CUDA_ERROR_INVALID_VALUE
    if <unsigned>size > f.attributes.max_threads_per_block:
        size = f.attributes.max_threads_per_block
    if limit and limit < size:
        size = limit
    grid[0] = block[0] = 0
    if blocks_per_processor(f, size, of_block(size) if of_block != NULL else shared):
        block[0] = size
        grid[0] = f.of.of.device.processors
    return CUDA_SUCCESS


cdef public int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *p, shared_of_block of_block,
                                                 size_t shared, int limit) noexcept nogil:
    """The block size and the grid with which the device is used best."""
    return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, p, of_block, shared, limit, 0)


cdef public int cuOccupancyAvailableDynamicSMemPerBlock(size_t *to, void *p, int blocks, int threads) noexcept nogil:
    """Shared memory that is left for each of so many blocks on a multiprocessor."""
    cdef function *f = NULL
    cdef int64_t left
    cdef int arch
    cdef int r = enter_function(p, &f)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or blocks <= 0 or threads <= 0 or blocks > blocks_per_processor(f, threads, 0):
        return CUDA_ERROR_INVALID_VALUE
    arch = f.of.of.device.arch
    left = (cuda_shared_size(arch).processor * 1024 / blocks - cuda_reserved_shared(arch)
            - <int64_t>f.attributes.shared_bytes)
    if left > f.dynamic_limit:
        left = f.dynamic_limit
    to[0] = left if left > 0 else 0
    return CUDA_SUCCESS
