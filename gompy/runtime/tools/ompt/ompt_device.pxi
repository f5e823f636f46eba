# What a tool can ask of a device by name.

cdef ompt_any_fn ompt_device_lookup(const char *name) noexcept nogil:
    if strcmp(name, b"ompt_start_trace") == 0:
        return <ompt_any_fn> ompt_start_trace
    if strcmp(name, b"ompt_pause_trace") == 0:
        return <ompt_any_fn> ompt_pause_trace
    if strcmp(name, b"ompt_flush_trace") == 0:
        return <ompt_any_fn> ompt_flush_trace
    if strcmp(name, b"ompt_stop_trace") == 0:
        return <ompt_any_fn> ompt_stop_trace
    if strcmp(name, b"ompt_set_trace_ompt") == 0:
        return <ompt_any_fn> ompt_set_trace_ompt
    if strcmp(name, b"ompt_advance_buffer_cursor") == 0:
        return <ompt_any_fn> ompt_advance_buffer_cursor
    if strcmp(name, b"ompt_get_record_type") == 0:
        return <ompt_any_fn> ompt_get_record_type
    if strcmp(name, b"ompt_get_record_ompt") == 0:
        return <ompt_any_fn> ompt_get_record_ompt
    if strcmp(name, b"ompt_get_device_time") == 0:
        return <ompt_any_fn> ompt_get_device_time
    return <ompt_any_fn> ompt_translate_time if strcmp(name, b"ompt_translate_time") == 0 else NULL
