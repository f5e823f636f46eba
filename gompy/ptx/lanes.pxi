# What compiled code calls (gompy/abi/ptx.py, OPS): accesses lane by lane, atomics, indirect calls.

cdef inline char *lane_place(gompy_warp *w, int lane, uint64_t address, uint32_t size, bint writes, code_unit *unit,
                             uint32_t line) noexcept nogil:
    """The host address of a lane's memory; does not return if there is none."""
    cdef char *place = gompy_place(w, address, size, lane)
    if place == NULL or address & (size - 1):
        bad_address(w, lane, address, size, writes, unit, line)
    return place


cdef void op_load1(gompy_warp *w, uint32_t mask, const uint64_t *a, uint8_t *out, code_unit *unit,
                   uint32_t line) noexcept nogil:
    cdef int i
    for i in range(32):
        if mask >> i & 1:
            out[i] = (<uint8_t *> lane_place(w, i, a[i], 1, False, unit, line))[0]


cdef void op_load2(gompy_warp *w, uint32_t mask, const uint64_t *a, uint16_t *out, code_unit *unit,
                   uint32_t line) noexcept nogil:
    cdef int i
    for i in range(32):
        if mask >> i & 1:
            out[i] = (<uint16_t *> lane_place(w, i, a[i], 2, False, unit, line))[0]


cdef void op_load4(gompy_warp *w, uint32_t mask, const uint64_t *a, uint32_t *out, code_unit *unit,
                   uint32_t line) noexcept nogil:
    cdef int i
    for i in range(32):
        if mask >> i & 1:
            out[i] = (<uint32_t *> lane_place(w, i, a[i], 4, False, unit, line))[0]


cdef void op_load8(gompy_warp *w, uint32_t mask, const uint64_t *a, uint64_t *out, code_unit *unit,
                   uint32_t line) noexcept nogil:
    cdef int i
    for i in range(32):
        if mask >> i & 1:
            out[i] = (<uint64_t *> lane_place(w, i, a[i], 8, False, unit, line))[0]


cdef void op_store1(gompy_warp *w, uint32_t mask, const uint64_t *a, const uint8_t *v, code_unit *unit,
                    uint32_t line) noexcept nogil:
    cdef int i
    for i in range(32):
        if mask >> i & 1:
            (<uint8_t *> lane_place(w, i, a[i], 1, True, unit, line))[0] = v[i]


cdef void op_store2(gompy_warp *w, uint32_t mask, const uint64_t *a, const uint16_t *v, code_unit *unit,
                    uint32_t line) noexcept nogil:
    cdef int i
    for i in range(32):
        if mask >> i & 1:
            (<uint16_t *> lane_place(w, i, a[i], 2, True, unit, line))[0] = v[i]


cdef void op_store4(gompy_warp *w, uint32_t mask, const uint64_t *a, const uint32_t *v, code_unit *unit,
                    uint32_t line) noexcept nogil:
    cdef int i
    for i in range(32):
        if mask >> i & 1:
            (<uint32_t *> lane_place(w, i, a[i], 4, True, unit, line))[0] = v[i]


cdef void op_store8(gompy_warp *w, uint32_t mask, const uint64_t *a, const uint64_t *v, code_unit *unit,
                    uint32_t line) noexcept nogil:
    cdef int i
    for i in range(32):
        if mask >> i & 1:
            (<uint64_t *> lane_place(w, i, a[i], 8, True, unit, line))[0] = v[i]


cdef uint64_t read_place(const char *place, uint32_t size) noexcept nogil:
    """1 to 8 bytes."""
    cdef uint64_t value = 0
    memcpy(&value, place, size)
    return value


cdef uint64_t op_load_uniform(gompy_warp *w, uint32_t mask, uint64_t address, uint32_t size, code_unit *unit,
                              uint32_t line) noexcept nogil:
    """A load that the compiler proved to be the same in all lanes, of memory that is not the device's."""
    cdef int lane = gompy_lowest(mask), i
    cdef const char *first = <const char *> lane_place(w, lane, address, size, False, unit, line)
    cdef const char *place
    cdef uint64_t value = read_place(first, size)
    if address >= GOMPY_LOCAL_BASE:
        for i in range(lane + 1, 32):
            if not mask >> i & 1:
                continue
            place = <const char *> lane_place(w, i, address, size, False, unit, line)
            # The program's own memory is one place for all lanes, and another block may write to it just now.
            if place != first and read_place(place, size) != value:
                stop_warp(w, mask, PTX_ERROR_NOT_SUPPORTED, address, unit, line,
                          "not implemented: local memory read through a pointer that was taken for one of shared or "
                          "global memory")
    return value


cdef void op_store_uniform(gompy_warp *w, uint32_t mask, uint64_t address, uint64_t value, uint32_t size,
                           code_unit *unit, uint32_t line) noexcept nogil:
    """A store of one value to one address."""
    cdef int i
    for i in range(32):
        if mask >> i & 1:
            memcpy(lane_place(w, i, address, size, True, unit, line), &value, size)
            if address < GOMPY_LOCAL_BASE:
                return


