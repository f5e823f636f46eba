# cuMemAlloc and its relatives: device memory, pinned and managed host memory, and questions about addresses.

cdef bint settle_before_free(uint64_t address) noexcept nogil:
    """Freeing waits for the work of the context that has the memory.  Whether there is one."""
    cdef context *c = context_of_memory(address)
    if c != NULL:
        wait_for_context(c)
    return c != NULL


cdef int enter_free(uint64_t address) noexcept nogil:
    """What freeing begins with: the current context, or, in a thread without one, the memory's.  Programs free in
    destructors that run after their context was popped."""
    cdef context *c
    cdef int r = current_context(&c)
    if r == CUDA_ERROR_INVALID_CONTEXT:
        c = context_of_memory(address)
        if c != NULL:
            r = c.failure
    return r if r != CUDA_SUCCESS else refuse_unsafe()


cdef public int cuMemAlloc_v2(CUdeviceptr *to, size_t size) noexcept nogil:
    """Device memory, aligned to 512 bytes."""
    cdef context *c
    cdef uint64_t address
    cdef int r = current_context(&c)
    if r == CUDA_SUCCESS:
        r = refuse_unsafe()
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or size == 0:
        return CUDA_ERROR_INVALID_VALUE
    address = alloc_in(c.device, &c.device.memory, size, 512, ALLOCATION, c, NULL, 0)
    if address == 0:
        return CUDA_ERROR_OUT_OF_MEMORY
    note_made(address)
    to[0] = address
    return CUDA_SUCCESS


cdef public int cuMemAllocPitch_v2(CUdeviceptr *to, size_t *pitch, size_t width, size_t height,
                                   unsigned unit) noexcept nogil:
    """Device memory for lines; the pitch is a multiple of 512."""
    cdef size_t line = 0, size = 0
    cdef int r
    if pitch == NULL or width == 0 or height == 0 or unit not in (4, 8, 16) or width > MAX_PITCH:
        return CUDA_ERROR_INVALID_VALUE
    line = round_up(width, 512)
    if not fits_product(line, height, &size):
        return CUDA_ERROR_OUT_OF_MEMORY
    r = cuMemAlloc_v2(to, size)
    if r == CUDA_SUCCESS:
        pitch[0] = line
    return r


cdef public int cuMemAllocManaged(CUdeviceptr *to, size_t size, unsigned flags) noexcept nogil:
    """Memory that host and device share."""
    cdef context *c
    cdef uint64_t address
    cdef int r = current_context(&c)
    if r == CUDA_SUCCESS:
        r = refuse_unsafe()
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or size == 0 or flags not in (CU_MEM_ATTACH_GLOBAL, CU_MEM_ATTACH_HOST, CU_MEM_ATTACH_SINGLE):
        return CUDA_ERROR_INVALID_VALUE
    address = alloc_in(c.device, &c.device.memory, size, 512, MANAGED, c, NULL, flags)
    if address == 0:
        return CUDA_ERROR_OUT_OF_MEMORY
    note_made(address)
    to[0] = address
    return CUDA_SUCCESS


cdef int settle_graph_memory(uint64_t address) noexcept nogil:
    """Memory of a graph is freed: what the current context does comes before that."""
    cdef context *c = NULL
    cdef graph_memory *m
    if current_context(&c) == CUDA_SUCCESS:
        wait_for_context(c)
    pthread_mutex_lock(&work_lock)
    m = graph_memory_at(address)
    if m != NULL and not m.there:
        mark_shadow(address, m.size, 0)
    pthread_mutex_unlock(&work_lock)
    return CUDA_SUCCESS


cdef public int cuMemFree_v2(CUdeviceptr address) noexcept nogil:
    """Free what cuMemAlloc returned; 0 is nothing to free.  Waits for the context's work."""
    cdef bint of_graph = False
    cdef int r = enter_free(address)
    if r != CUDA_SUCCESS:
        return r
    if address == 0:
        return CUDA_SUCCESS
    r = free_graph_memory(address, &of_graph)
    if of_graph:
        return r if r != CUDA_SUCCESS else settle_graph_memory(address)
    return free_block_at(address, ALLOCATION, MANAGED, settle_before_free(address))


