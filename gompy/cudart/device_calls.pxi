# Devices: count, choice, properties, limits, peers.

cdef enum:
    PROPERTIES_BEFORE_12 = 728  # sizeof (cudaDeviceProp) up to version 11, whose members are the first of 12


cdef public int cudaGetDeviceCount(int *count) noexcept nogil:
    """How many devices there are."""
    cdef int r = enter_runtime()
    if count == NULL:
        return note_error(cudaErrorInvalidValue)
    count[0] = driver_devices
    return note_error(r)


cdef public int cudaGetDevice(int *device) noexcept nogil:
    """The thread's device."""
    cdef void *context = NULL
    cdef int r = enter_runtime()
    if device == NULL:
        r = cudaErrorInvalidValue
    if r == CUDA_SUCCESS:
        device[0] = runtime_thread.device
        if driver.context_current(&context) == CUDA_SUCCESS and context != NULL:
            r = driver.context_device(device)
    return note_error(r)


cdef public int cudaSetDevice(int device) noexcept nogil:
    """Choose the thread's device, and make its context."""
    cdef void *context = NULL
    cdef int r = enter_runtime()
    if r == CUDA_SUCCESS:
        r = primary_context(device, &context)
    if r == CUDA_SUCCESS:
        r = driver.context_set(context)
    if r == CUDA_SUCCESS:
        runtime_thread.device = device
    return note_error(r)


cdef public int cudaInitDevice(int device, unsigned device_flags, unsigned flags) noexcept nogil:
    """Make a device's context, which need not become the thread's."""
    cdef void *context = NULL
    return note_error(primary_context(device, &context))


cdef public int cudaGetDriverEntryPoint(const char *symbol, void **to, uint64_t flags, int *result) noexcept nogil:
    """A function of the driver, in the form of this version."""
    cdef int r = enter_runtime()
    if symbol == NULL or to == NULL:
        r = cudaErrorInvalidValue
    if r == CUDA_SUCCESS and driver_graphs.address_of == NULL:
        r = cudaErrorNotSupported
    if r == CUDA_SUCCESS:
        r = driver_graphs.address_of(symbol, to, CUDART_VERSION, flags, result)
    return note_error(r)


cdef public int cudaSetDeviceFlags(unsigned flags) noexcept nogil:
    """How the thread's device waits; without effect on an emulated one."""
    cdef int number = 0
    cdef int r = driver_number(runtime_thread.device, &number)
    if r == CUDA_SUCCESS:
        r = driver.primary_flags(number, flags & ~<unsigned> cudaDeviceMapHost)
    return note_error(r)


cdef public int cudaGetDeviceFlags(unsigned *flags) noexcept nogil:
    """The same, asked; memory may always be mapped."""
    cdef int number = 0
    cdef int active = 0
    cdef int r = driver_number(runtime_thread.device, &number)
    if flags == NULL:
        r = cudaErrorInvalidValue
    if r == CUDA_SUCCESS:
        r = driver.primary_state(number, flags, &active)
    if r == CUDA_SUCCESS:
        flags[0] |= cudaDeviceMapHost
    return note_error(r)


cdef public int cudaGetDeviceProperties_v2(cudaDeviceProp *to, int device) noexcept nogil:
    """All that is known of a device."""
    cdef int number = 0
    cdef int r = driver_number(device, &number)
    if to == NULL:
        r = cudaErrorInvalidValue
    if r == CUDA_SUCCESS:
        memset(to, 0, sizeof(cudaDeviceProp))
        r = fill_properties(to, number)
    if r == CUDA_SUCCESS:
        r = driver.device_name(to.name, 256, number)
    if r == CUDA_SUCCESS:
        r = driver.device_uuid(to.uuid.bytes, number)
    if r == CUDA_SUCCESS:
        r = driver.device_memory(&to.totalGlobalMem, number)
    return note_error(r)


cdef public int cudaGetDeviceProperties(cudaDeviceProp *to, int device) noexcept nogil:
    """For programs built before version 12: the first part of the structure."""
    cdef cudaDeviceProp found
    cdef int r
    if to == NULL:
        return note_error(cudaErrorInvalidValue)
    r = cudaGetDeviceProperties_v2(&found, device)
    if r == CUDA_SUCCESS:
        memcpy(to, &found, PROPERTIES_BEFORE_12)
    return r


cdef public int cudaDeviceGetAttribute(int *value, int attribute, int device) noexcept nogil:
    """One number of a device."""
    cdef int number = 0
    cdef int r = driver_number(device, &number)
    if value == NULL:
        r = cudaErrorInvalidValue
    if r == CUDA_SUCCESS:
        r = driver.device_attribute(value, attribute, number)
    return note_error(r)


