# Physical memory: cuMemCreate, its handles, and other processes.


cdef int check_properties(const memory_properties *wanted, gpu **to) noexcept nogil:
    """Whether there is memory of that kind, and of which device."""
    if wanted == NULL or wanted.kind != CU_MEM_ALLOCATION_TYPE_PINNED:
        return CUDA_ERROR_INVALID_VALUE
    if wanted.place.kind != CU_MEM_LOCATION_TYPE_DEVICE or wanted.rdma or wanted.usage or \
            wanted.handles & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR:
        return CUDA_ERROR_NOT_SUPPORTED
    if wanted.compression > CU_MEM_ALLOCATION_COMP_GENERIC:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = visible_device(wanted.place.number)
    return CUDA_SUCCESS if to[0] != NULL else CUDA_ERROR_INVALID_DEVICE


cdef public int cuMemGetAllocationGranularity(size_t *to, const memory_properties *wanted, int which) noexcept nogil:
    """What sizes and addresses are multiples of: 2 MiB, at least (0) and by advice (1)."""
    cdef gpu *g = NULL
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or not 0 <= which <= 1:
        return CUDA_ERROR_INVALID_VALUE
    r = check_properties(wanted, &g)
    if r == CUDA_SUCCESS:
        to[0] = CHUNK
    return r


cdef public int cuMemCreate(void **to, size_t size, const memory_properties *wanted,
                            unsigned long long flags) noexcept nogil:
    """Memory of a device, at no address as yet."""
    cdef gpu *g = NULL
    cdef int r = api_state()
    if r == CUDA_SUCCESS:
        r = check_properties(wanted, &g)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or size == 0 or size % CHUNK or flags != 0:
        return CUDA_ERROR_INVALID_VALUE
    pthread_mutex_lock(&memory_lock)
    r = make_physical(g, size, wanted, <physical_handle **>to)
    pthread_mutex_unlock(&memory_lock)
    return r


cdef public int cuMemRelease(void *p) noexcept nogil:
    """Give a handle back.  The memory stays while it is mapped."""
    cdef physical_handle *h = <physical_handle *>p
    cdef physical *m
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&memory_lock)
    if not is_handle(PHYSICAL_HANDLE, p):
        r = CUDA_ERROR_INVALID_VALUE
    else:
        h.count -= 1
        if h.count == 0:
            m = h.of
            m.handle = NULL
            free_handle(PHYSICAL_HANDLE, h)
            drop_physical(m)
    pthread_mutex_unlock(&memory_lock)
    return r


cdef public int cuMemRetainAllocationHandle(void **to, void *address) noexcept nogil:
    """The handle of what is mapped at an address, to be given back by cuMemRelease."""
    cdef block *n
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&memory_lock)
    n = part_at(<uint64_t>address)
    if to == NULL or n == NULL or n.use not in (CLOSED, MAPPED):
        r = CUDA_ERROR_INVALID_VALUE
    else:
        r = give_handle(<physical *>n.memory, <physical_handle **>to)
    pthread_mutex_unlock(&memory_lock)
    return r


cdef public int cuMemGetAllocationPropertiesFromHandle(memory_properties *to, void *p) noexcept nogil:
    """What cuMemCreate was asked for, and was had."""
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&memory_lock)
    if to == NULL or not is_handle(PHYSICAL_HANDLE, p):
        r = CUDA_ERROR_INVALID_VALUE
    else:
        to[0] = (<physical_handle *>p).of.properties
    pthread_mutex_unlock(&memory_lock)
    return r


cdef public int cuMemExportToShareableHandle(void *to, void *p, int kind, unsigned long long flags) noexcept nogil:
    """A new descriptor of the memory, for other processes; the caller closes it."""
    cdef physical *m
    cdef int fd
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or flags != 0:
        return CUDA_ERROR_INVALID_VALUE
    if kind != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR:
        return CUDA_ERROR_NOT_SUPPORTED
    pthread_mutex_lock(&memory_lock)
    r = CUDA_ERROR_INVALID_VALUE
    if is_handle(PHYSICAL_HANDLE, p):
        m = (<physical_handle *>p).of
        if m.properties.handles & kind:
            fd = gompy_again(m.file.fd, 3) if gompy_still_ours(&m.file) else -1
            (<int *>to)[0] = fd
            r = CUDA_SUCCESS if fd >= 0 else CUDA_ERROR_OUT_OF_MEMORY
    pthread_mutex_unlock(&memory_lock)
    return r


cdef public int cuMemImportFromShareableHandle(void **to, void *descriptor, int kind) noexcept nogil:
    """Memory by the descriptor that cuMemExportToShareableHandle has given, which stays the caller's."""
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    if kind != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR:
        return CUDA_ERROR_NOT_SUPPORTED
    pthread_mutex_lock(&memory_lock)
    r = import_physical(<int><size_t>descriptor, <physical_handle **>to)
    pthread_mutex_unlock(&memory_lock)
    return r
