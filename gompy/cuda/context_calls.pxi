# The driver itself, and cuCtx*.


cdef public int cuDriverGetVersion(int *version) noexcept nogil:
    """The API's version that this driver follows, or GOMPY_CUDA_VERSION."""
    if version == NULL:
        return CUDA_ERROR_INVALID_VALUE
    version[0] = told_version()
    if version[0] == 0:
        version[0] = DRIVER_VERSION
    return CUDA_SUCCESS


cdef public int cuGetErrorString(int code, const char **text) noexcept nogil:
    """An error in words."""
    if text == NULL:
        return CUDA_ERROR_INVALID_VALUE
    text[0] = cuda_error_text(code)
    return CUDA_SUCCESS if text[0] != NULL else CUDA_ERROR_INVALID_VALUE


cdef public int cuGetErrorName(int code, const char **text) noexcept nogil:
    """An error's name."""
    if text == NULL:
        return CUDA_ERROR_INVALID_VALUE
    text[0] = cuda_error_name(code)
    return CUDA_SUCCESS if text[0] != NULL else CUDA_ERROR_INVALID_VALUE


cdef public int cuCtxCreate_v2(void **to, unsigned flags, int number) noexcept nogil:
    """Create a context and push it."""
    cdef context *c = NULL
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    if visible_device(number) == NULL:
        return CUDA_ERROR_INVALID_DEVICE
    r = create_context(visible_device(number), flags, False, &c)
    if r != CUDA_SUCCESS:
        return r
    if not push_context(c):
        end_context(c)
        return CUDA_ERROR_OUT_OF_MEMORY
    to[0] = c
    return CUDA_SUCCESS


cdef public int cuCtxCreate(void **to, unsigned flags, int number) noexcept nogil:
    """The name before CUDA 3.2."""
    return cuCtxCreate_v2(to, flags, number)


cdef public int cuCtxCreate_v3(void **to, void *affinity, int count, unsigned flags, int number) noexcept nogil:
    """With execution affinity, which isn't supported."""
    if count != 0:
        return CUDA_ERROR_NOT_SUPPORTED
    return cuCtxCreate_v2(to, flags, number)


cdef public int cuCtxCreate_v4(void **to, const void **params, unsigned flags, int number) noexcept nogil:
    """CUDA 12.5's, cuCtxCreate of CUDA 13: with execution affinity (array and count) or sharing with graphics (a
    pointer), which aren't supported."""
    if params != NULL and (params[0] != NULL or (<const int *>params)[2] != 0 or params[2] != NULL):
        return CUDA_ERROR_NOT_SUPPORTED
    return cuCtxCreate_v2(to, flags, number)


cdef public int cuCtxDestroy_v2(void *p) noexcept nogil:
    """Destroy a context; if it is the thread's current one, pop it."""
    cdef context *c = <context *>p
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if p == NULL:
        return CUDA_ERROR_INVALID_VALUE
    if not is_handle(CONTEXT, p) or c.primary:
        return CUDA_ERROR_INVALID_CONTEXT
    if cuda_thread.depth and cuda_thread.stack[cuda_thread.depth - 1].of == p:
        cuda_thread.depth -= 1
    return CUDA_SUCCESS if end_context(c) else CUDA_ERROR_INVALID_CONTEXT


cdef public int cuCtxDestroy(void *p) noexcept nogil:
    """The name before CUDA 4.0."""
    return cuCtxDestroy_v2(p)


cdef public int cuCtxAttach(void **to, unsigned flags) noexcept nogil:
    """Count one more user of the current context."""
    cdef context *c
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or flags != 0:
        return CUDA_ERROR_INVALID_VALUE
    c.attached += 1
    to[0] = c
    return CUDA_SUCCESS


cdef public int cuCtxDetach(void *p) noexcept nogil:
    """One user less; the last one destroys the context."""
    cdef context *c
    cdef int r = top_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if p != c:
        return CUDA_ERROR_INVALID_CONTEXT
    if c.attached > 1:
        c.attached -= 1
        return CUDA_SUCCESS
    return cuCtxDestroy_v2(p)


