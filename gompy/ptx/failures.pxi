# How a kernel fails: the error record, and the end of the warp that has failed.


cdef void describe_place(ptx_module *module, code_unit *unit, uint32_t line, ptx_error *e) noexcept nogil:
    """Object, function and source line of a line of PTX."""
    cdef obj *o = &module.image.objects[unit.object]
    cdef uint32_t n
    cdef function_record *f
    cdef loc_record *locs = <loc_record *> section_of(o.index, SECTION_LOCS)
    cdef file_record *files = <file_record *> section_of(o.index, SECTION_FILES)
    cdef size_t count = o.index.section[SECTION_LOCS].bytes // sizeof(loc_record), i, low = 0, high, middle
    cdef size_t nfiles = o.index.section[SECTION_FILES].bytes // sizeof(file_record)
    snprintf(e.object, sizeof(e.object), "%s", o.name)
    e.line = <int> line
    for n in range(o.nfunctions):
        f = function_of(o, n)
        if f.line <= line and line <= f.last_line:
            snprintf(e.function, sizeof(e.function), "%s", string_of(o.index, f.name))
            high = count
            while low < high:
                middle = (low + high) // 2
                if locs[middle].line <= line:
                    low = middle + 1
                else:
                    high = middle
            if low and locs[low - 1].line >= f.line:
                e.source_line = <int> locs[low - 1].source_line
                for i in range(nfiles):
                    if files[i].number == locs[low - 1].file:
                        snprintf(e.source, sizeof(e.source), "%s", string_of(o.index, files[i].name))
            return


cdef void record_failure(gompy_warp *w, uint32_t mask, int code, uint64_t address, code_unit *unit, uint32_t line,
                         const char *what) noexcept nogil:
    """Write the launch's error record, if this is its first failure."""
    cdef run *launch = <run *> w.launch
    if gompy_claim(&launch.failed) and launch.failure != NULL:
        compose_failure(w, mask, code, address, unit, line, what, NULL, launch.failure)


cdef void compose_failure(gompy_warp *w, uint32_t mask, int code, uint64_t address, code_unit *unit, uint32_t line,
                          const char *what,
                          const char *nearby, ptx_error *e) noexcept nogil:
    """Fill in an error record; `nearby`: what lies at the address, if the memory's owner is not to be asked."""
    cdef run *launch = <run *> w.launch
    cdef char where[640]
    cdef char near[256]
    cdef int lane = gompy_lowest(mask), i, n
    memset(e, 0, sizeof(ptx_error))
    e.code = code
    e.address = address
    for i in range(3):
        e.ctaid[i] = w.ctaid[i]
        e.tid[i] = w.tid[i][lane]
    snprintf(e.kernel, sizeof(e.kernel), "%s", launch.function.name)
    if unit != NULL:
        describe_place(launch.module, unit, line, e)
    elif line == 0 and e.function[0] == 0:
        snprintf(e.function, sizeof(e.function), "%s", launch.function.name)
    near[0] = 0
    if nearby != NULL:
        snprintf(near, sizeof(near), "%s", nearby)
    elif launch.memory.describe != NULL and (
        code == PTX_ERROR_ILLEGAL_ADDRESS or address and (code == PTX_ERROR_MISALIGNED_ADDRESS
                                                          or code == PTX_ERROR_INVALID_PC)
    ):
        launch.memory.describe(launch.memory.user, address, near, sizeof(near))
    where[0] = 0
    if e.source[0]:
        snprintf(where, sizeof(where), " at %s:%d (%s:%d)", e.source, e.source_line, e.object, e.line)
    elif e.object[0]:
        snprintf(where, sizeof(where), " at %s:%d", e.object, e.line)
    n = snprintf(
        e.message, sizeof(e.message), "%s in '%s'%s, kernel '%s', block (%u,%u,%u), thread (%u,%u,%u)", what,
        e.function, where,
        e.kernel, e.ctaid[0], e.ctaid[1], e.ctaid[2], e.tid[0], e.tid[1], e.tid[2],
    )
    if near[0] and n < <int> sizeof(e.message):
        snprintf(e.message + n, sizeof(e.message) - n, "; %s", near)


cdef void stop_warp(gompy_warp *w, uint32_t mask, int code, uint64_t address, code_unit *unit, uint32_t line,
                    const char *what) noexcept nogil:
    """A kernel failed: record it and leave the warp's stack for good."""
    global gompy_running
    record_failure(w, mask, code, address, unit, line, what)
    gompy_running = NULL
    gompy_resume((<runner *> w.runner).home)


cdef void stop_near(gompy_warp *w, uint32_t mask, int code, uint64_t address, code_unit *unit, uint32_t line,
                    const char *what,
                    const char *nearby) noexcept nogil:
    """stop, with the words for what lies at the address (NULL: the memory's owner is asked)."""
    global gompy_running
    cdef run *launch = <run *> w.launch
    if gompy_claim(&launch.failed) and launch.failure != NULL:
        compose_failure(w, mask, code, address, unit, line, what, nearby, launch.failure)
    gompy_running = NULL
    gompy_resume((<runner *> w.runner).home)


cdef void need_room(gompy_warp *w, uint32_t mask) noexcept nogil:
    """Before code of the host that takes locks: the stack must not end there, where nobody would give them back."""
    cdef char here = 0
    if <uint64_t> <uintptr_t> &here - <uint64_t> <uintptr_t> w.stack < HOST_ROOM:
        stop_warp(w, mask, PTX_ERROR_LAUNCH_FAILED, 0, NULL, 0, "call stack exhausted (too deep a recursion)")


cdef void bad_address(gompy_warp *w, int lane, uint64_t address, uint32_t size, bint writes, code_unit *unit,
                      uint32_t line) noexcept nogil:
    """An address that is no memory of the device, or not a multiple of the size."""
    cdef char text[160]
    cdef const char *verb = "read"
    cdef const char *cause = "illegal"
    cdef int code = PTX_ERROR_ILLEGAL_ADDRESS
    if writes:
        verb = "written"
    if address % size:
        cause, code = "misaligned", PTX_ERROR_MISALIGNED_ADDRESS
    snprintf(text, sizeof(text), "%s address 0x%llx %s (%u bytes)", cause, <unsigned long long> address, verb, size)
    stop_warp(w, <uint32_t> 1 << lane, code, address, unit, line, text)
