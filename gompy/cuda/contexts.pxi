# Contexts, and each thread's stack of them.

cdef enum:
    CONTEXT_STACK = 64

cdef struct stream             # streams.pxi
cdef struct module

cdef struct context:
    handle_head head
    gpu *device
    uint32_t flags
    bint primary
    unsigned attached          # cuCtxAttach
    int failure                # the sticky error; 0 = none
    int cache_config, shared_config
    size_t stack_limit, printf_limit
    stream *streams            # all, the default stream first; guarded by work_lock
    stream *default_stream
    module *modules            # guarded by driver_lock

cdef extern from *:
    """
    typedef struct { void *of; uint64_t serial; } cuda_stack_entry;
    static __thread struct { int depth; int in_callback; cuda_stack_entry stack[64]; void *own_stream; uint64_t own_serial;
                             void *own_context; void *launched_in; uint64_t launched_serial; } cuda_thread;
    """
    ctypedef struct stack_entry "cuda_stack_entry":
        void *of
        uint64_t serial
    struct this_thread:
        int depth
        int in_callback
        stack_entry *stack
        void *own_stream
        uint64_t own_serial
        void *own_context
        void *launched_in          # where a thread without a current context launched last
        uint64_t launched_serial
    this_thread cuda_thread


cdef inline int api_state() noexcept nogil:
    """Whether this thread may call the API now."""
    if forked or not initialised:
        return CUDA_ERROR_NOT_INITIALIZED
    if cuda_thread.in_callback:
        return CUDA_ERROR_NOT_PERMITTED
    return init_answer


cdef inline int top_context(context **to) noexcept nogil:
    """The current context: also one whose work has failed."""
    cdef stack_entry *entry
    cdef int r = api_state()
    to[0] = NULL
    if r != CUDA_SUCCESS:
        return r
    if cuda_thread.depth == 0:
        return CUDA_ERROR_INVALID_CONTEXT
    entry = &cuda_thread.stack[cuda_thread.depth - 1]
    if not is_handle(CONTEXT, entry.of) or (<context *>entry.of).head.serial != entry.serial:
        return CUDA_ERROR_CONTEXT_IS_DESTROYED
    to[0] = <context *>entry.of
    return CUDA_SUCCESS


cdef inline int current(context **to) noexcept nogil:
    """The current context, if it is in order: an error of its work (illegal address, trap) stays for good."""
    cdef int r = top_context(to)
    return r if r != CUDA_SUCCESS else to[0].failure


cdef bint push_context(context *c) noexcept nogil:
    """Make a context current on top of what there is."""
    if cuda_thread.depth == CONTEXT_STACK:
        return False
    cuda_thread.stack[cuda_thread.depth].of = c
    cuda_thread.stack[cuda_thread.depth].serial = c.head.serial
    cuda_thread.depth += 1
    return True


cdef int create_context(gpu *g, unsigned flags, bint primary, context **to) noexcept nogil:
    """A context with its default stream."""
    cdef context *c
    if flags & ~<unsigned>0x3f or flags & 7 not in (0, 1, 2, 4):
        return CUDA_ERROR_INVALID_VALUE
    c = <context *>new_handle(CONTEXT)
    if c == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    c.device = g
    c.flags = flags
    c.primary = primary
    c.attached = 1
    c.stack_limit = 1024
    c.printf_limit = 1 << 20
    c.cache_config = 0
    c.shared_config = 1
    g.heap_begun = False
    c.default_stream = create_stream(c, 0, 0)
    if c.default_stream == NULL:
        free_handle(CONTEXT, c)
        return CUDA_ERROR_OUT_OF_MEMORY
    to[0] = c
    return CUDA_SUCCESS


cdef bint end_context(context *c) noexcept nogil:
    """Wait for a context's work, then free all that it has.  False if another thread does that."""
    if not bury_handle(CONTEXT, c):
        return False
    end_streams(c)
    unload_all(c)
    free_owned(c.device, c)
    free_handle(CONTEXT, c)
    return True


cdef public int cuInit(unsigned flags) noexcept nogil:
    """Read the environment and reserve the devices' memory."""
    if flags != 0:
        return CUDA_ERROR_INVALID_VALUE
    if forked:
        return CUDA_ERROR_NOT_INITIALIZED
    if cuda_thread.in_callback:
        return CUDA_ERROR_NOT_PERMITTED
    return initialise()


cdef public int cuDriverGetVersion(int *version) noexcept nogil:
    """The API's version that this driver follows."""
    if version == NULL:
        return CUDA_ERROR_INVALID_VALUE
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
    if device(number) == NULL:
        return CUDA_ERROR_INVALID_DEVICE
    r = create_context(device(number), flags, False, &c)
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
    """CUDA 12.5's, cuCtxCreate of CUDA 13: with execution affinity (array and count) or sharing with graphics (a pointer),
    which aren't supported."""
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
    cdef int r = current(&c)
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
    """CUDA 13's: any context's device."""
    cdef int r
    if p == NULL:
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
    cdef int r = current(&c)
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
        r = current(&c)
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
        r = current(&c)
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
    cdef int r = current(&c)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = c.cache_config
    return CUDA_SUCCESS


