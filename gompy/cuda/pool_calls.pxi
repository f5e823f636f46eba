# cuMemPool*, and memory of pools in a stream's order.

cdef struct pool_location:     # CUmemLocation
    int kind
    int number

cdef struct pool_access:       # CUmemAccessDesc
    pool_location location
    int flags

cdef struct pool_properties:   # the beginning of CUmemPoolProps
    int kind
    int handles
    pool_location location
    void *security
    size_t limit


cdef pool *new_pool(gpu *g, uint64_t limit, bint standard) noexcept nogil:
    """An empty pool, or NULL."""
    cdef pool *p = <pool *>new_handle(POOL)
    cdef int i
    if p != NULL:
        p.device, p.limit, p.standard = g, limit, standard
        for i in range(3):
            p.reuse[i] = 1
    return p


cdef pool *own_pool(gpu *g) noexcept nogil:
    """The device's default pool; NULL: no memory."""
    pthread_mutex_lock(&primary_lock)
    if g.default_pool == NULL:
        g.default_pool = new_pool(g, 0, True)
    pthread_mutex_unlock(&primary_lock)
    return g.default_pool


cdef pool *present_pool(gpu *g) noexcept nogil:
    """The pool that cuMemAllocAsync takes from."""
    return g.present_pool if is_handle(POOL, g.present_pool) else own_pool(g)


cdef int take_from_pool(pool *p, context *c, size_t size, CUdeviceptr *to) noexcept nogil:
    """Memory of a pool; the context that asks owns it."""
    cdef uint64_t address = 0
    cdef block *n
    cdef int r = CUDA_ERROR_OUT_OF_MEMORY
    pthread_mutex_lock(&memory_lock)
    if not is_handle(POOL, p):
        r = CUDA_ERROR_INVALID_VALUE
    elif p.limit == 0 or (size <= p.limit and p.used <= p.limit - size):
        n = area_alloc(&p.device.memory, size, 512, ALLOCATION, c)
        if n != NULL:
            n.flags = pool_number(p)
            p.used += size
            if p.used > p.high:
                p.high = p.used
            to[0] = n.start
            r = CUDA_SUCCESS
    pthread_mutex_unlock(&memory_lock)
    return r


cdef int capture_allocation(stream *s, pool *p, size_t size, CUdeviceptr *to, bint *taken) noexcept nogil:
    """Memory in the order of a stream that is captured: a node, if it is.  Without work_lock."""
    cdef capture *c = NULL
    cdef graph_memory *m = NULL
    cdef node *n = NULL
    cdef int r
    taken[0] = captures != NULL
    if not taken[0]:
        return CUDA_SUCCESS
    pthread_mutex_lock(&work_lock)
    r = look_for_capture(s, &c)
    taken[0] = r != CUDA_SUCCESS or c != NULL
    if r == CUDA_SUCCESS and c != NULL and c.into.inside:
        c.spoilt = True
        r = CUDA_ERROR_NOT_SUPPORTED
    elif r == CUDA_SUCCESS and c != NULL:
        m = new_graph_memory(p.device, size, p.readers)
        n = capture_node(s, CU_GRAPH_NODE_TYPE_MEM_ALLOC, NULL, 0) if m != NULL else NULL
        if n != NULL:
            know_memory(n, m)
            to[0] = m.address
        else:
            c.spoilt = True
            r = CUDA_ERROR_OUT_OF_MEMORY
            if m != NULL:
                m.users = 1
                leave_graph_memory(m)
    pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuMemAllocFromPoolAsync(CUdeviceptr *to, size_t size, void *p, void *queue) noexcept nogil:
    """Device memory of a pool, at once; a stream's order is kept all the more."""
    cdef stream *s = NULL
    cdef bint taken = False
    cdef int r = enter_stream(queue, &s)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or size == 0 or not is_handle(POOL, p):
        return CUDA_ERROR_INVALID_VALUE
    r = capture_allocation(s, <pool *>p, size, to, &taken)
    if not taken:
        r = take_from_pool(<pool *>p, s.of, size, to)
        if r == CUDA_SUCCESS:
            note_made(to[0])
    return r