cdef public int gompy_close_gap(CUdeviceptr address, size_t size) noexcept nogil:
    """Take access to a part of a block from kernels, until it is freed.  Not part of CUDA: for GOMPY_CHECK, so that a
    runtime that puts several objects into one block can have what lies between them found; else ERROR_NOT_SUPPORTED.
    Nothing (size 0) tells which."""
    cdef int r
    if not checking & PTX_CHECK_MEMORY:
        return CUDA_ERROR_NOT_SUPPORTED
    if size == 0:
        return CUDA_SUCCESS
    r = check_device_range(address, size)
    if r == CUDA_SUCCESS:
        mark_shadow(address, size, 0)
    return r


cdef public int gompy_shadow_stale(CUdeviceptr address, uint8_t *stale, size_t size) noexcept nogil:
    """Have kernels that read bytes told of which the host has newer contents, a byte of `stale` each; zeros take that
    back.  Not part of CUDA: for GOMPY_CHECK, else ERROR_NOT_SUPPORTED."""
    cdef uint8_t *shadow
    cdef uint8_t mark = SHADOW_STALE
    cdef block *n
    cdef size_t i
    cdef int r
    if not checking & PTX_CHECK_INIT:
        return CUDA_ERROR_NOT_SUPPORTED
    r = check_device_range(address, size)
    if r != CUDA_SUCCESS or gpu_of(address) == NULL:
        return r if r != CUDA_SUCCESS else CUDA_ERROR_NOT_SUPPORTED
    pthread_mutex_lock(&memory_lock)
    n = block_at(address, NULL, NULL)
    if n != NULL and n.use == VARIABLE:
        mark = SHADOW_STALE_OWN
    pthread_mutex_unlock(&memory_lock)
    need_marks()
    settle_marks(gpu_of(address), address, size)
    shadow = shadow_of(gpu_of(address), address)
    for i in range(size):
        if stale[i] and shadow[i] == SHADOW_WRITTEN:
            shadow[i] = mark
        elif not stale[i] and shadow[i] == mark:
            shadow[i] = SHADOW_WRITTEN
    note_marked(gpu_of(address), address, size, 0)
    return r


cdef public int gompy_shadow_left(CUdeviceptr address, uint8_t *stale, size_t size) noexcept nogil:
    """Clear those of the bytes that have been written since gompy_shadow_stale, which has marked them."""
    cdef int r = check_device_range(address, size)
    cdef uint8_t *shadow
    cdef size_t i
    if r == CUDA_SUCCESS:
        need_marks()
        settle_marks(gpu_of(address), address, size)
        shadow = shadow_of(gpu_of(address), address)
        for i in range(size):
            stale[i] &= shadow[i] == SHADOW_STALE or shadow[i] == SHADOW_STALE_OWN
    return r


cdef public int gompy_shadow_unset(CUdeviceptr address, uint8_t *unset, size_t size) noexcept nogil:
    """Mark those bytes of device memory that nothing has written.  Not part of CUDA: for GOMPY_CHECK, else
    ERROR_NOT_SUPPORTED."""
    cdef int r = check_device_range(address, size)
    cdef const uint8_t *shadow
    if not checking & PTX_CHECK_INIT or gpu_of(address) == NULL:
        return CUDA_ERROR_NOT_SUPPORTED
    if r == CUDA_SUCCESS:
        see_host_writes(address, size)
        settle_marks(gpu_of(address), address, size)
        shadow = shadow_of(gpu_of(address), address)
        # Mostly nothing is; that call is the faster one.
        if all_written(gpu_of(address), address, size) or memchr(shadow, SHADOW_ALLOCATED, size) == NULL:
            memset(unset, 0, size)
        else:
            shadow_unset(unset, shadow, size)
    return r


cdef public int gompy_hold_gate(int on) noexcept nogil:
    """What is done with device memory from here on, until the next call with 0, may leave it open to the program, as
    each change of that takes long.  Not part of CUDA: for GOMPY_CHECK, of a runtime whose construct runs.  It is
    ERROR_HOST_MEMORY_ALREADY_REGISTERED where kernels may come to memory that the program has,
    too: registered, pinned or managed."""
    hold_gate(on)
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED if load32(&host_ranges.count, RELAXED) or \
        load32(&host_reaches, RELAXED) else CUDA_SUCCESS


