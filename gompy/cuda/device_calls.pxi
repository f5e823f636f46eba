# cuDevice*: the devices and their primary contexts, and the way to functions by name.

cdef int enter_device(int number, gpu **to) noexcept nogil:
    """What a call about a device begins with."""
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    to[0] = visible_device(number)
    return CUDA_SUCCESS if to[0] != NULL else CUDA_ERROR_INVALID_DEVICE


cdef public int cuDeviceGetCount(int *to) noexcept nogil:
    """How many devices there are."""
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = visible_count
    return CUDA_SUCCESS


cdef public int cuDeviceGet(int *to, int ordinal) noexcept nogil:
    """A device by ordinal."""
    cdef gpu *g = NULL
    cdef int r = enter_device(ordinal, &g)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = ordinal
    return CUDA_SUCCESS


cdef public int cuDeviceGetName(char *to, int size, int number) noexcept nogil:
    """The device's name, cut to the buffer."""
    cdef gpu *g = NULL
    cdef int r = enter_device(number, &g)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or size <= 0:
        return CUDA_ERROR_INVALID_VALUE
    name_gpu(g, to, size)
    return CUDA_SUCCESS


cdef public int cuDeviceGetUuid(uint8_t *to, int number) noexcept nogil:
    """16 bytes: "gompy emulated", then the ordinal."""
    cdef gpu *g = NULL
    cdef int r = enter_device(number, &g)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    write_uuid(g.ordinal, to)
    return CUDA_SUCCESS


cdef public int cuDeviceGetUuid_v2(uint8_t *to, int number) noexcept nogil:
    """The same: there are no partitions of devices."""
    return cuDeviceGetUuid(to, number)


cdef public int cuDeviceTotalMem_v2(size_t *to, int number) noexcept nogil:
    """Bytes of the device's memory."""
    cdef gpu *g = NULL
    cdef int r = enter_device(number, &g)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = g.bytes
    return CUDA_SUCCESS


cdef public int cuDeviceTotalMem(unsigned *to, int number) noexcept nogil:
    """The same in 32 bits, as from before CUDA 3.2; LLVM's plugins look for this name."""
    cdef size_t size = 0
    cdef int r = cuDeviceTotalMem_v2(&size, number)
    if r == CUDA_SUCCESS and to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    if r == CUDA_SUCCESS:
        to[0] = <unsigned> min(size, <size_t> 0xFFFFFFFF)
    return r


cdef public int cuDeviceGetAttribute(int *to, int which, int number) noexcept nogil:
    """CU_DEVICE_ATTRIBUTE_*."""
    cdef gpu *g = NULL
    cdef int r = enter_device(number, &g)
    if r != CUDA_SUCCESS:
        return r
    return device_attribute(g, which, to) if to != NULL else CUDA_ERROR_INVALID_VALUE


cdef public int cuDeviceGetProperties(CUdevprop *to, int number) noexcept nogil:
    """The old way to some attributes."""
    cdef gpu *g = NULL
    cdef int i
    cdef int r = enter_device(number, &g)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    device_attribute(g, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &to.maxThreadsPerBlock)
    for i in range(3):
        device_attribute(g, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i, &to.maxThreadsDim[i])
        device_attribute(g, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i, &to.maxGridSize[i])
    device_attribute(g, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &to.sharedMemPerBlock)
    device_attribute(g, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, &to.totalConstantMemory)
    device_attribute(g, CU_DEVICE_ATTRIBUTE_WARP_SIZE, &to.SIMDWidth)
    device_attribute(g, CU_DEVICE_ATTRIBUTE_MAX_PITCH, &to.memPitch)
    device_attribute(g, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, &to.regsPerBlock)
    device_attribute(g, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &to.clockRate)
    device_attribute(g, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, &to.textureAlign)
    return CUDA_SUCCESS


cdef public int cuDeviceComputeCapability(int *major, int *minor, int number) noexcept nogil:
    """8, 0 for sm_80."""
    cdef gpu *g = NULL
    cdef int r = enter_device(number, &g)
    if r != CUDA_SUCCESS:
        return r
    if major == NULL or minor == NULL:
        return CUDA_ERROR_INVALID_VALUE
    major[0] = g.arch / 10
    minor[0] = g.arch % 10
    return CUDA_SUCCESS


cdef public int cuDeviceGetPCIBusId(char *to, int size, int number) noexcept nogil:
    """domain:bus:device.function."""
    cdef gpu *g = NULL
    cdef int r = enter_device(number, &g)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or size < 13:
        return CUDA_ERROR_INVALID_VALUE
    snprintf(to, size, b"0000:00:%02x.0", gpu_slot(g.ordinal))
    return CUDA_SUCCESS


cdef public int cuDeviceGetByPCIBusId(int *to, const char *text) noexcept nogil:
    """A device by domain:bus:device.function; domain and function may be left out."""
    cdef char other[16]
    cdef int i
    cdef size_t n
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or text == NULL:
        return CUDA_ERROR_INVALID_VALUE
    n = strlen(text)
    for i in range(visible_count):
        cuDeviceGetPCIBusId(other, sizeof(other), i)
        if strcmp(text, other) == 0 or strcmp(text, other + 5) == 0 or (n == 10
                                                                        and strncmp(text, other, 10) == 0) or (n == 5
                                                                                and strncmp(text, other + 5, 5) == 0):
            to[0] = i
            return CUDA_SUCCESS
    return CUDA_ERROR_INVALID_DEVICE