cdef public int cuMemAllocAsync(CUdeviceptr *to, size_t size, void *queue) noexcept nogil:
    """The same, of the pool that the stream's device has now."""
    cdef stream *s = NULL
    cdef pool *p
    cdef bint taken = False
    cdef int r = enter_stream(queue, &s)
    if r != CUDA_SUCCESS:
        return r
    p = present_pool(s.of.device)
    if p == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    if to == NULL or size == 0:
        return CUDA_ERROR_INVALID_VALUE
    r = capture_allocation(s, p, size, to, &taken)
    if not taken:
        r = take_from_pool(p, s.of, size, to)
        if r == CUDA_SUCCESS:
            note_made(to[0])
    return r


cdef public int cuDeviceGetDefaultMemPool(void **to, int number) noexcept nogil:
    """The device's own pool."""
    cdef gpu *g = NULL
    cdef int r = enter_device(number, &g)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = own_pool(g)
    return CUDA_SUCCESS if to[0] != NULL else CUDA_ERROR_OUT_OF_MEMORY


cdef public int cuDeviceGetMemPool(void **to, int number) noexcept nogil:
    """The pool that cuMemAllocAsync takes from."""
    cdef gpu *g = NULL
    cdef int r = enter_device(number, &g)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = present_pool(g)
    return CUDA_SUCCESS if to[0] != NULL else CUDA_ERROR_OUT_OF_MEMORY


cdef public int cuDeviceSetMemPool(int number, void *p) noexcept nogil:
    """Set it: a pool of the same device."""
    cdef gpu *g = NULL
    cdef int r = enter_device(number, &g)
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(POOL, p) or (<pool *>p).device != g:
        return CUDA_ERROR_INVALID_VALUE
    g.present_pool = <pool *>p
    return CUDA_SUCCESS


cdef public int cuMemPoolCreate(void **to, const pool_properties *wanted) noexcept nogil:
    """A pool of a device's memory.  Handles for other processes: CUDA_ERROR_NOT_SUPPORTED."""
    cdef gpu *g
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or wanted == NULL or wanted.kind != CU_MEM_ALLOCATION_TYPE_PINNED:
        return CUDA_ERROR_INVALID_VALUE
    if wanted.handles != 0 or wanted.location.kind != CU_MEM_LOCATION_TYPE_DEVICE:
        return CUDA_ERROR_NOT_SUPPORTED
    g = visible_device(wanted.location.number)
    if g == NULL:
        return CUDA_ERROR_INVALID_DEVICE
    to[0] = new_pool(g, wanted.limit, False)
    return CUDA_SUCCESS if to[0] != NULL else CUDA_ERROR_OUT_OF_MEMORY


cdef public int cuMemPoolDestroy(void *p) noexcept nogil:
    """Destroy a pool; what is allocated from it stays until it is freed."""
    cdef pool *of = <pool *>p
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&memory_lock)
    if not is_handle(POOL, p) or of.standard:
        r = CUDA_ERROR_INVALID_VALUE
    elif bury_handle(POOL, p):
        of.leaving = True
        if of.used == 0:
            free_handle(POOL, p)
    pthread_mutex_unlock(&memory_lock)
    return r


cdef int enter_pool(void *p, pool **to) noexcept nogil:
    """What a call about a pool begins with."""
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(POOL, p):
        return CUDA_ERROR_INVALID_VALUE
    to[0] = <pool *>p
    return CUDA_SUCCESS


cdef public int cuMemPoolTrimTo(void *p, size_t keep) noexcept nogil:
    """A pool holds nothing that is free."""
    cdef pool *of = NULL
    return enter_pool(p, &of)


