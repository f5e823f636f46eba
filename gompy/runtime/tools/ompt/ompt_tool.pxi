# The tool that is active: its subscription to the runtime's events, and its end.

cdef ompt_start_tool_result_t *ompt_tool  # NULL: none was started, or it has ended

cdef enum:
    OMPT_KINDS = (HOOK_CONSTRUCT | HOOK_MAP | HOOK_ALLOC | HOOK_FREE | HOOK_COPY | HOOK_LAUNCH | HOOK_IMAGE
                  | HOOK_DEVICE)


cdef void ompt_subscribe() noexcept nogil:
    global ompt_slot, ompt_trace_slot, ompt_traces
    cdef int i
    ompt_trace_slot = -1
    ompt_traces = <OmptTrace *> calloc(<size_t> num_devices + 1, sizeof(OmptTrace))
    if ompt_traces == NULL:
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> (num_devices * sizeof(OmptTrace)))
    for i in range(num_devices):
        gompy_lock_init(&ompt_traces[i].lock)
    ompt_slot = gompy_subscribe(OMPT_KINDS, ompt_hook)


cdef void ompt_unsubscribe() noexcept nogil:
    gompy_unsubscribe(ompt_slot)
    if ompt_trace_slot >= 0:
        gompy_unsubscribe(ompt_trace_slot)


cdef void end_tool() noexcept nogil:
    """The devices have ended, or the tool wants it."""
    global ompt_tool
    cdef ompt_start_tool_result_t *tool = ompt_tool
    if tool != NULL:
        ompt_tool = NULL
        ompt_unsubscribe()
        if tool.finalize != NULL:
            (<ompt_finalize_fn> tool.finalize)(&tool.tool_data)