cdef public int gompy_keep_open(CUdeviceptr address) noexcept nogil:
    """A block that cuMemAlloc has given is the runtime's own, and need not be closed to the program.  Not part of CUDA:
    for GOMPY_CHECK."""
    cdef block *n
    cdef int r = CUDA_ERROR_INVALID_VALUE
    pthread_mutex_lock(&memory_lock)
    n = block_at(address, NULL, NULL)
    if n != NULL and n.start == address and n.use == ALLOCATION:
        if checking and mprotect(<void *>n.address, n.size - 4096, PROT_READ | PROT_WRITE) == 0:
            n.stays_open = True
        r = CUDA_SUCCESS
    pthread_mutex_unlock(&memory_lock)
    return r


cdef public int gompy_see_memory(CUdeviceptr address, size_t size,
                                 void (*use)(const void *, size_t, void *) noexcept nogil, void *data) noexcept nogil:
    """Call a function with device memory, which the program has no access to under GOMPY_CHECK.  It calls nothing of
    the driver's.  Not part of CUDA."""
    cdef int r = check_device_range(address, size)
    if gpu_of(address) == NULL:
        return CUDA_ERROR_NOT_SUPPORTED
    if r == CUDA_SUCCESS:
        open_gate()
        use(<const void *>address, size, data)
        close_gate()
    return r


cdef int capture_free(stream *s, uint64_t address, bint *taken) noexcept nogil:
    """Freeing in the order of a stream that is captured: a node, if it is; of memory of a graph.  Without work_lock."""
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
    if r == CUDA_SUCCESS and c != NULL:
        r = name_freed(c.into, address, &m) if not c.into.inside else CUDA_ERROR_NOT_SUPPORTED
        n = capture_node(s, CU_GRAPH_NODE_TYPE_MEM_FREE, NULL, 0) if r == CUDA_SUCCESS else NULL
        if n != NULL:
            know_memory(n, m)
        else:
            c.spoilt = True
            r = r if r != CUDA_SUCCESS else CUDA_ERROR_OUT_OF_MEMORY
    pthread_mutex_unlock(&work_lock)
    return r


cdef int close_graph_memory(stream *s, uint64_t address) noexcept nogil:
    """Memory of a graph is freed in a stream's order."""
    cdef op *o = NULL
    pthread_mutex_lock(&work_lock)
    if graph_memory_at(address) != NULL:
        o = memory_work(graph_memory_at(address), False)
    pthread_mutex_unlock(&work_lock)
    return submit_op(s, o) if o != NULL else CUDA_ERROR_OUT_OF_MEMORY


cdef public int cuMemFreeAsync(CUdeviceptr address, void *queue) noexcept nogil:
    """Free in a stream's order."""
    cdef stream *s = NULL
    cdef op *o
    cdef bint taken = False
    cdef int r = enter_stream(queue, &s)
    if r != CUDA_SUCCESS:
        return r
    if address == 0:
        return CUDA_SUCCESS
    r = capture_free(s, address, &taken)
    if not taken:
        r = free_graph_memory(address, &taken)
        if taken and r == CUDA_SUCCESS:
            return close_graph_memory(s, address)
    if taken:
        return r
    o = new_op(FREE_OP, 0)
    if o == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    pthread_mutex_lock(&memory_lock)
    r = pin_range(address, 1, &o.pins[0])  # until then nobody else gets a block at this address
    if r == CUDA_SUCCESS:
        given_back(address)
    pthread_mutex_unlock(&memory_lock)
    if r != CUDA_SUCCESS:
        free(o)
        return r
    o.address = address
    return submit_op(s, o)


cdef public int cuMemGetInfo_v2(size_t *unused, size_t *total) noexcept nogil:
    """Free and total bytes of the current device."""
    cdef context *c
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if unused == NULL or total == NULL:
        return CUDA_ERROR_INVALID_VALUE
    pthread_mutex_lock(&memory_lock)
    unused[0] = c.device.bytes - c.device.memory.in_use
    total[0] = c.device.bytes
    pthread_mutex_unlock(&memory_lock)
    return CUDA_SUCCESS


cdef public int cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address) noexcept nogil:
    """The block (allocation or module's variable) that an address lies in; CUDA_ERROR_NOT_FOUND if none."""
    cdef context *c
    cdef block *n
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&memory_lock)
    n = block_at(address, NULL, NULL)
    if n == NULL:
        r = CUDA_ERROR_NOT_FOUND
    else:
        if base != NULL:
            base[0] = n.start
        if size != NULL:
            size[0] = n.length
    pthread_mutex_unlock(&memory_lock)
    return r


