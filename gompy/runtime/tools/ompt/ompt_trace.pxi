# OMPT's traces of a device: records of what it did, in buffers that the tool gives and gets back.

cdef struct OmptTrace:
    gompy_lock_t lock  # its holder may be a tool's function, which calls one of these
    ompt_buffer_request_fn request
    ompt_buffer_complete_fn complete  # NULL: no trace has been started
    uint64_t kinds  # of records, a bit each by the callback's number
    bint paused
    bint ended  # the device has been told as ended, as it will run nothing more
    char *buffer
    size_t size
    size_t used

cdef OmptTrace *ompt_traces  # one for each device
cdef int ompt_trace_slot  # -1: nobody wants records


cdef OmptTrace *ompt_trace_of(const void *handle) noexcept nogil:
    """A tool's handle of a device is the device's description."""
    return &ompt_traces[(<const DeviceDescr *> handle).number]


cdef void complete_records(OmptTrace *trace, int device, bint owned) noexcept nogil:
    """Hand the buffer to the tool; with `owned` for good.  The trace is locked."""
    cdef char *buffer = trace.buffer
    cdef size_t used = trace.used
    if buffer == NULL or (used == 0 and not owned):
        return
    trace.buffer = NULL
    trace.used = 0
    trace.complete(device, buffer, used, 0, True)


cdef ompt_record_ompt_t *new_record(int device, int type, uint64_t time, uint64_t target_id) noexcept nogil:
    """Room for a record, the trace locked; NULL, nothing locked, where it is not wanted, or there is no room."""
    cdef OmptTrace *trace = &ompt_traces[device]
    cdef ompt_record_ompt_t *record = NULL
    gompy_lock_acquire(&trace.lock)
    if trace.complete != NULL and not trace.paused and trace.kinds >> type & 1:
        if trace.buffer != NULL and trace.size - trace.used < sizeof(ompt_record_ompt_t):
            complete_records(trace, device, True)
        if trace.buffer == NULL:
            trace.size = 0
            trace.request(device, &trace.buffer, &trace.size)
            trace.used = 0
        if trace.buffer != NULL and trace.size >= sizeof(ompt_record_ompt_t):
            record = <ompt_record_ompt_t *> (trace.buffer + trace.used)
            trace.used += sizeof(ompt_record_ompt_t)
    if record == NULL:
        gompy_lock_release(&trace.lock)
        return NULL
    memset(record, 0, sizeof(ompt_record_ompt_t))
    record.type = type
    record.time = time
    record.thread_id = ompt_this_thread()
    record.target_id = target_id
    return record


cdef void end_record(int device) noexcept nogil:
    gompy_lock_release(&ompt_traces[device].lock)


cdef uint64_t traced_target(const Construct *construct) noexcept nogil:
    """The word that the tool gave a region, or libgompy's number."""
    return construct.own[ompt_slot] if ompt_callbacks[OMPT_CALLBACK_TARGET_EMI] != NULL else ompt_target_id(construct)


cdef void record_target(const HookEvent *event, uint64_t now) noexcept nogil:
    cdef const Construct *construct = event.construct
    cdef ompt_record_target_t *target
    cdef ompt_record_ompt_t *record = new_record(event.device, OMPT_CALLBACK_TARGET, now, traced_target(construct))
    if record != NULL:
        target = <ompt_record_target_t *> record.record
        target.kind = ompt_construct_kind(construct)
        target.endpoint = OMPT_SCOPE_BEGIN if event.phase == PHASE_BEGIN else OMPT_SCOPE_END
        target.device_num = event.device
        target.task_id = ompt_task_data()[0]
        target.target_id = record.target_id
        target.codeptr_ra = ompt_code(construct)
        end_record(event.device)


cdef void record_operation(HookEvent *event, uint64_t begin, uint64_t now) noexcept nogil:
    cdef ompt_record_target_data_op_t *op
    cdef ompt_record_ompt_t *record = new_record(event.device, OMPT_CALLBACK_TARGET_DATA_OP, begin,
                                                 traced_target(event.construct))
    if record != NULL:
        op = <ompt_record_target_data_op_t *> record.record
        op.host_op_id = event.own[ompt_slot]
        op.optype = ompt_operation(event, &op.src_addr, &op.src_device_num, &op.dest_addr, &op.dest_device_num)
        op.bytes = event.size
        op.end_time = now
        op.codeptr_ra = ompt_code(event.construct)
        end_record(event.device)


cdef void record_kernel(HookEvent *event, uint64_t begin, uint64_t now) noexcept nogil:
    cdef ompt_record_target_kernel_t *kernel
    cdef ompt_record_ompt_t *record = new_record(event.device, OMPT_CALLBACK_TARGET_SUBMIT, begin,
                                                 traced_target(event.construct))
    if record != NULL:
        kernel = <ompt_record_target_kernel_t *> record.record
        kernel.host_op_id = event.own[ompt_slot]
        kernel.requested_num_teams = event.teams
        kernel.granted_num_teams = event.teams  # each device has as many as it is asked for
        kernel.end_time = now
        end_record(event.device)