cdef public int cuDevicePrimaryCtxRetain(void **to, int number) noexcept nogil:
    """The device's primary context, made if need be; it isn't made current."""
    cdef gpu *g = NULL
    cdef context *c = NULL
    cdef int r = enter_device(number, &g)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    pthread_mutex_lock(&primary_lock)
    if g.primary == NULL:
        r = create_context(g, g.primary_flags, True, &c)
        if r == CUDA_SUCCESS:
            g.primary = c
    if r == CUDA_SUCCESS:
        g.primary_users += 1
        to[0] = g.primary
    pthread_mutex_unlock(&primary_lock)
    return r


cdef void end_primary(gpu *g) noexcept nogil:
    """Destroy a primary context.  With primary_lock held."""
    cdef context *c = g.primary
    g.primary = NULL
    g.primary_users = 0
    if c != NULL:
        end_context(c)


cdef public int cuDevicePrimaryCtxRelease_v2(int number) noexcept nogil:
    """One user less; the last one destroys it."""
    cdef gpu *g = NULL
    cdef int r = enter_device(number, &g)
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&primary_lock)
    if g.primary_users == 0:
        r = CUDA_ERROR_INVALID_CONTEXT
    elif g.primary_users == 1:
        end_primary(g)
    else:
        g.primary_users -= 1
    pthread_mutex_unlock(&primary_lock)
    return r


cdef public int cuDevicePrimaryCtxRelease(int number) noexcept nogil:
    """The name before CUDA 11."""
    return cuDevicePrimaryCtxRelease_v2(number)


cdef public int cuDevicePrimaryCtxReset_v2(int number) noexcept nogil:
    """Destroy the primary context, whoever uses it."""
    cdef gpu *g = NULL
    cdef int r = enter_device(number, &g)
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&primary_lock)
    end_primary(g)
    pthread_mutex_unlock(&primary_lock)
    return CUDA_SUCCESS


cdef public int cuDevicePrimaryCtxReset(int number) noexcept nogil:
    """The name before CUDA 11."""
    return cuDevicePrimaryCtxReset_v2(number)


cdef public int cuDevicePrimaryCtxSetFlags_v2(int number, unsigned flags) noexcept nogil:
    """The flags that the primary context gets or has."""
    cdef gpu *g = NULL
    cdef int r = enter_device(number, &g)
    if r != CUDA_SUCCESS:
        return r
    if flags & ~<unsigned>0x3f or flags & 7 not in (0, 1, 2, 4):
        return CUDA_ERROR_INVALID_VALUE
    pthread_mutex_lock(&primary_lock)
    g.primary_flags = flags
    if g.primary != NULL:
        g.primary.flags = flags
    pthread_mutex_unlock(&primary_lock)
    return CUDA_SUCCESS


cdef public int cuDevicePrimaryCtxSetFlags(int number, unsigned flags) noexcept nogil:
    """The name before CUDA 11."""
    return cuDevicePrimaryCtxSetFlags_v2(number, flags)


cdef public int cuDevicePrimaryCtxGetState(int number, unsigned *flags, int *active) noexcept nogil:
    """The primary context's flags, and whether it exists."""
    cdef gpu *g = NULL
    cdef int r = enter_device(number, &g)
    if r != CUDA_SUCCESS:
        return r
    if flags == NULL or active == NULL:
        return CUDA_ERROR_INVALID_VALUE
    flags[0] = g.primary_flags
    active[0] = g.primary != NULL
    return CUDA_SUCCESS


cdef extern from *:
    """
    void *find_cuda_call (const char *name, int version, int own, int *status);
    """
    void *find_cuda_call(const char *name, int version, int own, int *status) nogil


cdef public int cuGetProcAddress_v2(const char *name, void **to, int version, uint64_t flags,
                                    int *status) noexcept nogil:
    """A function by its name without _v2; the newest form that the asked version of the API has."""
    cdef int answer = 0
    if name == NULL or to == NULL or flags > 2:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = find_cuda_call(name, version, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &answer)
    if status != NULL:
        status[0] = answer
    return CUDA_SUCCESS if to[0] != NULL or status != NULL else CUDA_ERROR_NOT_FOUND


cdef public int cuGetProcAddress(const char *name, void **to, int version, uint64_t flags) noexcept nogil:
    """A function by its name without _v2."""
    return cuGetProcAddress_v2(name, to, version, flags, NULL)


cdef public int cuGetExportTable(const void **to, const void *uuid) noexcept nogil:
    """The runtime library's private tables: there are none."""
    if to == NULL or uuid == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = NULL
    return CUDA_ERROR_NOT_FOUND


cdef public int cuProfilerStart() noexcept nogil:
    """Nothing to start."""
    cdef context *c
    return current_context(&c)


cdef public int cuProfilerStop() noexcept nogil:
    """Nothing to stop."""
    cdef context *c
    return current_context(&c)