cdef public int cuMemPoolGetAttribute(void *p, int which, void *to) noexcept nogil:
    """CU_MEMPOOL_ATTR_*."""
    cdef pool *of = NULL
    cdef int r = enter_pool(p, &of)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    pthread_mutex_lock(&memory_lock)
    if CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES <= which <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        (<int *>to)[0] = of.reuse[which - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES]
    elif which == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        (<uint64_t *>to)[0] = of.threshold
    elif which in (CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, CU_MEMPOOL_ATTR_USED_MEM_CURRENT):
        (<uint64_t *>to)[0] = of.used
    elif which in (CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, CU_MEMPOOL_ATTR_USED_MEM_HIGH):
        (<uint64_t *>to)[0] = of.high
    else:
        r = CUDA_ERROR_INVALID_VALUE
    pthread_mutex_unlock(&memory_lock)
    return r


cdef public int cuMemPoolSetAttribute(void *p, int which, void *value) noexcept nogil:
    """The release threshold and the rules of reuse are kept; a high mark can be set to 0: to what is used now."""
    cdef pool *of = NULL
    cdef int r = enter_pool(p, &of)
    if r != CUDA_SUCCESS:
        return r
    if value == NULL:
        return CUDA_ERROR_INVALID_VALUE
    pthread_mutex_lock(&memory_lock)
    if CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES <= which <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        of.reuse[which - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = (<int *>value)[0]
    elif which == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        of.threshold = (<uint64_t *>value)[0]
    elif (which in (CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, CU_MEMPOOL_ATTR_USED_MEM_HIGH)
          and (<uint64_t *>value)[0] == 0):
        of.high = of.used
    else:
        r = CUDA_ERROR_INVALID_VALUE
    pthread_mutex_unlock(&memory_lock)
    return r


cdef int change_readers(const pool_access *wanted, const gpu *of, uint32_t *readers) noexcept nogil:
    """What a set of devices becomes by what is wanted; it stays where that is refused.  A device has its own memory
    always."""
    cdef gpu *g = visible_device(wanted.location.number)
    if wanted.location.kind != CU_MEM_LOCATION_TYPE_DEVICE or g == NULL:
        return CUDA_ERROR_INVALID_VALUE
    if g == of:
        return CUDA_SUCCESS if wanted.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE else CUDA_ERROR_INVALID_VALUE
    if wanted.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE:
        readers[0] &= ~reader_bit(g)
    elif not can_be_peers(g, of):
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
    elif wanted.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE:
        readers[0] |= reader_bit(g)
    else:
        return CUDA_ERROR_NOT_SUPPORTED if wanted.flags == CU_MEM_ACCESS_FLAGS_PROT_READ else CUDA_ERROR_INVALID_VALUE
    return CUDA_SUCCESS


cdef public int cuMemPoolSetAccess(void *p, const pool_access *wanted, size_t n) noexcept nogil:
    """Which devices' kernels may use what is allocated from the pool, before and from now on: its own always, others
    none at first.  Reading alone: CUDA_ERROR_NOT_SUPPORTED."""
    cdef pool *of = NULL
    cdef uint32_t readers
    cdef size_t i
    cdef int r = enter_pool(p, &of)
    if r != CUDA_SUCCESS:
        return r
    if wanted == NULL and n:
        return CUDA_ERROR_INVALID_VALUE
    readers = of.readers
    for i in range(n):
        r = change_readers(&wanted[i], of.device, &readers)
        if r != CUDA_SUCCESS:
            return r
    pthread_mutex_lock(&memory_lock)
    of.readers = readers
    pthread_mutex_unlock(&memory_lock)
    return CUDA_SUCCESS


cdef public int cuMemPoolGetAccess(int *to, void *p, const pool_location *location) noexcept nogil:
    """CU_MEM_ACCESS_FLAGS_PROT_READWRITE for the pool's own device and those that were given it, else none."""
    cdef pool *of = NULL
    cdef gpu *g
    cdef int r = enter_pool(p, &of)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or location == NULL or location.kind != CU_MEM_LOCATION_TYPE_DEVICE:
        return CUDA_ERROR_INVALID_VALUE
    g = visible_device(location.number)
    to[0] = CU_MEM_ACCESS_FLAGS_PROT_NONE
    if g != NULL and (g == of.device or of.readers & reader_bit(g)):
        to[0] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    return CUDA_SUCCESS
