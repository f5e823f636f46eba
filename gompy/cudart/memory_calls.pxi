# Memory of devices and hosts.

cdef public int cudaMalloc(void **to, size_t size) noexcept nogil:
    """Device memory; NULL for none."""
    cdef int r = enter_device()
    if to == NULL:
        r = cudaErrorInvalidValue
    if r == CUDA_SUCCESS:
        to[0] = NULL
        if size:
            r = driver.mem_alloc(<CUdeviceptr *> to, size)
    return note_error(r)


cdef public int cudaMallocPitch(void **to, size_t *pitch, size_t width, size_t height) noexcept nogil:
    """Rows of device memory that begin at good addresses."""
    cdef int r = enter_device()
    if to == NULL or pitch == NULL:
        r = cudaErrorInvalidValue
    if r == CUDA_SUCCESS:
        to[0] = NULL
        pitch[0] = 0
        if width and height:
            r = driver.mem_pitch(<CUdeviceptr *> to, pitch, width, height, 4)
    return note_error(r)


cdef public int cudaMalloc3D(pitched_ptr *to, extent size) noexcept nogil:
    """The same, in three dimensions."""
    cdef int r
    if to == NULL:
        return note_error(cudaErrorInvalidValue)
    r = cudaMallocPitch(&to.ptr, &to.pitch, size.width, size.height * size.depth)
    to.xsize, to.ysize = size.width, size.height
    return r


cdef public int cudaMallocManaged(void **to, size_t size, unsigned flags) noexcept nogil:
    """Memory of both."""
    cdef int r = enter_device()
    if to == NULL or size == 0:
        r = cudaErrorInvalidValue
    return note_error(driver.mem_managed(<CUdeviceptr *> to, size, flags) if r == CUDA_SUCCESS else r)


cdef public int cudaHostAlloc(void **to, size_t size, unsigned flags) noexcept nogil:
    """Pinned memory of the host."""
    cdef int r = enter_device()
    if to == NULL:
        r = cudaErrorInvalidValue
    if r == CUDA_SUCCESS:
        to[0] = NULL
        if size:
            r = driver.host_alloc(to, size, flags)
    return note_error(r)


cdef public int cudaMallocHost(void **to, size_t size) noexcept nogil:
    """The same."""
    return cudaHostAlloc(to, size, 0)


cdef public int cudaHostGetDevicePointer(void **to, void *host, unsigned flags) noexcept nogil:
    """Its address for kernels."""
    cdef int r = enter_device()
    return note_error(driver.host_pointer(<CUdeviceptr *> to, host, flags) if r == CUDA_SUCCESS else r)


cdef public int cudaHostGetFlags(unsigned *flags, void *host) noexcept nogil:
    """What it was allocated with."""
    cdef int r = enter_device()
    return note_error(driver.host_flags(flags, host) if r == CUDA_SUCCESS else r)


cdef public int cudaHostRegister(void *host, size_t size, unsigned flags) noexcept nogil:
    """Pin memory that the program has."""
    cdef int r = enter_device()
    return note_error(driver.host_register(host, size, flags) if r == CUDA_SUCCESS else r)


cdef public int cudaHostUnregister(void *host) noexcept nogil:
    """No longer."""
    cdef int r = enter_device()
    return note_error(driver.host_unregister(host) if r == CUDA_SUCCESS else r)


cdef public int cudaFree(void *device) noexcept nogil:
    """Free device memory; NULL is none, and the call makes the context."""
    cdef int r = enter_device()
    if r == CUDA_SUCCESS and device != NULL:
        r = driver.mem_free(<CUdeviceptr> device)
    return note_error(r)


cdef public int cudaFreeHost(void *host) noexcept nogil:
    """Free pinned memory."""
    cdef int r = enter_device()
    if r == CUDA_SUCCESS and host != NULL:
        r = driver.host_free(host)
    return note_error(r)


