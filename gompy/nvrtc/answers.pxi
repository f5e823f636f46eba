# Asking the compiling process, and what it answers.

cdef bint take_answer(nvrtc_program *p, const byte_buffer *answer, int *result) noexcept nogil:
    """Keep log, PTX and names; false if the answer does not end with a result, or memory is out."""
    cdef byte_record record
    cdef size_t at = 0
    cdef bint whole = False, kept = True
    cdef char zero = 0
    while next_record(answer, &at, &record):
        if record.letter == NVRTC_RECORD_LOG:
            kept &= append_bytes(&p.log, record.data, record.size)
        elif record.letter == NVRTC_RECORD_PTX:
            kept &= append_bytes(&p.ptx, record.data, record.size)
        elif record.letter == NVRTC_RECORD_LOWERED:
            kept &= append_bytes(&p.lowered, record.data, record.size) and append_bytes(&p.lowered, &zero, 1)
        elif record.letter == NVRTC_RECORD_MACHINE:
            p.machine = True
        elif record.letter == NVRTC_RECORD_RESULT:
            whole, result[0] = True, 0
            for i in range(record.size):
                result[0] = result[0] * 10 + record.data[i] - 48
    return whole and kept


cdef int log_failure(nvrtc_program *p, const char *why) noexcept nogil:
    """Nothing was compiled, and the log says why."""
    cdef char line[512]
    snprintf(line, sizeof(line), "nvrtc (gompy): error: %.400s\n", why)
    append_bytes(&p.log, line, strlen(line))
    return NVRTC_ERROR_INTERNAL_ERROR


cdef int ask_process(nvrtc_program *p, const byte_buffer *options) noexcept nogil:
    """Compile: the result."""
    cdef char why[450]
    cdef byte_buffer answer
    cdef int request = memory_file(), heard = memory_file(), result = NVRTC_ERROR_INTERNAL_ERROR
    answer.data, answer.size, answer.room = NULL, 0, 0
    why[0] = 0
    if (
        request < 0 or heard < 0 or not write_bytes(request, &p.asked) or not write_bytes(request, options)
        or lseek(request, 0, 0) != 0
    ):
        result = log_failure(p, b"no file in memory")
    elif not gompy_nvrtc_run(request, heard, why, sizeof(why)):
        result = log_failure(p, why)
    elif not read_bytes(heard, &answer) or not take_answer(p, &answer, &result):
        result = log_failure(p, b"the compiling process ended without an answer (GOMPY_TRACEBACK=1 shows why)")
    if request >= 0:
        close(request)
    if heard >= 0:
        close(heard)
    free_bytes(&answer)
    return result
