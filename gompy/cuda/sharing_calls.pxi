# cuIpc*: memory and events of other processes.


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
        leave_block(a, n, False)
    pthread_mutex_unlock(&memory_lock)
    return r


cdef public int cuIpcGetEventHandle(CUipcMemHandle *to, void *p) noexcept nogil:
    """A handle by which another process can open an event that was made with CU_EVENT_INTERPROCESS."""
    cdef event_handle *h = <event_handle *>to
    cdef event *e = NULL
    cdef int r = enter_event(p, &e)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    if e.shared == NULL or not gompy_still_ours(&e.file):
        return CUDA_ERROR_INVALID_HANDLE
    memset(h, 0, sizeof(event_handle))
    h.magic, h.pid, h.fd = EVENT_MAGIC, getpid(), e.file.fd
    h.device, h.inode = kept_device(&e.file), kept_inode(&e.file)
    return CUDA_SUCCESS


cdef public int cuIpcOpenEventHandle(void **to, CUipcMemHandle handle) noexcept nogil:
    """The other process's event, as one of the current context.  Of this process's own: CUDA_ERROR_INVALID_CONTEXT."""
    cdef event_handle *h = <event_handle *>&handle
    cdef context *c
    cdef event *e
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or h.magic != EVENT_MAGIC:
        return CUDA_ERROR_INVALID_VALUE
    if h.pid == getpid():
        return CUDA_ERROR_INVALID_CONTEXT
    e = <event *>new_handle(EVENT)
    if e == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    r = open_event(e, h)
    if r != CUDA_SUCCESS:
        free_handle(EVENT, e)
        return r
    e.flags, e.of_context = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING, c
    to[0] = e
    return CUDA_SUCCESS