cdef public int cudaChooseDevice(int *device, const cudaDeviceProp *wanted) noexcept nogil:
    """The first one whose architecture and memory suffice, else the first."""
    cdef cudaDeviceProp found
    cdef int at
    cdef int r = enter_runtime()
    if device == NULL or wanted == NULL:
        r = cudaErrorInvalidValue
    if r != CUDA_SUCCESS:
        return note_error(r)
    device[0] = 0
    for at in range(driver_devices):
        r = cudaGetDeviceProperties_v2(&found, at)
        if r != CUDA_SUCCESS:
            return r
        if found.totalGlobalMem >= wanted.totalGlobalMem and (
            found.major > wanted.major or (found.major == wanted.major and found.minor >= wanted.minor)
        ):
            device[0] = at
            break
    return CUDA_SUCCESS


cdef public int cudaDeviceGetPCIBusId(char *to, int size, int device) noexcept nogil:
    """Where it is, in text."""
    cdef int number = 0
    cdef int r = driver_number(device, &number)
    return note_error(driver.device_bus(to, size, number) if r == CUDA_SUCCESS else r)


cdef public int cudaDeviceGetByPCIBusId(int *device, const char *bus) noexcept nogil:
    """The device of such a text."""
    cdef int r = enter_runtime()
    return note_error(driver.device_of_bus(device, bus) if r == CUDA_SUCCESS else r)


cdef public int cudaDeviceSynchronize() noexcept nogil:
    """Wait for all of the device's work."""
    cdef int r = enter_device()
    return note_error(driver.context_wait() if r == CUDA_SUCCESS else r)


cdef public int cudaThreadSynchronize() noexcept nogil:
    """The old name."""
    return cudaDeviceSynchronize()


cdef public int cudaDeviceReset() noexcept nogil:
    """The device as it was before the program: no memory, streams, events; also after an error that stays."""
    cdef int number = 0
    cdef int device = runtime_thread.device
    cdef int r = driver_number(device, &number)
    if r == CUDA_SUCCESS:
        r = driver.primary_reset(number)
        forget_device(device)
        driver.context_set(NULL)
    return note_error(r)


cdef public int cudaThreadExit() noexcept nogil:
    """The old name."""
    return cudaDeviceReset()


cdef public int cudaDeviceSetLimit(int limit, size_t value) noexcept nogil:
    """Stack, printf's buffer, malloc's heap."""
    cdef int r = enter_device()
    return note_error(driver.context_set_limit(limit, value) if r == CUDA_SUCCESS else r)


cdef public int cudaDeviceGetLimit(size_t *value, int limit) noexcept nogil:
    """The same, asked."""
    cdef int r = enter_device()
    return note_error(driver.context_limit(value, limit) if r == CUDA_SUCCESS else r)


cdef public int cudaDeviceGetCacheConfig(int *config) noexcept nogil:
    """Kept, without effect on an emulated device."""
    cdef int r = enter_device()
    return note_error(driver.context_cache(config) if r == CUDA_SUCCESS else r)


cdef public int cudaDeviceSetCacheConfig(int config) noexcept nogil:
    """Kept, without effect on an emulated device."""
    cdef int r = enter_device()
    return note_error(driver.context_set_cache(config) if r == CUDA_SUCCESS else r)


cdef public int cudaDeviceGetSharedMemConfig(int *config) noexcept nogil:
    """Kept, without effect on an emulated device."""
    cdef int r = enter_device()
    return note_error(driver.context_banks(config) if r == CUDA_SUCCESS else r)


cdef public int cudaDeviceSetSharedMemConfig(int config) noexcept nogil:
    """Kept, without effect on an emulated device."""
    cdef int r = enter_device()
    return note_error(driver.context_set_banks(config) if r == CUDA_SUCCESS else r)


cdef public int cudaDeviceGetStreamPriorityRange(int *least, int *greatest) noexcept nogil:
    """Priorities of streams."""
    cdef int r = enter_device()
    return note_error(driver.context_priorities(least, greatest) if r == CUDA_SUCCESS else r)


cdef public int cudaDeviceCanAccessPeer(int *can, int device, int peer) noexcept nogil:
    """Whether kernels may follow addresses of another device."""
    cdef int one = 0
    cdef int other = 0
    cdef int r = driver_number(device, &one)
    if r == CUDA_SUCCESS:
        r = driver_number(peer, &other)
    return note_error(driver.device_peer(can, one, other) if r == CUDA_SUCCESS else r)


cdef int peer_context(int peer, void **to) noexcept nogil:
    """The context of another device."""
    cdef void *own = NULL
    cdef int r = enter_device()
    if r == CUDA_SUCCESS:
        r = primary_context(peer, to)
    if r == CUDA_SUCCESS and driver.context_current(&own) == CUDA_SUCCESS and own == to[0]:
        r = cudaErrorInvalidDevice
    return r


cdef public int cudaDeviceEnablePeerAccess(int peer, unsigned flags) noexcept nogil:
    """Have kernels follow addresses of another device."""
    cdef void *context = NULL
    cdef int r = peer_context(peer, &context)
    return note_error(driver.peer_enable(context, flags) if r == CUDA_SUCCESS else r)


cdef public int cudaDeviceDisablePeerAccess(int peer) noexcept nogil:
    """No longer."""
    cdef void *context = NULL
    cdef int r = peer_context(peer, &context)
    return note_error(driver.peer_disable(context) if r == CUDA_SUCCESS else r)
