# Failures and what the program is told.  Mapping functions return -1 and leave a text in the thread's gompy_failure; the
# entry point that called them releases its locks, then ends the program with it.


cdef inline const char *or_text(const char *text, const char *otherwise) noexcept nogil:
    return otherwise if text == NULL else text


cdef void fatal_failure() noexcept nogil:
    """End the program with the failure text: libgomp's form, or libgompy's own if the text begins so."""
    gompy_wait_for_exit()
    if strncmp(gompy_failure, b"libgompy: ", 10) == 0:
        gompy_note(b"%s", gompy_failure + 10)
        gompy_exit_fatal()
    gompy_fatal(b"%s", gompy_failure)


cdef void fatal_mandatory(const char *what) noexcept nogil:
    """OMP_TARGET_OFFLOAD=mandatory cannot be met: say why there is no device, then what libgomp says."""
    print_plugin_reasons()
    gompy_fatal(b"OMP_TARGET_OFFLOAD is set to MANDATORY, but %s", what)