cdef public int cuCtxPushCurrent_v2(void *p) noexcept nogil:
    """Make a context current on top of the thread's stack."""
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(CONTEXT, p):
        return CUDA_ERROR_INVALID_CONTEXT
    return CUDA_SUCCESS if push_context(<context *>p) else CUDA_ERROR_OUT_OF_MEMORY


cdef public int cuCtxPushCurrent(void *p) noexcept nogil:
    """The name before CUDA 4.0."""
    return cuCtxPushCurrent_v2(p)


cdef public int cuCtxPopCurrent_v2(void **to) noexcept nogil:
    """Take the current context off the thread's stack."""
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if cuda_thread.depth == 0:
        return CUDA_ERROR_INVALID_CONTEXT
    cuda_thread.depth -= 1
    if to != NULL:
        to[0] = cuda_thread.stack[cuda_thread.depth].of
    return CUDA_SUCCESS


cdef public int cuCtxPopCurrent(void **to) noexcept nogil:
    """The name before CUDA 4.0."""
    return cuCtxPopCurrent_v2(to)


cdef public int cuCtxSetCurrent(void *p) noexcept nogil:
    """Replace the top of the thread's stack; NULL takes it away."""
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if p == NULL:
        if cuda_thread.depth:
            cuda_thread.depth -= 1
        return CUDA_SUCCESS
    if not is_handle(CONTEXT, p):
        return CUDA_ERROR_INVALID_CONTEXT
    if cuda_thread.depth:
        cuda_thread.depth -= 1
    push_context(<context *>p)
    return CUDA_SUCCESS


cdef public int cuCtxGetCurrent(void **to) noexcept nogil:
    """The current context; NULL is an answer, too."""
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = cuda_thread.stack[cuda_thread.depth - 1].of if cuda_thread.depth else NULL
    return CUDA_SUCCESS


cdef public int cuCtxGetDevice(int *to) noexcept nogil:
    """The current context's device."""
    cdef context *c
    cdef int r = top_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = device_number(c.device)
    return CUDA_SUCCESS


cdef public int cuCtxGetDevice_v2(int *to, void *p) noexcept nogil:
    """CUDA 13's: any context's device.  Before, there is but the other: clients that take the name with the highest
    number (numba 0.61) call it without a context."""
    cdef int r
    if p == NULL or driver_version < 13000:
        return cuCtxGetDevice(to)
    r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(CONTEXT, p):
        return CUDA_ERROR_INVALID_CONTEXT
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = device_number((<context *>p).device)
    return CUDA_SUCCESS


cdef public int cuCtxGetFlags(unsigned *to) noexcept nogil:
    """The current context's flags."""
    cdef context *c
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = c.flags
    return CUDA_SUCCESS


cdef public int cuCtxGetId(void *p, unsigned long long *to) noexcept nogil:
    """A number that no other context of this process has had."""
    cdef context *c = <context *>p
    cdef int r
    if p == NULL:
        r = current_context(&c)
    else:
        r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    if not is_handle(CONTEXT, c):
        return CUDA_ERROR_CONTEXT_IS_DESTROYED
    to[0] = c.head.serial
    return CUDA_SUCCESS


cdef public int cuCtxGetApiVersion(void *p, unsigned *to) noexcept nogil:
    """3020: what contexts made by cuCtxCreate_v2 have."""
    cdef context *c
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if p == NULL:
        r = current_context(&c)
        if r != CUDA_SUCCESS:
            return r
    elif not is_handle(CONTEXT, p):
        return CUDA_ERROR_INVALID_CONTEXT
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = 3020
    return CUDA_SUCCESS


cdef public int cuCtxGetCacheConfig(int *to) noexcept nogil:
    """CU_FUNC_CACHE_PREFER_*: kept, without effect."""
    cdef context *c
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = c.cache_config
    return CUDA_SUCCESS


cdef public int cuCtxSetCacheConfig(int value) noexcept nogil:
    """CU_FUNC_CACHE_PREFER_*: kept, without effect."""
    cdef context *c
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if not 0 <= value <= 3:
        return CUDA_ERROR_INVALID_VALUE
    c.cache_config = value
    return CUDA_SUCCESS


cdef public int cuCtxGetSharedMemConfig(int *to) noexcept nogil:
    """Bank size of shared memory: kept, without effect."""
    cdef context *c
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = c.shared_config
    return CUDA_SUCCESS