cdef void op_atom(gompy_warp *w, uint32_t mask, int code, const uint64_t *a, const uint64_t *b, const uint64_t *c,
                  uint64_t *out,
                  code_unit *unit, uint32_t line) noexcept nogil:
    cdef int i
    cdef uint32_t size = 2 if code & 0x100 else 8 if code & 4 else 4
    cdef int flags = code & (ATOM_UNUSED | ATOM_LATER)
    code &= ~(ATOM_UNUSED | ATOM_LATER)
    if flags & ATOM_LATER and gompy_gather_warp(w, &(<runner *> w.runner).sums, mask, code, a, b):
        return
    if mask & (mask - 1) == 0 and mask:  # as GCC's OpenMP code has them: no vectors for one lane
        i = gompy_lowest(mask)
        out[i] = gompy_atom(code, lane_place(w, i, a[i], size, True, unit, line), b[i], c[i])
        return
    if flags and gompy_atom_shared_add(w, mask, code, a, b):
        return
    if gompy_atom_warp(w, mask, code, a, b, c, out):
        return
    for i in range(32):
        if mask >> i & 1:
            out[i] = gompy_atom(code, lane_place(w, i, a[i], size, True, unit, line), b[i], c[i])


cdef void op_shuffle(gompy_warp *w, uint32_t mask, int mode, const uint32_t *a, const uint32_t *b, const uint32_t *c,
                     uint32_t *out, uint32_t *ok) noexcept nogil:
    gompy_shuffle(mode, a, b, c, out, ok)


cdef void op_trap(gompy_warp *w, uint32_t mask, int reason, code_unit *unit, uint32_t line) noexcept nogil:
    if reason == TRAP_LOCAL_MEMORY:
        stop_warp(w, mask, PTX_ERROR_LAUNCH_FAILED, 0, unit, line, "local memory exhausted")
    if reason == TRAP_NOT_UNIFORM:
        stop_warp(w, mask, PTX_ERROR_NOT_SUPPORTED, 0, unit, line,
                  "not implemented: a function called with the same arguments in all lanes returned values that differ")
    stop_warp(w, mask, PTX_ERROR_LAUNCH_FAILED, 0, unit, line, "trap")


cdef void op_exit(gompy_warp *w, uint32_t mask) noexcept nogil:
    """Lanes leave; with the last one the warp ends."""
    w.exited |= mask
    if (w.exited & w.mask) != w.mask:
        return
    if (<run *> w.launch).alone:
        stop_warp(w, mask, PTX_ERROR_LAUNCH_TIMEOUT, 0, NULL, 0,
                  "every warp of the block waits at a barrier that nobody else will reach")
    warp_ends(w)


cdef void op_call(gompy_warp *w, uint32_t mask, const uint64_t *targets, char *arguments, int form, code_unit *unit,
                  uint32_t line) noexcept nogil:
    """An indirect call: once for each function that lanes call."""
    cdef ptx_module *module = <ptx_module *> w.module
    cdef uint64_t target, number
    cdef uint32_t rest = mask, some
    cdef char text[120]
    cdef descriptor *d
    while rest:
        target = targets[gompy_lowest(rest)]
        some = rest & gompy_lanes_with(targets, target) if rest & (rest - 1) else rest
        rest &= ~some
        number = number_of_function(module, target)
        if number >= module.image.nfunctions + BUILTIN_COUNT:
            snprintf(text, sizeof(text), "call of 0x%llx, which is no function", <unsigned long long> target)
            stop_warp(w, some, PTX_ERROR_INVALID_PC, target, unit, line, text)
        d = &module.descriptors[number]
        if form == FORM_S and number >= module.image.nfunctions:
            call_builtin_uniform(w, some, arguments, d)
        else:
            (<gompy_code_fn> d.code[form])(w, some, arguments, d)


cdef void op_lanes(gompy_warp *w, uint32_t mask, int word, const void *a, const void *b, const void *c,
                   void *out) noexcept nogil:
    gompy_lanes(word, a, b, c, out)


cdef uint64_t op_clock(gompy_warp *w, int which) noexcept nogil:
    return gompy_clock(which)


cdef const char *name_of(descriptor *d) noexcept nogil:
    """A function's name."""
    if d != NULL and d.name != NULL:
        return d.name
    return "?"


cdef public void gompy_fault(gompy_warp *w, uint64_t address, uint64_t pc) noexcept nogil:
    """Signal handler: compiled code touched memory that is not mapped (warp.h).  The scheduler tells of it."""
    cdef runner *r = <runner *> w.runner
    r.faulted, r.fault_address, r.fault_pc = w, address, pc


cdef void tell_fault(runner *r) noexcept nogil:
    """The error record of a fault."""
    cdef gompy_warp *w = r.faulted
    cdef uint64_t address = r.fault_address, pc = r.fault_pc
    cdef ptx_module *module = <ptx_module *> w.module
    cdef char text[160]
    cdef uint32_t n
    cdef int form
    cdef uint64_t best = 0, start
    cdef descriptor *d
    cdef descriptor *nearest = NULL
    cdef uint64_t low = <uint64_t> <uintptr_t> r.stacks
    r.faulted = NULL
    if w.group and w.at != NULL:
        w = <gompy_warp *> w.at
    if address - low < <uint64_t> 32 * STACK:
        record_failure(w, w.mask, PTX_ERROR_LAUNCH_FAILED, address, NULL, 0,
                       "call stack exhausted (too deep a recursion)")
        return
    for n in range(module.image.nfunctions):
        d = &module.descriptors[n]
        for form in range(FORM_COUNT):
            start = <uint64_t> <uintptr_t> d.code[form]
            if start <= pc and start > best:
                best = start
                nearest = d
    snprintf(text, sizeof(text), "illegal address 0x%llx accessed (memory that is not allocated), near function '%s',",
             <unsigned long long> address, name_of(nearest))
    record_failure(w, w.mask, PTX_ERROR_ILLEGAL_ADDRESS, address, NULL, 0, text)


cdef public void *gompy_home(gompy_warp *w) noexcept nogil:
    """The stack of the scheduler that runs a warp (warp.h)."""
    return (<runner *> w.runner).home