cdef public int cuCtxSetCacheConfig(int value) noexcept nogil:
    """CU_FUNC_CACHE_PREFER_*: kept, without effect."""
    cdef context *c
    cdef int r = current(&c)
    if r != CUDA_SUCCESS:
        return r
    if not 0 <= value <= 3:
        return CUDA_ERROR_INVALID_VALUE
    c.cache_config = value
    return CUDA_SUCCESS


cdef public int cuCtxGetSharedMemConfig(int *to) noexcept nogil:
    """Bank size of shared memory: kept, without effect."""
    cdef context *c
    cdef int r = current(&c)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = c.shared_config
    return CUDA_SUCCESS


cdef public int cuCtxSetSharedMemConfig(int value) noexcept nogil:
    """Bank size of shared memory: kept, without effect."""
    cdef context *c
    cdef int r = current(&c)
    if r != CUDA_SUCCESS:
        return r
    if not 0 <= value <= 2:
        return CUDA_ERROR_INVALID_VALUE
    c.shared_config = value if value else 1
    return CUDA_SUCCESS


cdef public int cuCtxSetLimit(int limit, size_t value) noexcept nogil:
    """CU_LIMIT_MALLOC_HEAP_SIZE counts; stack and printf sizes are kept, without effect."""
    cdef context *c
    cdef int r = current(&c)
    if r != CUDA_SUCCESS:
        return r
    if limit == 0:
        c.stack_limit = value
    elif limit == 1:
        c.printf_limit = value
    elif limit == 2:
        if c.device.heap_begun and value != c.device.heap.limit:
            return CUDA_ERROR_INVALID_VALUE  # "must be performed before launching any kernel that uses the heap"
        if value > <size_t>1 << HEAP_SPACE_SHIFT:
            return CUDA_ERROR_OUT_OF_MEMORY
        pthread_mutex_lock(&memory_lock)
        c.device.heap.limit = round_up(value, 32)
        pthread_mutex_unlock(&memory_lock)
    else:
        return CUDA_ERROR_UNSUPPORTED_LIMIT if limit < 8 else CUDA_ERROR_INVALID_VALUE
    return CUDA_SUCCESS


cdef public int cuCtxGetLimit(size_t *to, int limit) noexcept nogil:
    """What cuCtxSetLimit set."""
    cdef context *c
    cdef int r = current(&c)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    if limit == 0:
        to[0] = c.stack_limit
    elif limit == 1:
        to[0] = c.printf_limit
    elif limit == 2:
        to[0] = c.device.heap.limit
    else:
        return CUDA_ERROR_UNSUPPORTED_LIMIT if limit < 8 else CUDA_ERROR_INVALID_VALUE
    return CUDA_SUCCESS


cdef public int cuCtxGetStreamPriorityRange(int *least, int *greatest) noexcept nogil:
    """0 to -5, as on current GPUs; priorities are kept, without effect."""
    cdef context *c
    cdef int r = current(&c)
    if r != CUDA_SUCCESS:
        return r
    if least != NULL:
        least[0] = 0
    if greatest != NULL:
        greatest[0] = -5
    return CUDA_SUCCESS


cdef public int cuCtxSynchronize() noexcept nogil:
    """Wait for all work of the current context, or of that in which a thread without one has launched a kernel."""
    cdef context *c
    cdef int r = current(&c)
    if r == CUDA_ERROR_INVALID_CONTEXT and is_handle(CONTEXT, cuda_thread.launched_in):
        c = <context *>cuda_thread.launched_in
        if c.head.serial == cuda_thread.launched_serial:
            r = c.failure
    if r != CUDA_SUCCESS:
        return r
    wait_for_context(c)
    return c.failure


cdef public int cuCtxSynchronize_v2(void *p) noexcept nogil:
    """CUDA 13's: wait for all work of any context."""
    cdef int r
    if p == NULL:
        return cuCtxSynchronize()
    r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(CONTEXT, p):
        return CUDA_ERROR_INVALID_CONTEXT
    if (<context *>p).failure == CUDA_SUCCESS:
        wait_for_context(<context *>p)
    return (<context *>p).failure


cdef public int cuCtxEnablePeerAccess(void *p, unsigned flags) noexcept nogil:
    """Kernels of the current context get at another device's memory: not with this executor."""
    cdef context *c
    cdef int r = current(&c)
    if r != CUDA_SUCCESS:
        return r
    if flags != 0:
        return CUDA_ERROR_INVALID_VALUE
    if not is_handle(CONTEXT, p):
        return CUDA_ERROR_INVALID_CONTEXT
    return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED


cdef public int cuCtxDisablePeerAccess(void *p) noexcept nogil:
    """It is never enabled."""
    cdef context *c
    cdef int r = current(&c)
    if r != CUDA_SUCCESS:
        return r
    return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED if is_handle(CONTEXT, p) else CUDA_ERROR_INVALID_CONTEXT
