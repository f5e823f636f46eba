# Kernels: launches, attributes, occupancy.

cdef bint shape_fits(dim3 grid, dim3 block) noexcept nogil:
    """Whether the current device can have such a grid: the driver's answer would not tell this from other errors."""
    cdef int limits[7]
    cdef int names[7]
    cdef unsigned sizes[6]
    cdef int at
    cdef int device = 0
    names[0], names[1] = CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y
    names[2], names[3] = CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X
    names[4], names[5] = CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z
    names[6] = CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK
    sizes[0], sizes[1], sizes[2] = block.x, block.y, block.z
    sizes[3], sizes[4], sizes[5] = grid.x, grid.y, grid.z
    if driver.context_device(&device) != CUDA_SUCCESS:
        return True
    for at in range(7):
        if driver.device_attribute(&limits[at], names[at], device) != CUDA_SUCCESS:
            return True
    for at in range(6):
        if sizes[at] == 0 or sizes[at] > <unsigned> limits[at]:
            return False
    return <uint64_t> block.x * block.y * block.z <= <unsigned> limits[6]


cdef public int cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                                 void *stream) noexcept nogil:
    """Run a kernel."""
    cdef void *loaded = NULL
    cdef int r = load_function(function, &loaded)
    if r == CUDA_SUCCESS and shared > 0x7fffffff:
        r = cudaErrorInvalidValue
    if r == CUDA_SUCCESS:
        r = driver.launch(loaded, grid.x, grid.y, grid.z, block.x, block.y, block.z, <unsigned> shared, stream,
                          arguments, NULL)
        if r == cudaErrorInvalidValue and not shape_fits(grid, block):
            r = cudaErrorInvalidConfiguration
    return note_error(r)


cdef public int cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                                            size_t shared, void *stream) noexcept nogil:
    """Run a kernel whose blocks may wait for each other."""
    cdef void *loaded = NULL
    cdef int r = load_function(function, &loaded)
    if r == CUDA_SUCCESS and driver_graphs.launch_together == NULL:
        r = cudaErrorNotSupported
    if r == CUDA_SUCCESS and shared > 0x7fffffff:
        r = cudaErrorInvalidValue
    if r == CUDA_SUCCESS:
        r = driver_graphs.launch_together(loaded, grid.x, grid.y, grid.z, block.x, block.y, block.z, <unsigned> shared,
                                          stream, arguments)
        if r == cudaErrorInvalidValue and not shape_fits(grid, block):
            r = cudaErrorInvalidConfiguration
    return note_error(r)


cdef public int cudaLaunchKernelExC(const launch_config *how, const void *function, void **arguments) noexcept nogil:
    """Run a kernel with attributes.  Those that only tell what is quick have no effect; clusters of more than a block
    and events of parts of a launch: cudaErrorNotSupported."""
    cdef bint together = False
    cdef unsigned at
    cdef const launch_attribute *a
    if how == NULL or (how.count and how.attributes == NULL):
        return note_error(cudaErrorInvalidValue)
    for at in range(how.count):
        a = &how.attributes[at]
        if a.id == cudaLaunchAttributeCooperative:
            together = a.value[0] != 0
        elif a.id == cudaLaunchAttributeProgrammaticEvent:
            return note_error(cudaErrorNotSupported)
        elif a.id == cudaLaunchAttributeClusterDimension and (a.value[0] > 1 or a.value[1] > 1 or a.value[2] > 1):
            return note_error(cudaErrorNotSupported)
    if together:
        return cudaLaunchCooperativeKernel(function, how.grid, how.block, arguments, how.shared, how.stream)
    return cudaLaunchKernel(function, how.grid, how.block, arguments, how.shared, how.stream)


cdef public int cudaGetFuncBySymbol(void **to, const void *function) noexcept nogil:
    """The driver's function of a kernel."""
    return note_error(load_function(function, to) if to != NULL else cudaErrorInvalidValue)


cdef public int cudaFuncGetName(const char **to, const void *function) noexcept nogil:
    """A kernel's name in the device code."""
    cdef void *loaded = NULL
    cdef int r = load_function(function, &loaded) if to != NULL else cudaErrorInvalidValue
    if r == CUDA_SUCCESS and driver_graphs.function_name == NULL:
        r = cudaErrorNotSupported
    return note_error(driver_graphs.function_name(to, loaded) if r == CUDA_SUCCESS else r)


cdef public int cudaFuncGetAttributes(function_attributes *to, const void *function) noexcept nogil:
    """What a kernel needs."""
    cdef void *loaded = NULL
    cdef int values[10]
    cdef int at
    cdef int r = load_function(function, &loaded)
    if to == NULL:
        r = cudaErrorInvalidValue
    if r != CUDA_SUCCESS:
        return note_error(r)
    for at in range(10):  # the attributes' numbers are 0 to 9 in this order
        r = driver.function_attribute(&values[at], at, loaded)
        if r != CUDA_SUCCESS:
            return note_error(r)
    memset(to, 0, sizeof(function_attributes))
    to.max_threads = values[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK]
    to.shared_size = values[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES]
    to.const_size = values[CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES]
    to.local_size = values[CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES]
    to.registers = values[CU_FUNC_ATTRIBUTE_NUM_REGS]
    to.ptx_version = values[CU_FUNC_ATTRIBUTE_PTX_VERSION]
    to.binary_version = values[CU_FUNC_ATTRIBUTE_BINARY_VERSION]
    to.cache_mode = values[CU_FUNC_ATTRIBUTE_CACHE_MODE_CA]
    to.max_dynamic_shared = values[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES]
    to.carveout = values[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT]
    return CUDA_SUCCESS


cdef public int cudaFuncSetAttribute(const void *function, int attribute, int value) noexcept nogil:
    """Shared memory of a kernel: the numbers are the driver's."""
    cdef void *loaded = NULL
    cdef int r = load_function(function, &loaded)
    return note_error(driver.function_set_attribute(loaded, attribute, value) if r == CUDA_SUCCESS else r)


cdef public int cudaFuncSetCacheConfig(const void *function, int config) noexcept nogil:
    """Without effect on an emulated device."""
    cdef void *loaded = NULL
    cdef int r = load_function(function, &loaded)
    return note_error(driver.function_cache(loaded, config) if r == CUDA_SUCCESS else r)


cdef public int cudaFuncSetSharedMemConfig(const void *function, int config) noexcept nogil:
    """Without effect: no device of the last ten years has such banks."""
    cdef void *loaded = NULL
    return note_error(load_function(function, &loaded))


cdef public int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int threads,
                                                                       size_t shared, unsigned flags) noexcept nogil:
    """How many blocks of a kernel a multiprocessor has at a time."""
    cdef void *loaded = NULL
    cdef int r = load_function(function, &loaded)
    return note_error(driver.occupancy(blocks, loaded, threads, shared, flags) if r == CUDA_SUCCESS else r)


cdef public int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads,
                                                              size_t shared) noexcept nogil:
    """The same."""
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0)


cdef public int cudaOccupancyAvailableDynamicSMemPerBlock(size_t *size, const void *function, int blocks,
                                                          int threads) noexcept nogil:
    """Dynamic shared memory that leaves room for so many blocks."""
    cdef void *loaded = NULL
    cdef int r = load_function(function, &loaded)
    return note_error(driver.occupancy_shared(size, loaded, blocks, threads) if r == CUDA_SUCCESS else r)