cdef public int cuMemHostAlloc(void **to, size_t size, unsigned flags) noexcept nogil:
    """Pinned host memory; kernels can use it at the same address.  Flags: PORTABLE 1, DEVICEMAP 2, WRITECOMBINED 4."""
    cdef context *c
    cdef uint64_t address
    cdef int r = current_context(&c)
    if r == CUDA_SUCCESS:
        r = refuse_unsafe()
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or size == 0 or flags > 7:
        return CUDA_ERROR_INVALID_VALUE
    address = alloc_in(c.device, &c.device.pinned, size, 4096, HOST_MEMORY, c, NULL, flags)
    if address == 0:
        return CUDA_ERROR_OUT_OF_MEMORY
    note_made(address)
    to[0] = <void *>address
    return CUDA_SUCCESS


cdef public int cuMemAllocHost_v2(void **to, size_t size) noexcept nogil:
    """Pinned host memory."""
    return cuMemHostAlloc(to, size, CU_MEMHOSTALLOC_DEVICEMAP)


cdef public int cuMemAllocHost(void **to, unsigned size) noexcept nogil:
    """The same, as from before CUDA 3.2; LLVM's plugins look for this name."""
    return cuMemAllocHost_v2(to, size)


cdef public int cuMemFreeHost(void *p) noexcept nogil:
    """Free pinned host memory."""
    cdef int r = enter_free(<uint64_t>p)
    if r != CUDA_SUCCESS:
        return r
    if p == NULL:
        return CUDA_ERROR_INVALID_VALUE
    return free_block_at(<uint64_t>p, HOST_MEMORY, HOST_MEMORY, settle_before_free(<uint64_t>p))


cdef public int cuMemHostGetDevicePointer_v2(CUdeviceptr *to, void *p, unsigned flags) noexcept nogil:
    """The device's address of pinned or registered host memory: the same."""
    cdef context *c
    cdef block *n
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or p == NULL or flags != 0:
        return CUDA_ERROR_INVALID_VALUE
    pthread_mutex_lock(&memory_lock)
    n = block_at(<uint64_t>p, NULL, NULL)
    if (n != NULL and n.use == HOST_MEMORY) or registered_at(<uint64_t>p) != NULL:
        to[0] = <CUdeviceptr>p
    else:
        r = CUDA_ERROR_INVALID_VALUE
    pthread_mutex_unlock(&memory_lock)
    return r


cdef public int cuMemHostGetFlags(unsigned *to, void *p) noexcept nogil:
    """The flags of cuMemHostAlloc."""
    cdef context *c
    cdef block *n
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&memory_lock)
    n = block_at(<uint64_t>p, NULL, NULL)
    if to == NULL or n == NULL or n.use != HOST_MEMORY:
        r = CUDA_ERROR_INVALID_VALUE
    else:
        to[0] = n.flags
    pthread_mutex_unlock(&memory_lock)
    return r


cdef bint is_mapped(size_t address, size_t size) noexcept nogil:
    """Whether the program has memory at all of these addresses."""
    cdef size_t start = address & ~<size_t>4095, end = 0
    # The call has no effect but its answer: ENOMEM where a page is not there.
    return fits_sum(address, size, &end) and msync(<void *>start, end - start, MS_ASYNC) == 0


cdef public int cuMemHostRegister_v2(void *p, size_t size, unsigned flags) noexcept nogil:
    """Pin the program's memory: copies from and to it become asynchronous, and kernels can use it."""
    global registered
    cdef context *c
    cdef host_range *h
    cdef host_range *other
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if p == NULL or size == 0 or flags > 15 or not is_mapped(<size_t>p, size):
        return CUDA_ERROR_INVALID_VALUE
    h = <host_range *>malloc(sizeof(host_range))
    if h == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    h.start, h.size, h.flags, h.owner, h.managed = <uint64_t>p, size, flags, c, False
    pthread_mutex_lock(&memory_lock)
    other = registered
    while other != NULL and (other.start >= h.start + h.size or h.start >= other.start + other.size):
        other = other.next
    if other == NULL and not touches_a_gpu(h.start, h.size) and not show_to_kernels(h):
        r = CUDA_ERROR_OUT_OF_MEMORY
    elif other == NULL and not touches_a_gpu(h.start, h.size):
        h.next = registered
        registered = h
        h = NULL
    elif other == NULL and gpu_of(h.start) == NULL:
        r = CUDA_ERROR_INVALID_VALUE  # begins in the program's memory, runs on into a device's
    else:
        r = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
    pthread_mutex_unlock(&memory_lock)
    free(h)
    return r