cdef public int cuCtxSetSharedMemConfig(int value) noexcept nogil:
    """Bank size of shared memory: kept, without effect."""
    cdef context *c
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if not 0 <= value <= 2:
        return CUDA_ERROR_INVALID_VALUE
    c.shared_config = value if value else 1
    return CUDA_SUCCESS


cdef public int cuCtxResetPersistingL2Cache() noexcept nogil:
    """An emulated device has no such cache."""
    cdef context *c
    return current_context(&c)


cdef public int cuCtxSetLimit(int limit, size_t value) noexcept nogil:
    """CU_LIMIT_MALLOC_HEAP_SIZE counts; stack and printf sizes are kept, without effect."""
    cdef context *c
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if limit == CU_LIMIT_STACK_SIZE:
        c.stack_limit = value
    elif limit == CU_LIMIT_PRINTF_FIFO_SIZE:
        c.printf_limit = value
    elif limit == CU_LIMIT_MALLOC_HEAP_SIZE:
        if c.device.heap_begun and value != c.device.heap.limit:
            return CUDA_ERROR_INVALID_VALUE  # "must be performed before launching any kernel that uses the heap"
        if value > <size_t>1 << HEAP_SPACE_SHIFT:
            return CUDA_ERROR_OUT_OF_MEMORY
        pthread_mutex_lock(&memory_lock)
        c.device.heap.limit = round_up(value, 32)
        pthread_mutex_unlock(&memory_lock)
    else:
        return CUDA_ERROR_UNSUPPORTED_LIMIT if limit < CU_LIMIT_CIG_ENABLED else CUDA_ERROR_INVALID_VALUE
    return CUDA_SUCCESS


cdef public int cuCtxGetLimit(size_t *to, int limit) noexcept nogil:
    """What cuCtxSetLimit set."""
    cdef context *c
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    if limit == CU_LIMIT_STACK_SIZE:
        to[0] = c.stack_limit
    elif limit == CU_LIMIT_PRINTF_FIFO_SIZE:
        to[0] = c.printf_limit
    elif limit == CU_LIMIT_MALLOC_HEAP_SIZE:
        to[0] = c.device.heap.limit
    else:
        return CUDA_ERROR_UNSUPPORTED_LIMIT if limit < CU_LIMIT_CIG_ENABLED else CUDA_ERROR_INVALID_VALUE
    return CUDA_SUCCESS


cdef public int cuCtxGetStreamPriorityRange(int *least, int *greatest) noexcept nogil:
    """0 to -5, as on current GPUs; priorities are kept, without effect."""
    cdef context *c
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if least != NULL:
        least[0] = 0
    if greatest != NULL:
        greatest[0] = -5
    return CUDA_SUCCESS


cdef public int cuCtxSetFlags(unsigned flags) noexcept nogil:
    """Other flags for the current context."""
    cdef context *c
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if not are_context_flags(flags):
        return CUDA_ERROR_INVALID_VALUE
    c.flags = flags
    return CUDA_SUCCESS


cdef public int cuCtxSynchronize() noexcept nogil:
    """Wait for all work of the current context, or of that in which a thread without one has launched a kernel."""
    cdef context *c
    cdef int r = current_context(&c)
    if r == CUDA_ERROR_INVALID_CONTEXT and is_handle(CONTEXT, cuda_thread.launched_in):
        c = <context *>cuda_thread.launched_in
        if c.head.serial == cuda_thread.launched_serial:
            r = c.failure
    if r == CUDA_SUCCESS:
        r = refuse_wait(c)
    if r != CUDA_SUCCESS:
        return r
    wait_for_context(c)
    return c.failure


cdef public int cuCtxSynchronize_v2(void *p) noexcept nogil:
    """CUDA 13's: wait for all work of any context.  Before: as cuCtxGetDevice_v2."""
    cdef int r
    if p == NULL or driver_version < 13000:
        return cuCtxSynchronize()
    r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(CONTEXT, p):
        return CUDA_ERROR_INVALID_CONTEXT
    r = refuse_wait(<context *>p)
    if r != CUDA_SUCCESS:
        return r
    if (<context *>p).failure == CUDA_SUCCESS:
        wait_for_context(<context *>p)
    return (<context *>p).failure
