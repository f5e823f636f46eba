# Load and end of the library.


cdef void library_loaded "gompy_library_loaded"() noexcept nogil:
    forget_in_child(acc_forget_threads)
    publish_status()
    find_stock()
    read_environment()
    choose_default_device()
    read_icvs(&initial_icvs)
    display_at_start()
    cdef bint told = gompy_teller_wanted(secure_getenv(b"GOMPY_TRACE"))
    begin_checks()
    begin_trace()
    begin_time_trace()
    if told and gompy_checking and trace_file.end:
        gompy_teller_begin(secure_getenv(b"GOMPY_TRACE"), trace_path(), log_path())
    begin_recording()
    leave_out_again()
    # libomp, asked for the ICVs, has counted the devices of a program of clang's by now.
    if gompy_load(&targets_ready):
        begin_tool()
    else:
        when_devices_are_known(begin_tool)
    after_devices_end(end_tool)


cdef void begin_checks() noexcept nogil:
    """Open the log that `gompy run --check` or GOMPY_TRACE asks for."""
    cdef const char *path = log_path()
    if path != NULL:
        gompy_begin_checks(path)
        want_entries()
        gompy_log_maps()
        if gompy_checking and checks_wanted():
            follow_sides()


cdef void leave_out_again() noexcept nogil:
    """Nobody but the check reads the log: what constructs say again and again is left out."""
    global gompy_again_wanted
    gompy_again_wanted = gompy_checking and checks_wanted() and not trace_file.end and \
        secure_getenv(b"GOMPY_RECORD_FILE") == NULL and secure_getenv(b"GOMPY_STATS") == NULL


cdef void library_ends "gompy_library_ends"() noexcept nogil:
    cdef const char *where
    gompy_end_watch()
    gompy_end_checks()
    end_trace()
    end_time_trace()
    gompy_teller_end()
    end_recording()
    where = secure_getenv(b"GOMPY_STATS")
    if where != NULL and where[0] and strcmp(where, b"0") != 0:
        write_stats(where)
    if gompy_ends_by_abort:
        fflush(NULL)
        abort()
