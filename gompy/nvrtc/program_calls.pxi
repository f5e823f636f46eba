# Programs from their making to their end.

cdef public int nvrtcCreateProgram(void **to, const char *source, const char *name, int count,
                                   const char *const *headers, const char *const *names) noexcept nogil:
    """A program of a source, with headers that it finds by their names."""
    cdef nvrtc_program *p
    cdef bint kept
    if to == NULL or source == NULL or count < 0 or (count > 0 and (headers == NULL or names == NULL)):
        return NVRTC_ERROR_INVALID_INPUT
    for i in range(count):
        if headers[i] == NULL or names[i] == NULL:
            return NVRTC_ERROR_INVALID_INPUT
    p = <nvrtc_program *> calloc(1, sizeof(nvrtc_program))
    if p == NULL:
        return NVRTC_ERROR_OUT_OF_MEMORY
    pthread_mutex_init(&p.lock, NULL)
    if name == NULL or name[0] == 0:
        name = b"default_program"
    kept = append_record(&p.asked, NVRTC_RECORD_NAME, name) and append_record(&p.asked, NVRTC_RECORD_SOURCE, source)
    for i in range(count):
        kept = kept and append_record(&p.asked, NVRTC_RECORD_HEADER_NAME, names[i])
        kept = kept and append_record(&p.asked, NVRTC_RECORD_HEADER, headers[i])
    if not kept:
        free_program(p)
        return NVRTC_ERROR_OUT_OF_MEMORY
    enlist_program(p)
    to[0] = p
    return NVRTC_SUCCESS


cdef public int nvrtcDestroyProgram(void **handle) noexcept nogil:
    """The end of a program."""
    if handle == NULL:
        return NVRTC_ERROR_INVALID_INPUT
    if not delist_program(handle[0]):
        return NVRTC_ERROR_INVALID_PROGRAM
    handle[0] = NULL
    return NVRTC_SUCCESS


cdef public int nvrtcAddNameExpression(void *handle, const char *expression) noexcept nogil:
    """The name of a kernel or a variable, whose lowered name is to be known after the compilation."""
    cdef nvrtc_program *p = enter_program(handle)
    cdef size_t before
    if p == NULL:
        return NVRTC_ERROR_INVALID_PROGRAM
    if expression == NULL:
        return leave_program(p, NVRTC_ERROR_INVALID_INPUT)
    if p.compiled:
        return leave_program(p, NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION)
    if same_place(&p.expressions, &p.expressions, expression) != NULL:
        return leave_program(p, NVRTC_SUCCESS)
    before = p.expressions.size
    if not append_bytes(&p.expressions, expression, strlen(expression) + 1):
        return leave_program(p, NVRTC_ERROR_OUT_OF_MEMORY)
    if not append_record(&p.asked, NVRTC_RECORD_EXPRESSION, expression):
        p.expressions.size = before
        return leave_program(p, NVRTC_ERROR_OUT_OF_MEMORY)
    return leave_program(p, NVRTC_SUCCESS)


cdef public int nvrtcCompileProgram(void *handle, int count, const char *const *options) noexcept nogil:
    """Compile; also a program that is compiled already, with other options."""
    cdef nvrtc_program *p = enter_program(handle)
    cdef byte_buffer asked
    cdef bint kept = True
    cdef int result
    if p == NULL:
        return NVRTC_ERROR_INVALID_PROGRAM
    if count < 0 or (count > 0 and options == NULL):
        return leave_program(p, NVRTC_ERROR_INVALID_INPUT)
    asked.data, asked.size, asked.room = NULL, 0, 0
    for i in range(count):
        if options[i] == NULL:
            free_bytes(&asked)
            return leave_program(p, NVRTC_ERROR_INVALID_INPUT)
        kept = kept and append_record(&asked, NVRTC_RECORD_OPTION, options[i])
    free_bytes(&p.log)
    free_bytes(&p.ptx)
    free_bytes(&p.lowered)
    p.machine = False
    result = ask_process(p, &asked) if kept else NVRTC_ERROR_OUT_OF_MEMORY
    free_bytes(&asked)
    p.compiled, p.has_ptx = True, result == NVRTC_SUCCESS
    return leave_program(p, result)
