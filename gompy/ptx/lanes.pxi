# What compiled code calls (abi.py, OPS): accesses lane by lane, atomics, barriers, indirect calls; and how a kernel fails.

cdef enum:
    READY = 0
    WAITING = 1
    DONE = 2
    FUEL = 20000
    HOST_ROOM = 393216                  # bytes of a warp's stack (guard included) that are left to code of the host

cdef struct run:                        # one launch
    ptx_function *function
    ptx_module *module
    const ptx_launch_config *config
    int form
    uint64_t blocks
    uint64_t next_block
    int failed
    int complete                        # the error record is written
    ptx_error *failure
    gompy_code_fn code
    uint32_t told                       # checked code: findings told, and not told
    uint64_t untold, places

cdef struct barrier_state:
    uint32_t arrived                    # threads
    uint32_t warps                      # warps that wait
    uint32_t wanted                     # threads, 0 = all warps of the block
    uint32_t all_arrived                # arrivals of warps, waiting or not
    uint32_t votes                      # bar.red: threads with the predicate, and all that came with one
    uint32_t voters

cdef struct runner:                     # a host thread at work on blocks; kept for the next launch
    runner *next
    void *home                          # the scheduler's stack
    gompy_warp *warps
    char *stacks
    char *local
    char *shared
    size_t shared_room
    uint8_t *shared_shadow              # checked code
    size_t shadow_room
    char *signal_stack
    uint32_t nwarps
    uint32_t live
    barrier_state barriers[16]
    uint32_t used                       # a bit for each barrier that somebody has arrived at
    run *launch
    gompy_warp *faulted
    bint prepared                       # the warps are set up for the launch but for what changes from block to block
    uint32_t shape[3]                   # the block that the warps' masks and thread numbers belong to
    uint32_t numbered                   # and how many warps have them
    uint8_t places[32]                  # stacks and local memories that are free, the last one first
    uint32_t nplaces


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


cdef void record(gompy_warp *w, uint32_t mask, int code, uint64_t address, code_unit *unit, uint32_t line, const char *what) noexcept nogil:
    """Write the launch's error record, if this is its first failure."""
    cdef run *launch = <run *> w.launch
    if gompy_claim(&launch.failed) and launch.failure != NULL:
        compose(w, mask, code, address, unit, line, what, NULL, launch.failure)