cdef public int cuMemHostRegister(void *p, size_t size, unsigned flags) noexcept nogil:
    """The name of CUDA 4.0."""
    return cuMemHostRegister_v2(p, size, flags)


cdef public int cuMemHostUnregister(void *p) noexcept nogil:
    """Undo cuMemHostRegister, given the same address."""
    global registered
    cdef context *c
    cdef host_range **link
    cdef host_range *h
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS and r != CUDA_ERROR_INVALID_CONTEXT:
        return r
    if p == NULL:
        return CUDA_ERROR_INVALID_VALUE
    if c != NULL and is_mapped(<size_t>p, 1):  # what went with a library that was closed is nobody's
        wait_for_context(c)
    pthread_mutex_lock(&memory_lock)
    link = &registered
    while link[0] != NULL and link[0].start != <uint64_t>p:
        link = &link[0].next
    h = link[0]
    if h != NULL:
        link[0] = h.next
        hide_from_kernels(h)
        drop_advice(h.start, h.start + h.size)
    pthread_mutex_unlock(&memory_lock)
    if h == NULL:
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED
    free(h)
    return CUDA_SUCCESS


cdef int registered_attribute(void *to, int which, host_range *h, CUdeviceptr address) noexcept nogil:
    """What an address of registered memory is.  With memory_lock held."""
    if which == CU_POINTER_ATTRIBUTE_CONTEXT:
        (<void **>to)[0] = h.owner
    elif which == CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        (<unsigned *>to)[0] = CU_MEMORYTYPE_HOST
    elif which in (CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER):
        (<CUdeviceptr *>to)[0] = address
    elif which == CU_POINTER_ATTRIBUTE_IS_MANAGED:
        (<uint8_t *>to)[0] = 0
    elif which == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        (<int *>to)[0] = device_number((<context *>h.owner).device) if is_handle(CONTEXT, h.owner) else 0
    elif which in (CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_BUFFER_ID):
        (<CUdeviceptr *>to)[0] = h.start
    elif which == CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        (<size_t *>to)[0] = h.size
    elif which == CU_POINTER_ATTRIBUTE_MAPPED:
        (<uint8_t *>to)[0] = 1
    else:
        return CUDA_ERROR_NOT_SUPPORTED
    return CUDA_SUCCESS


cdef public int cuPointerGetAttribute(void *to, int which, CUdeviceptr address) noexcept nogil:
    """What an address is; CUDA_ERROR_INVALID_VALUE for the host's own."""
    cdef block *n
    cdef gpu *g = NULL
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    pthread_mutex_lock(&memory_lock)
    n = block_at(address, &g, NULL)
    if n == NULL and registered_at(address) != NULL:
        r = registered_attribute(to, which, registered_at(address), address)
    elif part_at(address) != NULL:
        r = virtual_attribute(to, which, part_at(address), gpu_of(address), address)
    elif n == NULL:
        r = CUDA_ERROR_INVALID_VALUE
    elif which == CU_POINTER_ATTRIBUTE_CONTEXT:
        (<void **>to)[0] = n.owner
    elif which == CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        (<unsigned *>to)[0] = CU_MEMORYTYPE_HOST if n.use == HOST_MEMORY else CU_MEMORYTYPE_DEVICE
    elif which == CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        (<CUdeviceptr *>to)[0] = address
    elif which == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        (<uint8_t *>to)[0] = n.orders_copies
    elif which == CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if n.use != HOST_MEMORY and n.use != MANAGED:
            r = CUDA_ERROR_INVALID_VALUE
        else:
            (<CUdeviceptr *>to)[0] = address
    elif which == CU_POINTER_ATTRIBUTE_BUFFER_ID:
        (<uint64_t *>to)[0] = n.address
    elif which == CU_POINTER_ATTRIBUTE_IS_MANAGED:
        (<uint8_t *>to)[0] = n.use == MANAGED
    elif which == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        (<int *>to)[0] = device_number(g)
    elif which == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        (<CUdeviceptr *>to)[0] = n.start
    elif which == CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        (<size_t *>to)[0] = n.length
    elif which == CU_POINTER_ATTRIBUTE_MAPPED:
        (<uint8_t *>to)[0] = 1
    else:
        r = CUDA_ERROR_NOT_SUPPORTED
    pthread_mutex_unlock(&memory_lock)
    return r
