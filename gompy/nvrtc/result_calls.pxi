# What a compilation has given.

cdef int tell_size(void *handle, size_t *to, int which) noexcept nogil:
    """The bytes of a text with its NUL; of machine code, which PTX stands for, 0 where none was asked for."""
    cdef nvrtc_program *p = enter_program(handle)
    if p == NULL:
        return NVRTC_ERROR_INVALID_PROGRAM
    if to == NULL:
        return leave_program(p, NVRTC_ERROR_INVALID_INPUT)
    if which == NVRTC_RECORD_LOG:
        to[0] = p.log.size + 1
    elif not p.has_ptx:
        return leave_program(p, NVRTC_ERROR_INVALID_PROGRAM)
    else:
        to[0] = 0 if which == NVRTC_RECORD_MACHINE and not p.machine else p.ptx.size + 1
    return leave_program(p, NVRTC_SUCCESS)


cdef int tell_text(void *handle, char *to, int which) noexcept nogil:
    """A text with its NUL."""
    cdef nvrtc_program *p = enter_program(handle)
    cdef const byte_buffer *text
    if p == NULL:
        return NVRTC_ERROR_INVALID_PROGRAM
    if to == NULL:
        return leave_program(p, NVRTC_ERROR_INVALID_INPUT)
    if which != NVRTC_RECORD_LOG and (not p.has_ptx or (which == NVRTC_RECORD_MACHINE and not p.machine)):
        return leave_program(p, NVRTC_ERROR_INVALID_PROGRAM)
    text = &p.log if which == NVRTC_RECORD_LOG else &p.ptx
    if text.size:
        memcpy(to, text.data, text.size)
    to[text.size] = 0
    return leave_program(p, NVRTC_SUCCESS)


cdef public int nvrtcGetPTXSize(void *handle, size_t *size) noexcept nogil:
    """The bytes of the PTX."""
    return tell_size(handle, size, NVRTC_RECORD_PTX)


cdef public int nvrtcGetPTX(void *handle, char *to) noexcept nogil:
    """The PTX."""
    return tell_text(handle, to, NVRTC_RECORD_PTX)


cdef public int nvrtcGetCUBINSize(void *handle, size_t *size) noexcept nogil:
    """The bytes of what a driver loads; 0 for a virtual architecture."""
    return tell_size(handle, size, NVRTC_RECORD_MACHINE)


cdef public int nvrtcGetCUBIN(void *handle, char *to) noexcept nogil:
    """What a driver loads: the PTX, for there is no machine code."""
    return tell_text(handle, to, NVRTC_RECORD_MACHINE)


cdef public int nvrtcGetProgramLogSize(void *handle, size_t *size) noexcept nogil:
    """The bytes of the log."""
    return tell_size(handle, size, NVRTC_RECORD_LOG)


cdef public int nvrtcGetProgramLog(void *handle, char *to) noexcept nogil:
    """Errors and warnings."""
    return tell_text(handle, to, NVRTC_RECORD_LOG)


cdef public int nvrtcGetLoweredName(void *handle, const char *expression, const char **name) noexcept nogil:
    """The name in the PTX; it lives as long as the program, or until it is compiled again."""
    cdef nvrtc_program *p = enter_program(handle)
    if p == NULL:
        return NVRTC_ERROR_INVALID_PROGRAM
    if expression == NULL or name == NULL:
        return leave_program(p, NVRTC_ERROR_INVALID_INPUT)
    if not p.compiled:
        return leave_program(p, NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION)
    name[0] = same_place(&p.expressions, &p.lowered, expression)
    return leave_program(p, NVRTC_SUCCESS if name[0] != NULL else NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID)