cdef void compose(gompy_warp *w, uint32_t mask, int code, uint64_t address, code_unit *unit, uint32_t line, const char *what,
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
    elif launch.module.memory.describe != NULL and (
        code == PTX_ERROR_ILLEGAL_ADDRESS or address and (code == PTX_ERROR_MISALIGNED_ADDRESS or code == PTX_ERROR_INVALID_PC)
    ):
        launch.module.memory.describe(launch.module.memory.user, address, near, sizeof(near))
    where[0] = 0
    if e.source[0]:
        snprintf(where, sizeof(where), " at %s:%d (%s:%d)", e.source, e.source_line, e.object, e.line)
    elif e.object[0]:
        snprintf(where, sizeof(where), " at %s:%d", e.object, e.line)
    n = snprintf(
        e.message, sizeof(e.message), "%s in '%s'%s, kernel '%s', block (%u,%u,%u), thread (%u,%u,%u)", what, e.function, where,
        e.kernel, e.ctaid[0], e.ctaid[1], e.ctaid[2], e.tid[0], e.tid[1], e.tid[2],
    )
    if near[0] and n < <int> sizeof(e.message):
        snprintf(e.message + n, sizeof(e.message) - n, "; %s", near)


cdef void stop(gompy_warp *w, uint32_t mask, int code, uint64_t address, code_unit *unit, uint32_t line, const char *what) noexcept nogil:
    """A kernel failed: record it and leave the warp's stack for good."""
    global gompy_running
    record(w, mask, code, address, unit, line, what)
    gompy_running = NULL
    gompy_resume((<runner *> w.runner).home)


cdef void stop_near(gompy_warp *w, uint32_t mask, int code, uint64_t address, code_unit *unit, uint32_t line, const char *what,
                    const char *nearby) noexcept nogil:
    """stop, with the words for what lies at the address (NULL: the memory's owner is asked)."""
    global gompy_running
    cdef run *launch = <run *> w.launch
    if gompy_claim(&launch.failed) and launch.failure != NULL:
        compose(w, mask, code, address, unit, line, what, nearby, launch.failure)
    gompy_running = NULL
    gompy_resume((<runner *> w.runner).home)


cdef void need_room(gompy_warp *w, uint32_t mask) noexcept nogil:
    """Before code of the host that takes locks: the stack must not end there, where nobody would give them back."""
    cdef char here = 0
    if <uint64_t> <uintptr_t> &here - <uint64_t> <uintptr_t> w.stack < HOST_ROOM:
        stop(w, mask, PTX_ERROR_LAUNCH_FAILED, 0, NULL, 0, "call stack exhausted (too deep a recursion)")


cdef void bad_address(gompy_warp *w, int lane, uint64_t address, uint32_t size, bint writes, code_unit *unit, uint32_t line) noexcept nogil:
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
    stop(w, <uint32_t> 1 << lane, code, address, unit, line, text)


cdef inline char *lane_place(gompy_warp *w, int lane, uint64_t address, uint32_t size, bint writes, code_unit *unit, uint32_t line) noexcept nogil:
    """The host address of a lane's memory; does not return if there is none."""
    cdef char *place = gompy_place(w, address, size, lane)
    if place == NULL or address & (size - 1):
        bad_address(w, lane, address, size, writes, unit, line)
    return place


cdef void op_load1(gompy_warp *w, uint32_t mask, const uint64_t *a, uint8_t *out, code_unit *unit, uint32_t line) noexcept nogil:
    cdef int i
    for i in range(32):
        if mask >> i & 1:
            out[i] = (<uint8_t *> lane_place(w, i, a[i], 1, False, unit, line))[0]

cdef void op_load2(gompy_warp *w, uint32_t mask, const uint64_t *a, uint16_t *out, code_unit *unit, uint32_t line) noexcept nogil:
    cdef int i
    for i in range(32):
        if mask >> i & 1:
            out[i] = (<uint16_t *> lane_place(w, i, a[i], 2, False, unit, line))[0]

cdef void op_load4(gompy_warp *w, uint32_t mask, const uint64_t *a, uint32_t *out, code_unit *unit, uint32_t line) noexcept nogil:
    cdef int i
    for i in range(32):
        if mask >> i & 1:
            out[i] = (<uint32_t *> lane_place(w, i, a[i], 4, False, unit, line))[0]

cdef void op_load8(gompy_warp *w, uint32_t mask, const uint64_t *a, uint64_t *out, code_unit *unit, uint32_t line) noexcept nogil:
    cdef int i
    for i in range(32):
        if mask >> i & 1:
            out[i] = (<uint64_t *> lane_place(w, i, a[i], 8, False, unit, line))[0]

cdef void op_store1(gompy_warp *w, uint32_t mask, const uint64_t *a, const uint8_t *v, code_unit *unit, uint32_t line) noexcept nogil:
    cdef int i
    for i in range(32):
        if mask >> i & 1:
            (<uint8_t *> lane_place(w, i, a[i], 1, True, unit, line))[0] = v[i]

cdef void op_store2(gompy_warp *w, uint32_t mask, const uint64_t *a, const uint16_t *v, code_unit *unit, uint32_t line) noexcept nogil:
    cdef int i
    for i in range(32):
        if mask >> i & 1:
            (<uint16_t *> lane_place(w, i, a[i], 2, True, unit, line))[0] = v[i]

cdef void op_store4(gompy_warp *w, uint32_t mask, const uint64_t *a, const uint32_t *v, code_unit *unit, uint32_t line) noexcept nogil:
    cdef int i
    for i in range(32):
        if mask >> i & 1:
            (<uint32_t *> lane_place(w, i, a[i], 4, True, unit, line))[0] = v[i]

cdef void op_store8(gompy_warp *w, uint32_t mask, const uint64_t *a, const uint64_t *v, code_unit *unit, uint32_t line) noexcept nogil:
    cdef int i
    for i in range(32):
        if mask >> i & 1:
            (<uint64_t *> lane_place(w, i, a[i], 8, True, unit, line))[0] = v[i]


cdef uint64_t read_place(const char *place, uint32_t size) noexcept nogil:
    """1 to 8 bytes."""
    cdef uint64_t value = 0
    memcpy(&value, place, size)
    return value


cdef uint64_t op_load_uniform(gompy_warp *w, uint32_t mask, uint64_t address, uint32_t size, code_unit *unit, uint32_t line) noexcept nogil:
    """A load that the compiler proved to be the same in all lanes, of memory that is not the device's."""
    cdef int lane = gompy_lowest(mask), i
    cdef uint64_t value = read_place(lane_place(w, lane, address, size, False, unit, line), size)
    if address >= GOMPY_LOCAL:
        for i in range(lane + 1, 32):
            if mask >> i & 1 and read_place(lane_place(w, i, address, size, False, unit, line), size) != value:
                stop(w, mask, PTX_ERROR_NOT_SUPPORTED, address, unit, line,
                     "not implemented: local memory read through a pointer that was taken for one of shared or global memory")
    return value


cdef void op_store_uniform(gompy_warp *w, uint32_t mask, uint64_t address, uint64_t value, uint32_t size, code_unit *unit, uint32_t line) noexcept nogil:
    """A store of one value to one address."""
    cdef int i
    for i in range(32):
        if mask >> i & 1:
            memcpy(lane_place(w, i, address, size, True, unit, line), &value, size)
            if address < GOMPY_LOCAL:
                return


cdef void op_atom(gompy_warp *w, uint32_t mask, int code, const uint64_t *a, const uint64_t *b, const uint64_t *c, uint64_t *out,
                  code_unit *unit, uint32_t line) noexcept nogil:
    cdef int i
    cdef uint32_t size = 2 if code & 0x100 else 8 if code & 4 else 4
    for i in range(32):
        if mask >> i & 1:
            out[i] = gompy_atom(code, lane_place(w, i, a[i], size, True, unit, line), b[i], c[i])


cdef void op_shuffle(gompy_warp *w, uint32_t mask, int mode, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t *out, uint32_t *ok) noexcept nogil:
    gompy_shuffle(mode, a, b, c, out, ok)


cdef void op_trap(gompy_warp *w, uint32_t mask, int reason, code_unit *unit, uint32_t line) noexcept nogil:
    if reason == 1:
        stop(w, mask, PTX_ERROR_LAUNCH_FAILED, 0, unit, line, "local memory exhausted")
    if reason == 2:
        stop(w, mask, PTX_ERROR_NOT_SUPPORTED, 0, unit, line,
             "not implemented: a function called with the same arguments in all lanes returned values that differ")
    stop(w, mask, PTX_ERROR_LAUNCH_FAILED, 0, unit, line, "trap")


cdef void op_exit(gompy_warp *w, uint32_t mask) noexcept nogil:
    """Lanes leave; with the last one the warp ends."""
    w.exited |= mask
    if (w.exited & w.mask) == w.mask:
        warp_ends(w)


cdef void op_call(gompy_warp *w, uint32_t mask, const uint64_t *targets, char *arguments, int form, code_unit *unit, uint32_t line) noexcept nogil:
    """An indirect call: once for each function that lanes call."""
    cdef ptx_module *module = <ptx_module *> w.module
    cdef uint64_t low = <uint64_t> <uintptr_t> module.descriptors, target
    cdef uint64_t count = module.image.nfunctions + BUILTINS
    cdef uint32_t rest = mask, some
    cdef char text[120]
    cdef int i
    cdef descriptor *d
    while rest:
        target = targets[gompy_lowest(rest)]
        some = 0
        for i in range(32):
            if rest >> i & 1 and targets[i] == target:
                some |= <uint32_t> 1 << i
        rest &= ~some
        if target - low >= count * sizeof(descriptor) or (target - low) % sizeof(descriptor):
            snprintf(text, sizeof(text), "call of 0x%llx, which is no function", <unsigned long long> target)
            stop(w, some, PTX_ERROR_INVALID_PC, target, unit, line, text)
        d = <descriptor *> <uintptr_t> target
        if form == FORM_S and (target - low) // sizeof(descriptor) >= module.image.nfunctions:
            call_builtin_uniform(w, some, arguments, d)
        else:
            (<gompy_code_fn> d.code[form])(w, some, arguments, d)


cdef void op_lanes(gompy_warp *w, uint32_t mask, int word, const void *a, const void *b, const void *c, void *out) noexcept nogil:
    gompy_lanes(word, a, b, c, out)


cdef void op_yield(gompy_warp *w) noexcept nogil:
    """Let the block's other warps run."""
    global gompy_running
    w.fuel = FUEL
    gompy_running = NULL
    gompy_switch(&w.sp, (<runner *> w.runner).home)
    gompy_running = w


cdef uint64_t op_clock(gompy_warp *w, int which) noexcept nogil:
    return gompy_clock(which)


cdef void warp_ends(gompy_warp *w) noexcept nogil:
    """The warp is done: never comes back."""
    global gompy_running
    w.state = DONE
    gompy_running = NULL
    gompy_resume((<runner *> w.runner).home)


cdef const char *name_of(descriptor *d) noexcept nogil:
    """A function's name."""
    if d != NULL and d.name != NULL:
        return d.name
    return "?"


cdef public void gompy_fault(gompy_warp *w, uint64_t address, uint64_t pc) noexcept nogil:
    """Signal handler: compiled code touched memory that is not mapped (warp.h)."""
    cdef ptx_module *module = <ptx_module *> w.module
    cdef runner *r = <runner *> w.runner
    cdef char text[160]
    cdef uint32_t n
    cdef int form
    cdef uint64_t best = 0, start
    cdef descriptor *d
    cdef descriptor *nearest = NULL
    cdef uint64_t low = <uint64_t> <uintptr_t> r.stacks
    if address - low < <uint64_t> 32 * STACK:
        record(w, w.mask, PTX_ERROR_LAUNCH_FAILED, address, NULL, 0, "call stack exhausted (too deep a recursion)")
        return
    for n in range(module.image.nfunctions):
        d = &module.descriptors[n]
        for form in range(FORMS):
            start = <uint64_t> <uintptr_t> d.code[form]
            if start <= pc and start > best:
                best = start
                nearest = d
    snprintf(text, sizeof(text), "illegal address 0x%llx accessed (memory that is not allocated), near function '%s',",
             <unsigned long long> address, name_of(nearest))
    record(w, w.mask, PTX_ERROR_ILLEGAL_ADDRESS, address, NULL, 0, text)


cdef public void *gompy_home(gompy_warp *w) noexcept nogil:
    """The stack of the scheduler that runs a warp (warp.h)."""
    return (<runner *> w.runner).home
