# Peers: what devices can do with each other's memory, and contexts may.


cdef int enter_peers(int number, int other, gpu **one, gpu **two) noexcept nogil:
    """What a question about two devices begins with."""
    cdef int r = enter_device(number, one)
    return enter_device(other, two) if r == CUDA_SUCCESS else r


cdef public int cuDeviceCanAccessPeer(int *to, int number, int other) noexcept nogil:
    """Whether kernels of a device can use another one's memory: yes, but with GOMPY_CUDA_PEERS=0."""
    cdef gpu *one = NULL
    cdef gpu *two = NULL
    cdef int r = enter_peers(number, other, &one, &two)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = can_be_peers(one, two)
    return CUDA_SUCCESS


cdef public int cuDeviceGetP2PAttribute(int *to, int kind, int number, int other) noexcept nogil:
    """CU_DEVICE_P2P_ATTRIBUTE_*: between peers there is all of it; the rank of all is the best, 0."""
    cdef gpu *one = NULL
    cdef gpu *two = NULL
    cdef int r = enter_peers(number, other, &one, &two)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or \
            not CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK <= kind <= CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
        return CUDA_ERROR_INVALID_VALUE
    if one == two:
        return CUDA_ERROR_INVALID_DEVICE
    to[0] = kind != CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK and can_be_peers(one, two)
    return CUDA_SUCCESS


cdef public int cuCtxEnablePeerAccess(void *p, unsigned flags) noexcept nogil:
    """Open the memory of a context's device to kernels of the current one."""
    cdef context *c
    cdef int i, r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if flags != 0:
        return CUDA_ERROR_INVALID_VALUE
    if not is_handle(CONTEXT, p) or p == c:
        return CUDA_ERROR_INVALID_CONTEXT
    if c.device == (<context *>p).device:
        return CUDA_ERROR_INVALID_DEVICE
    if not can_be_peers(c.device, (<context *>p).device):
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
    pthread_mutex_lock(&memory_lock)
    if peer_place(c, p) >= 0:
        r = CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
    else:
        i = 0
        while i < c.peer_count and is_there_still(&c.peers[i]):
            i += 1
        if i == MAX_PEERS:
            r = CUDA_ERROR_TOO_MANY_PEERS
        else:  # the first that is free, or that of a context which is gone
            c.peers[i].of, c.peers[i].serial = p, (<context *>p).head.serial
            c.peer_count = max(c.peer_count, i + 1)
    pthread_mutex_unlock(&memory_lock)
    return r


cdef public int cuCtxDisablePeerAccess(void *p) noexcept nogil:
    """Undo it, when what the current context does is over."""
    cdef context *c
    cdef int i, r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(CONTEXT, p):
        return CUDA_ERROR_INVALID_CONTEXT
    wait_for_context(c)
    pthread_mutex_lock(&memory_lock)
    i = peer_place(c, p)
    if i >= 0:
        c.peer_count -= 1
        c.peers[i] = c.peers[c.peer_count]
    pthread_mutex_unlock(&memory_lock)
    return CUDA_SUCCESS if i >= 0 else CUDA_ERROR_PEER_ACCESS_NOT_ENABLED