cdef void record_hook(HookEvent *event, int slot) noexcept nogil:
    """An event for the traces; when it began is in own[slot].  Subscribed after ompt_hook: called before it at ends."""
    cdef uint64_t now
    if event.device < 0 or not ompt_is_openmp(event.construct):
        return
    now = now_ns()
    if event.kind == HOOK_CONSTRUCT:
        if ompt_construct_kind(event.construct):
            record_target(event, now)
    elif event.phase == PHASE_BEGIN:
        event.own[slot] = now
    elif event.kind == HOOK_LAUNCH:
        record_kernel(event, event.own[slot], now)
    else:
        record_operation(event, event.own[slot], now)


# --- what a tool calls
# ---------------------------------------------------------------------------------------------------

cdef int ompt_start_trace(void *handle, ompt_buffer_request_fn request,
                          ompt_buffer_complete_fn complete) noexcept nogil:
    global ompt_trace_slot
    cdef OmptTrace *trace = ompt_trace_of(handle)
    if request == NULL or complete == NULL:
        return 0
    if ompt_trace_slot < 0:
        ompt_trace_slot = gompy_subscribe(HOOK_CONSTRUCT | HOOK_ALLOC | HOOK_FREE | HOOK_COPY | HOOK_LAUNCH,
                                          record_hook)
    if ompt_trace_slot < 0:
        return 0
    gompy_lock_acquire(&trace.lock)
    trace.request = request
    trace.complete = complete
    trace.paused = False
    gompy_lock_release(&trace.lock)
    return 1


cdef int ompt_pause_trace(void *handle, int begin_pause) noexcept nogil:
    cdef OmptTrace *trace = ompt_trace_of(handle)
    trace.paused = begin_pause != 0
    return trace.complete != NULL


cdef int ompt_flush_trace(void *handle) noexcept nogil:
    cdef OmptTrace *trace = ompt_trace_of(handle)
    cdef bint started
    gompy_lock_acquire(&trace.lock)
    started = trace.complete != NULL
    if started:
        complete_records(trace, (<DeviceDescr *> handle).number, False)
    gompy_lock_release(&trace.lock)
    return started


cdef int ompt_stop_trace(void *handle) noexcept nogil:
    cdef OmptTrace *trace = ompt_trace_of(handle)
    cdef bint started
    gompy_lock_acquire(&trace.lock)
    started = trace.complete != NULL
    if started:
        complete_records(trace, (<DeviceDescr *> handle).number, True)
        trace.complete = NULL
    gompy_lock_release(&trace.lock)
    return started


cdef int ompt_set_trace_ompt(void *handle, unsigned enable, unsigned type) noexcept nogil:
    """Which records a trace has; type 0: all."""
    cdef uint64_t able = (<uint64_t> 1 << OMPT_CALLBACK_TARGET | <uint64_t> 1 << OMPT_CALLBACK_TARGET_DATA_OP
                          | <uint64_t> 1 << OMPT_CALLBACK_TARGET_SUBMIT)
    cdef OmptTrace *trace = ompt_trace_of(handle)
    cdef uint64_t asked
    if OMPT_CALLBACK_TARGET_EMI <= type <= OMPT_CALLBACK_TARGET_SUBMIT_EMI:
        type -= OMPT_CALLBACK_TARGET_EMI - OMPT_CALLBACK_TARGET
    if type >= 64:
        return OMPT_SET_ERROR
    asked = able if type == 0 else able & <uint64_t> 1 << type
    if asked == 0:
        return OMPT_SET_NEVER
    gompy_lock_acquire(&trace.lock)
    trace.kinds = trace.kinds | asked if enable else trace.kinds & ~asked
    gompy_lock_release(&trace.lock)
    return OMPT_SET_ALWAYS


cdef int ompt_advance_buffer_cursor(void *handle, void *buffer, size_t size, uint64_t current,
                                    uint64_t *next) noexcept nogil:
    """A cursor is a record's offset; 0: there is no further one."""
    next[0] = current + sizeof(ompt_record_ompt_t)
    return next[0] + sizeof(ompt_record_ompt_t) <= size


cdef int ompt_get_record_type(void *buffer, uint64_t current) noexcept nogil:
    return OMPT_RECORD_OMPT if buffer != NULL else OMPT_RECORD_INVALID


cdef ompt_record_ompt_t *ompt_get_record_ompt(void *buffer, uint64_t current) noexcept nogil:
    return <ompt_record_ompt_t *> (<char *> buffer + current)


cdef uint64_t ompt_get_device_time(void *handle) noexcept nogil:
    return now_ns()


cdef double ompt_translate_time(void *handle, uint64_t time) noexcept nogil:
    """In seconds of omp_get_wtime."""
    return <double> time * 1e-9
