# What streams do, and streams as queues of it.  All of this is guarded by work_lock.

cdef enum:
    COPY_OP
    FILL_OP
    LAUNCH_OP
    RECORD_OP
    WAIT_OP
    CALLBACK_OP      # cuStreamAddCallback: gets the stream and the context's error
    HOST_OP          # cuLaunchHostFunc: gets its data only, and is left out after an error
    FREE_OP          # cuMemFreeAsync
    SHARED_OP        # a wait for an event of several processes
    MEMORY_OP        # memory of a graph is allocated or freed (address, number: bytes, data: its shadow)
    VALUE_OP         # a word of memory is awaited or written (address, number; fill.unit, fill.count: kind, flags)
    FOLLOW_OP        # what a function of the driver does, also after an error: it knows that itself

cdef struct op:
    op *next
    uint64_t ticket
    int kind
    bint on_heap
    size_t room                # bytes behind it
    block *pins[2]             # memory that it uses
    copy_shape copy
    fill_shape fill
    function *kernel
    ptx_launch_config config
    event *of_event
    uint64_t number            # of the record
    stream *awaited
    uint64_t awaited_serial, awaited_ticket
    stream_callback call
    host_function host_call
    void (*follow)(stream *s, op *o) noexcept nogil
    bint in_order              # what it follows uses device memory: it has an order, too
    void *data
    uint64_t address
    uint64_t launched[2]       # while kernels are recorded: where the program has launched it, or BY_RUNTIME
    ptx_order *order           # with GOMPY_CHECK=race: what comes before it (stream_order.pxi), or NULL

cdef struct stream:
    handle_head head
    context *of
    stream *next               # of the context
    stream *next_all
    uint32_t flags
    int priority
    op *first
    op *last
    bint running               # somebody does the first operation
    bint worker                # it has a thread
    bint ending                # destroyed: goes when it has nothing left
    bint polling               # its thread looks for work by itself soon: no need to wake it
    bint asleep                # its thread, and nobody wakes it
    uint64_t appended          # operations so far
    uint32_t helped            # operations in a row that waiting threads did
    capture *captured          # what it takes part in
    node_list tips             # its last nodes there
    op *spare                  # a launch that is over, for the next one
    uint64_t attributes[2][8]  # CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, SYNCHRONIZATION_POLICY: kept
    uint64_t *known            # with GOMPY_CHECK=race: what comes before its next operation (stream_order.pxi)
    uint32_t place, number     # 1 + its place there, or 0; of its making
    pthread_cond_t wake

cdef stream *all_streams
cdef uint64_t last_ticket


cdef op *new_op(int kind, size_t extra) noexcept nogil:
    """An operation that lives until it is done, with room behind it."""
    cdef op *o = <op *>malloc(sizeof(op) + extra)
    if o != NULL:
        memset(o, 0, sizeof(op))
        o.kind = kind
        o.on_heap = True
        o.room = extra
    return o


cdef op *new_launch(stream *s, size_t extra) noexcept nogil:
    """A launch's operation, as new_op; what only other kinds have is not set.  With work_lock held."""
    cdef op *o = s.spare
    if o == NULL or o.room < extra:
        return new_op(LAUNCH_OP, extra)
    s.spare = NULL
    memset(&o.config, 0, sizeof(o.config))
    return o


cdef void let_go_blocks(op *o) noexcept nogil:
    """An operation is over: others may free its device memory."""
    unpin_block(o.pins[0])
    unpin_block(o.pins[1])


cdef void forget_order(op *o) noexcept nogil:
    """What comes before an operation is of no use any more.  With work_lock held where it has been queued."""
    if o.order != NULL:
        free(o.order)
        o.order = NULL


cdef void let_go(op *o) noexcept nogil:
    """An operation is over, or will never be: it lets go of its memory."""
    let_go_blocks(o)
    forget_order(o)
