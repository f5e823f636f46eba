# cuIpc*: memory of other processes.


cdef public int cuIpcGetMemHandle(CUipcMemHandle *to, CUdeviceptr address) noexcept nogil:
    """A handle by which another process can open the block that an address of cuMemAlloc's lies in.  Waits for the
    context's work."""
    cdef context *c
    cdef block *n
    cdef gpu *g = NULL
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    settle_before_free(address)
    pthread_mutex_lock(&memory_lock)
    n = block_at(address, &g, NULL)
    if n == NULL or n.use != ALLOCATION or n.flags:
        r = CUDA_ERROR_INVALID_VALUE
    else:
        r = share_block(g, n, <shared_handle *>to)
    pthread_mutex_unlock(&memory_lock)
    return r


cdef public int cuIpcOpenMemHandle_v2(CUdeviceptr *to, CUipcMemHandle handle, unsigned flags) noexcept nogil:
    """The other process's block, at an address of the current device.  A handle that the context has opened before is
    counted.  Of this process's own: CUDA_ERROR_INVALID_CONTEXT."""
    cdef shared_handle *h = <shared_handle *>&handle
    cdef context *c
    cdef block *n
    cdef int r = current_context(&c)
    if r == CUDA_SUCCESS:
        r = refuse_unsafe()
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or flags & ~<unsigned>CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS:
        return CUDA_ERROR_INVALID_VALUE
    if h.magic != SHARED_MAGIC:
        return CUDA_ERROR_INVALID_VALUE
    if h.pid == getpid():
        return CUDA_ERROR_INVALID_CONTEXT
    pthread_mutex_lock(&memory_lock)
    n = opened_before(c.device.memory.root, h, c)
    if n != NULL:
        n.opened += 1
        to[0] = n.start
    else:
        r = open_shared_block(c.device, c, h, <uint64_t *>to)
    pthread_mutex_unlock(&memory_lock)
    return r


cdef public int cuIpcOpenMemHandle(CUdeviceptr *to, CUipcMemHandle handle, unsigned flags) noexcept nogil:
    """The name before CUDA 11."""
    return cuIpcOpenMemHandle_v2(to, handle, flags)


cdef public int cuIpcCloseMemHandle(CUdeviceptr address) noexcept nogil:
    """Undo one cuIpcOpenMemHandle; the last waits for the context's work, and the block goes."""
    cdef block *n
    cdef area *a = NULL
    cdef int r = enter_free(address)
    if r != CUDA_SUCCESS:
        return r
    settle_before_free(address)
    pthread_mutex_lock(&memory_lock)
    n = block_at(address, NULL, &a)
    if n == NULL or n.use != OPENED or n.start != address:
        r = CUDA_ERROR_INVALID_VALUE
    elif n.opened > 1:
        n.opened -= 1
    else:
        leave_block(a, n)
    pthread_mutex_unlock(&memory_lock)
    return r
