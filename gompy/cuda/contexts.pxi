# Contexts, and each thread's stack of them.

cdef enum:
    CONTEXT_STACK = 64
    MAX_PEERS = 16

cdef struct stream             # streams.pxi
cdef struct capture            # captures.pxi
cdef struct graph              # graphs.pxi
cdef struct node
cdef struct module
cdef struct array              # arrays.pxi
cdef struct mipmap             # mipmaps.pxi

cdef struct peer:              # a context whose device's memory kernels may use
    void *of
    uint64_t serial

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
    array *arrays              # guarded by work_lock, as the next
    mipmap *mipmaps
    peer peers[MAX_PEERS]      # guarded by memory_lock
    int peer_count

cdef extern from *:
    """
    typedef struct { void *of; uint64_t serial; } cuda_stack_entry;
    static __thread struct { int depth; int in_callback; cuda_stack_entry stack[64]; void *own_stream;
    uint64_t own_serial;
                             void *own_context; void *launched_in; uint64_t launched_serial;
                             uint64_t callers[2]; uint32_t asker; } cuda_thread;
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
        uint64_t *callers          # where it asks for operations (stream_order.pxi)
        uint32_t asker             # its number in the log of gompy run --check, 0: none
    this_thread cuda_thread

cdef extern from *:
    """
    extern __thread int own_stream_calls;
    """
    int own_stream_calls            # calls.h: in a call of the _ptds or _ptsz form


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


cdef inline int current_context(context **to) noexcept nogil:
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


cdef context *context_of_memory(uint64_t address) noexcept nogil:
    """The context that allocated device memory, or NULL."""
    cdef block *n
    cdef void *owner = NULL
    pthread_mutex_lock(&memory_lock)
    n = block_at(address, NULL, NULL)
    if n != NULL:
        owner = n.owner
    pthread_mutex_unlock(&memory_lock)
    return <context *>owner if is_handle(CONTEXT, owner) else NULL