cdef public int cudaMallocAsync(void **to, size_t size, void *stream) noexcept nogil:
    """Device memory, in a stream's order."""
    cdef int r = enter_device()
    if to == NULL:
        r = cudaErrorInvalidValue
    if r == CUDA_SUCCESS:
        to[0] = NULL
        if size:
            r = driver.mem_alloc_async(<CUdeviceptr *> to, size, stream)
    return note_error(r)


cdef public int cudaFreeAsync(void *device, void *stream) noexcept nogil:
    """Free it, in a stream's order."""
    cdef int r = enter_device()
    if r == CUDA_SUCCESS and device != NULL:
        r = driver.mem_free_async(<CUdeviceptr> device, stream)
    return note_error(r)


cdef public int cudaMemGetInfo(size_t *unused, size_t *total) noexcept nogil:
    """How much there is."""
    cdef int r = enter_device()
    return note_error(driver.mem_info(unused, total) if r == CUDA_SUCCESS else r)


cdef public int cudaPointerGetAttributes(pointer_attributes *to, const void *pointer) noexcept nogil:
    """Whose memory an address is; memory that CUDA doesn't know is no error."""
    cdef unsigned kind = 0
    cdef unsigned managed = 0
    cdef CUdeviceptr device = 0
    cdef CUdeviceptr at = <CUdeviceptr> pointer
    cdef int r = enter_device()
    if to == NULL:
        r = cudaErrorInvalidValue
    if r != CUDA_SUCCESS:
        return note_error(r)
    to.type, to.device, to.device_pointer, to.host_pointer = cudaMemoryTypeUnregistered, -2, NULL, <void *> pointer
    if driver.pointer_attribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) != CUDA_SUCCESS:
        return CUDA_SUCCESS
    to.type = cudaMemoryTypeHost if kind == CU_MEMORYTYPE_HOST else cudaMemoryTypeDevice
    if driver.pointer_attribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, at) == CUDA_SUCCESS and managed & 1:
        to.type = cudaMemoryTypeManaged
    if is_managed(pointer):
        to.type = cudaMemoryTypeManaged
    driver.pointer_attribute(&to.device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at)
    if driver.pointer_attribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, at) == CUDA_SUCCESS:
        to.device_pointer = <void *> device
    if to.type == cudaMemoryTypeDevice:
        to.host_pointer = NULL
    return CUDA_SUCCESS


cdef public int cudaMemPrefetchAsync(const void *device, size_t size, int to, void *stream) noexcept nogil:
    """Managed memory is wanted elsewhere."""
    cdef int r = enter_device()
    if r == CUDA_SUCCESS and driver_graphs.note_managed == NULL and is_managed(device):
        return CUDA_SUCCESS  # a machine's driver takes it for registered memory
    return note_error(driver.mem_prefetch(<CUdeviceptr> device, size, to, stream) if r == CUDA_SUCCESS else r)


cdef public int cudaMemAdvise(const void *device, size_t size, int advice, int of) noexcept nogil:
    """How managed memory will be used."""
    cdef int r = enter_device()
    if r == CUDA_SUCCESS and driver_graphs.note_managed == NULL and is_managed(device):
        return CUDA_SUCCESS  # a machine's driver takes it for registered memory
    return note_error(driver.mem_advise(<CUdeviceptr> device, size, advice, of) if r == CUDA_SUCCESS else r)


cdef public int cudaMemRangeGetAttributes(void **to, size_t *to_sizes, const int *attributes, size_t count,
                                          const void *device, size_t size) noexcept nogil:
    """What was said of managed memory."""
    cdef int r = enter_device()
    if r == CUDA_SUCCESS:
        r = driver.mem_range(to, to_sizes, attributes, count, <CUdeviceptr> device, size)
    return note_error(r)


cdef public int cudaMemRangeGetAttribute(void *to, size_t to_size, int attribute, const void *device,
                                         size_t size) noexcept nogil:
    """One of these."""
    return cudaMemRangeGetAttributes(&to, &to_size, &attribute, 1, device, size)
