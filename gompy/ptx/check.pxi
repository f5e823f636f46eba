# The executor's part of checked code (checks.py): accesses that are not right for all that their shadow tells,
# barriers, and how findings are told.  What compute-sanitizer calls memcheck ends the kernel; initcheck and synccheck
# are told and it goes on.

cdef enum:
    READS = 0
    WRITES = 1
    UPDATES = 2                         # atomics
    STACK_GUARD = 256
    STACK_BELOW = 1 << 20
    FOUND_UNWRITTEN = 1
    FOUND_DIVERGED = 2
    FOUND_LEFT = 3
    FOUND_COUNTS = 4
    FOUND_MEMBERS = 5
    FOUND_STALE = 6
    FOUND_STALE_OWN = 7
    LARGEST_ACCESS = 16


cdef bint begin_checked_block(runner *r, run *launch, uint64_t shared, uint32_t dynamic) noexcept nogil:
    """Shared memory is unwritten when a block begins.  False: no memory for its shadow."""
    if shared + 64 > r.shadow_room:
        free(r.shared_shadow)
        r.shadow_room = shared * 2 + 4096
        r.shared_shadow = <uint8_t *> malloc(2 * r.shadow_room)
        if r.shared_shadow == NULL:
            r.shadow_room = 0
            return False
        r.shared_fresh = r.shared_shadow + r.shadow_room
    if not r.prepared:  # the first block of this launch here
        mark_shared(r.shared_fresh, launch, shared, dynamic)
    memcpy(r.shared_shadow, r.shared_fresh, shared + 64)
    return True


cdef void mark_shared(uint8_t *shadow, run *launch, uint64_t shared, uint32_t dynamic) noexcept nogil:
    """The shadow of shared memory that is unwritten: the kernel's variables, not the gaps between them."""
    cdef ptx_image *image = launch.module.image
    cdef size_t i
    cdef uint32_t n, number = 0
    cdef obj *o
    cdef variable_record *v
    memset(shadow, 0, shared + 64)
    if image.set_words:
        for i in range(image.nobjects):
            o = &image.objects[i]
            for n in range(o.nvariables):
                v = variable_of(o, n)
                if is_static_shared(v):
                    if reaches_shared(image, launch.function, number):
                        memset(shadow + image.shared_offset[o.first_variable + n], SHADOW_ALLOCATED, v.size)
                    number += 1
    memset(shadow + image.shared_bytes, SHADOW_ALLOCATED, dynamic)


# --- what is told ----------------------------------------------------------------------------------------------------

cdef void warn_owner(const ptx_memory *memory, uint64_t asker, const char *text) noexcept nogil:
    """One line.  A fault meanwhile is none of the kernel's: the program's pages may be closed (gompy run --check), and
    who has closed them opens them again."""
    global gompy_running
    cdef gompy_warp *running = gompy_running
    gompy_running = NULL
    if memory.warn != NULL:
        memory.warn(memory.user, asker, text)
    else:
        fprintf(stderr, "warning: %s\n", text)
    gompy_running = running


cdef void warn_user(run *launch, const char *text) noexcept nogil:
    """One line about a launch."""
    warn_owner(launch.memory, launch.config.asker, text)


cdef void drop_place(findings *found, const site *place) noexcept nogil:
    """A finding turned out to be none: its place is not one of those that have been told.  The lock is held."""
    cdef uint32_t n
    for n in range(found.nsites):
        if is_place(&found.sites[n], place.unit, place.line, place.kind):
            found.nsites -= 1
            found.sites[n] = found.sites[found.nsites]
            return


cdef inline bint is_place(const site *place, code_unit *unit, uint32_t line, int kind) noexcept nogil:
    return place.unit == unit and place.line == line and place.kind == kind


cdef bint doubt_read(run *launch, uint64_t address, const site *place, const char *message) noexcept nogil:
    """A module's variable is read that the host has changed: it is told after the launch, unless that writes there.

    The variable may have a state of its own on each side then, as a counter has.  Called with the findings' lock held.
    False: there is nothing to tell.
    """
    cdef findings *found = launch.module.found
    cdef const uint8_t *shadow = launch.memory.shadow + (address - launch.memory.base)
    cdef const uint8_t *end = shadow + LARGEST_ACCESS
    cdef doubt *d
    while shadow != end and shadow[0] != SHADOW_STALE_OWN:
        shadow += 1
    if shadow == end:
        return False  # another host thread's block has written it meanwhile
    d = <doubt *> malloc(sizeof(doubt))
    if d == NULL:
        return False
    snprintf(d.message, sizeof(d.message), "%s", message)
    d.launch, d.place, d.shadow, d.next = launch, place[0], shadow, found.doubts
    found.doubts = d
    return True


cdef void settle_doubts(run *launch) noexcept nogil:
    """A launch has ended: tell what it has read and not written."""
    cdef findings *found = launch.module.found
    cdef doubt **at = &found.doubts
    cdef doubt *d
    pthread_mutex_lock(&found.lock)
    while at[0] != NULL:
        d = at[0]
        if d.launch != launch:
            at = &d.next
            continue
        at[0] = d.next
        if d.shadow[0] == SHADOW_STALE_OWN:
            launch.told += 1
            warn_user(launch, d.message)
        else:
            drop_place(found, &d.place)
        free(d)
    pthread_mutex_unlock(&found.lock)


cdef void tell_finding(gompy_warp *w, uint32_t mask, int kind, uint64_t address, code_unit *unit, uint32_t line,
                       const char *what, const char *near) noexcept nogil:
    """A finding after which the kernel goes on: told once for each place, a number of places at most; others are
    counted."""
    cdef run *launch = <run *> w.launch
    cdef findings *found = launch.module.found
    cdef ptx_error e
    cdef uint32_t n
    pthread_mutex_lock(&found.lock)
    n = 0
    while n < found.nsites and not is_place(&found.sites[n], unit, line, kind):
        n += 1
    if n < found.nsites or found.nsites == TOLD:
        launch.untold += 1
        if n == found.nsites:
            launch.places += 1
        pthread_mutex_unlock(&found.lock)
        return
    found.sites[n].unit, found.sites[n].line, found.sites[n].kind = unit, line, kind
    found.nsites += 1
    compose_failure(w, mask, 0, address, unit, line, what, near, &e)
    if kind == FOUND_STALE_OWN:
        if not doubt_read(launch, address, &found.sites[n], e.message):
            drop_place(found, &found.sites[n])
    else:
        launch.told += 1
        warn_user(launch, e.message)
    pthread_mutex_unlock(&found.lock)


cdef void tell_rest(run *launch) noexcept nogil:
    """How much a launch found besides what it told."""
    cdef char text[320]
    settle_doubts(launch)
    if launch.told and launch.untold:
        snprintf(text, sizeof(text), "kernel '%s': %llu more of these in this launch%s", launch.function.name,
                 <unsigned long long> launch.untold,
                 ", some at other places (20 places of a module are told)" if launch.places else "")
        warn_user(launch, text)


# --- accesses --------------------------------------------------------------------------------------------------------

cdef void describe_shared(run *launch, uint64_t offset, char *text, size_t size) noexcept nogil:
    """What lies at an offset in shared memory: the variable that begins there or before."""
    cdef ptx_image *image = launch.module.image
    cdef uint64_t start, best = 0, past, dynamic = launch.config.shared_bytes
    cdef size_t i
    cdef uint32_t n, number = 0
    cdef obj *o
    cdef variable_record *v
    cdef variable_record *nearest = NULL
    cdef const char *name = NULL
    cdef int letters = 0
    for i in range(image.nobjects):
        o = &image.objects[i]
        for n in range(o.nvariables):
            v = variable_of(o, n)
            if not is_static_shared(v):
                continue
            start = image.shared_offset[o.first_variable + n]
            if (start <= offset and (nearest == NULL or start >= best)
                    and reaches_shared(image, launch.function, number)):
                nearest, best, name = v, start, string_of(o.index, v.name)
            number += 1
    if name != NULL:
        letters = <int> strlen(name)
        if strchr(name, 64) != strrchr(name, 64):  # FUNCTION@VARIABLE@N: of a function
            letters = <int> (strrchr(name, 64) - strchr(name, 64)) - 1
            name = strchr(name, 64) + 1
    if dynamic and offset >= image.shared_bytes:
        past = offset - image.shared_bytes
        if past < dynamic:
            snprintf(text, size, "%llu bytes into the dynamic shared memory of %llu bytes", <unsigned long long> past,
                     <unsigned long long> dynamic)
        else:
            snprintf(text, size, "%llu bytes past the end of the dynamic shared memory of %llu bytes",
                     <unsigned long long> (past - dynamic),
                     <unsigned long long> dynamic)
    elif nearest == NULL:
        snprintf(text, size, "the block has %llu bytes of shared memory",
                 <unsigned long long> (image.kernel_shared[function_place(image, launch.function)] + dynamic))
    elif offset - best < nearest.size:
        snprintf(text, size, "%llu bytes into the shared variable '%.*s' of %llu bytes",
                 <unsigned long long> (offset - best), letters, name,
                 <unsigned long long> nearest.size)
    else:
        snprintf(text, size, "%llu bytes past the end of the shared variable '%.*s' of %llu bytes",
                 <unsigned long long> (offset - best - nearest.size), letters, name, <unsigned long long> nearest.size)


cdef void wrong_address(gompy_warp *w, int lane, uint64_t address, uint32_t size, uint32_t good, int how,
                        code_unit *unit, uint32_t line) noexcept nogil:
    """An access whose first `good` bytes are allocated ends the kernel."""
    cdef run *launch = <run *> w.launch
    cdef char text[200]
    cdef char near[256]
    cdef char part[64]
    cdef const char *verb = "read" if how == READS else "written" if how == WRITES else "updated"
    cdef const char *space = ""
    cdef const uint64_t *params = <const uint64_t *> launch.config.params
    cdef uint64_t offset = address - GOMPY_LOCAL_BASE
    cdef size_t used
    near[0] = part[0] = 0
    need_room(w, <uint32_t> 1 << lane)
    if offset < LOCAL_WINDOW:
        space = "of local memory "
        snprintf(near, sizeof(near), "%llu bytes past the end of the thread's %llu bytes of local memory in use",
                 <unsigned long long> (offset - w.local_top if offset > w.local_top else 0),
                 <unsigned long long> w.local_top)
    elif GOMPY_SHARED_BASE <= address and address < GOMPY_LOCAL_BASE:
        space = "of shared memory "
        describe_shared(launch, address - GOMPY_SHARED_BASE, near, sizeof(near))
    elif on_gcc_stack(launch, address, 0):
        snprintf(near, sizeof(near), "the stack of a warp, %llu bytes, is exhausted", <unsigned long long> params[2])
    elif on_gcc_stack(launch, address, STACK_BELOW):
        if launch.memory.describe != NULL:
            launch.memory.describe(launch.memory.user, address, near, sizeof(near) - 80)
        used = strlen(near)
        snprintf(near + used, sizeof(near) - used, "%s%llu bytes below the stacks of the warps, %llu bytes each", ", "
                 if used else "",
                 <unsigned long long> (params[1] - address), <unsigned long long> params[2])
    if good:
        snprintf(part, sizeof(part), ", the last %u beyond the end", size - good)
    snprintf(text, sizeof(text), "illegal address 0x%llx %s%s (%u bytes%s)", <unsigned long long> address, space, verb,
             size, part)
    stop_near(w, <uint32_t> 1 << lane, PTX_ERROR_ILLEGAL_ADDRESS, address, unit, line, text, near if near[0] else NULL)


cdef bint on_gcc_stack(run *launch, uint64_t address, uint64_t below) noexcept nogil:
    """Whether an address is in the stacks of GCC's OpenMP code, in device memory, or so many bytes below: a kernel's
    second and third parameter are their place and the size of one; warps have one each (nvptx.cc, write_omp_entry).
    GCC copies local variables there that have no value yet (events of detached tasks, linear variables)."""
    cdef obj *o = &launch.module.image.objects[launch.function.object]
    cdef function_record *f = function_of(o, launch.function.number)
    cdef const uint64_t *params = <const uint64_t *> launch.config.params
    if not o.info.openmp or f.params != 3 or f.param_bytes != 24:
        return False
    return address - params[1] + below < params[2] * launch.config.grid[0] * launch.config.block[1] + below


cdef void guard_stacks(run *launch, int value) noexcept nogil:
    """The lowest bytes of each warp's stack: closed while the kernel runs, so that a stack doesn't grow into the next
    one."""
    cdef const ptx_memory *memory = launch.memory
    cdef const uint64_t *params = <const uint64_t *> launch.config.params
    cdef uint64_t warps = <uint64_t> launch.config.grid[0] * launch.config.block[1], i, at
    if not launch.module.image.check & PTX_CHECK_MEMORY or not on_gcc_stack(launch, params[1], 0) or params[2] < 4096:
        return
    if params[1] - memory.base >= memory.size or params[2] > (memory.size - (params[1] - memory.base)) // warps:
        return
    for i in range(warps):
        memset(memory.shadow + (params[1] - memory.base) + i * params[2], value, STACK_GUARD)
        at = params[1] - memory.base + i * params[2]
        memset(memory.states + (at >> WHOLE_SHIFT), 0,
               ((at + STACK_GUARD - 1) >> WHOLE_SHIFT) - (at >> WHOLE_SHIFT) + 1)


cdef void doubtful_read(gompy_warp *w, int lane, int kind, uint64_t address, uint32_t size, bint shared,
                        code_unit *unit, uint32_t line) noexcept nogil:
    """A read of memory that holds nothing (FOUND_UNWRITTEN), or what it should no longer hold (FOUND_STALE,
    or FOUND_STALE_OWN: in a variable of the module's)."""
    cdef run *launch = <run *> w.launch
    cdef const ptx_memory *memory = launch.memory
    cdef char text[160]
    cdef char near[256]
    cdef const char *space = "shared" if shared else "device"
    near[0] = 0
    need_room(w, <uint32_t> 1 << lane)
    if shared:
        describe_shared(launch, address - GOMPY_SHARED_BASE, near, sizeof(near))
    elif memory.describe != NULL:
        memory.describe(memory.user, address, near, sizeof(near))
    snprintf(text, sizeof(text), "%s memory at 0x%llx read (%u bytes) that %s", space, <unsigned long long> address,
             size, <const char *> b"was never written" if kind == FOUND_UNWRITTEN else
             <const char *> b"the host has changed since it was copied there")
    tell_finding(w, <uint32_t> 1 << lane, kind, address, unit, line, text, near)


cdef bint host_has_written(const ptx_memory *memory, uint64_t address, uint32_t size) noexcept nogil:
    """Whether memory that nothing has written, as far as is known, is the host's, too, and that has."""
    return memory.host_wrote != NULL and memory.host_wrote(memory.user, address, size)


cdef extern from *:
    """
    /* newlib's functions that go by words (libc/string), and libatomic's, whose hardware has no smaller operation: they
       look at the rest of an aligned word of which a byte is theirs.  (memcmp, memcpy and others stay within what they
       are given.) */
    static const char *const gompy_word_functions[] = {
      "memccpy", "memchr", "memrchr", "rawmemchr", "stpcpy", "stpncpy", "strcat", "strchr", "strcmp", "strcpy",
      "strlen", "strncat", "strncmp", "strncpy", "strrchr",
    };
    static int gompy_goes_by_words (const char *name)
    {
      size_t i;
      if (!strncmp (name, "__atomic_", 9))
        return 1;
      for (i = 0; i < sizeof gompy_word_functions / sizeof *gompy_word_functions; i++)
        if (!strcmp (name, gompy_word_functions[i]))
          return 1;
      return 0;
    }
    """
    bint goes_by_words "gompy_goes_by_words"(const char *name) nogil


cdef bint word_function(ptx_module *module, code_unit *unit, uint32_t line) noexcept nogil:
    """Whether a line of PTX is in a library's function that may look at all of a word of which a byte is allocated."""
    cdef obj *o
    cdef uint32_t n
    cdef function_record *f
    if unit == NULL:
        return False
    o = &module.image.objects[unit.object]
    for n in range(o.nfunctions):
        f = function_of(o, n)
        if f.line <= line and line <= f.last_line:
            return goes_by_words(string_of(o.index, f.name))
    return False


cdef bint is_word_of_gcc(ptx_module *module, code_unit *unit, uint64_t address, uint32_t size) noexcept nogil:
    """Whether an aligned word begins in a variable that is as aligned, and GCC's code reads it.

    GCC gives variables more alignment than their types have, knows then that a word is there to its end, and reads a
    bit field in the last one as a word (get_best_mode; it writes a field within its type's bytes).
    """
    cdef obj *o
    cdef uint32_t n
    cdef size_t i
    cdef uint64_t at
    if unit == NULL or not module.image.objects[unit.object].info.by_gcc:
        return False
    for i in range(module.image.nobjects):
        o = &module.image.objects[i]
        for n in range(o.nvariables):
            at = module.addresses[o.first_variable + n]
            if variable_of(o, n).space != SPACE_SHARED and address - at < variable_of(o, n).size:
                return variable_of(o, n).align >= size
    return False


cdef char *checked_place(gompy_warp *w, int lane, uint64_t address, uint32_t size, int how, code_unit *unit,
                         uint32_t line) noexcept nogil:
    """The host address of a lane's memory, marked as written if it will be; does not return if there is none."""
    cdef unsigned check = (<run *> w.launch).module.image.check
    cdef uint64_t offset = address - w.base
    cdef uint8_t *shadow
    cdef char *place
    cdef uint32_t i, good = 0, written = 0
    cdef bint shared = False, stale = False, stale_own = False
    if address & (size - 1):
        bad_address(w, lane, address, size, how != READS, unit, line)
    if offset <= w.size - size:
        shadow, place = w.shadow + offset, <char *> <uintptr_t> address
    else:
        offset = address - GOMPY_SHARED_BASE
        if w.shared_size >= size and offset <= w.shared_size - size:
            shared, shadow, place = True, w.shared_shadow + offset, w.shared + offset
        else:
            place = gompy_place(w, address, size, lane)
            offset = address - GOMPY_LOCAL_BASE
            if place == NULL or (check & PTX_CHECK_MEMORY and offset < w.local_size and offset + size > w.local_top):
                wrong_address(w, lane, address, size, 0, how, unit, line)
            if not gompy_in_shadow(w, address):
                return place
            shadow = w.shadow + (address - w.base)
    while good < size and shadow[good]:
        good += 1
    if good < size and not check & PTX_CHECK_MEMORY:
        return place
    for i in range(size):
        written |= shadow[i]
        stale |= shadow[i] == SHADOW_STALE
        stale_own |= shadow[i] == SHADOW_STALE_OWN
    if good < size and (how == WRITES or not written or not word_function((<run *> w.launch).module, unit, line)) and \
            not (how == READS and good and is_word_of_gcc((<run *> w.launch).module, unit, address, size)):
        wrong_address(w, lane, address, size, good, how, unit, line)
    if how != WRITES and check & PTX_CHECK_INIT:
        # Some bytes: a structure with gaps, copied by words.
        if written == SHADOW_ALLOCATED:
            if not shared and on_gcc_stack(<run *> w.launch, address, 0):
                memset(shadow, SHADOW_WRITTEN, size)
            elif shared or not host_has_written((<run *> w.launch).memory, address, size):
                doubtful_read(w, lane, FOUND_UNWRITTEN, address, size, shared, unit, line)
        elif (stale or stale_own) and not word_function((<run *> w.launch).module, unit, line):
            doubtful_read(w, lane, FOUND_STALE if stale else FOUND_STALE_OWN, address, size, shared, unit, line)
    if how != READS:
        for i in range(size):
            if shadow[i]:
                shadow[i] = SHADOW_WRITTEN
    return place


cdef extern from "spans.h" nogil:
    struct gompy_span:
        pass
    void gompy_look_seldom(gompy_warp *, uint64_t address)
    uint32_t gompy_good_turns(gompy_warp *, gompy_span *, uint32_t count, uint32_t most)
    void gompy_mark_turns(gompy_warp *, const gompy_span *, uint32_t count, uint32_t turns)

cdef extern from "checked_rows.h" nogil:
    char *gompy_checked_range(gompy_warp *, uint64_t address, uint32_t bytes, uint32_t size, bint writes)
    uint32_t gompy_checked_load8(gompy_warp *, uint32_t mask, const uint64_t *a, uint8_t *out)
    uint32_t gompy_checked_load16(gompy_warp *, uint32_t mask, const uint64_t *a, uint16_t *out)
    uint32_t gompy_checked_load32(gompy_warp *, uint32_t mask, const uint64_t *a, uint32_t *out)
    uint32_t gompy_checked_load64(gompy_warp *, uint32_t mask, const uint64_t *a, uint64_t *out)
    uint32_t gompy_checked_store8(gompy_warp *, uint32_t mask, const uint64_t *a, const uint8_t *v)
    uint32_t gompy_checked_store16(gompy_warp *, uint32_t mask, const uint64_t *a, const uint16_t *v)
    uint32_t gompy_checked_store32(gompy_warp *, uint32_t mask, const uint64_t *a, const uint32_t *v)
    uint32_t gompy_checked_store64(gompy_warp *, uint32_t mask, const uint64_t *a, const uint64_t *v)


cdef void check_load1(gompy_warp *w, uint32_t mask, const uint64_t *a, uint8_t *out, code_unit *unit,
                      uint32_t line) noexcept nogil:
    cdef int i
    cdef uint32_t left = gompy_checked_load8(w, mask, a, out)
    while left:
        i = gompy_lowest(left)
        left &= left - 1
        out[i] = (<uint8_t *> checked_place(w, i, a[i], 1, READS, unit, line))[0]


cdef void check_load2(gompy_warp *w, uint32_t mask, const uint64_t *a, uint16_t *out, code_unit *unit,
                      uint32_t line) noexcept nogil:
    cdef int i
    cdef uint32_t left = gompy_checked_load16(w, mask, a, out)
    while left:
        i = gompy_lowest(left)
        left &= left - 1
        out[i] = (<uint16_t *> checked_place(w, i, a[i], 2, READS, unit, line))[0]


cdef void check_load4(gompy_warp *w, uint32_t mask, const uint64_t *a, uint32_t *out, code_unit *unit,
                      uint32_t line) noexcept nogil:
    cdef int i
    cdef uint32_t left = gompy_checked_load32(w, mask, a, out)
    while left:
        i = gompy_lowest(left)
        left &= left - 1
        out[i] = (<uint32_t *> checked_place(w, i, a[i], 4, READS, unit, line))[0]


cdef void check_load8(gompy_warp *w, uint32_t mask, const uint64_t *a, uint64_t *out, code_unit *unit,
                      uint32_t line) noexcept nogil:
    cdef int i
    cdef uint32_t left = gompy_checked_load64(w, mask, a, out)
    while left:
        i = gompy_lowest(left)
        left &= left - 1
        out[i] = (<uint64_t *> checked_place(w, i, a[i], 8, READS, unit, line))[0]


cdef void check_store1(gompy_warp *w, uint32_t mask, const uint64_t *a, const uint8_t *v, code_unit *unit,
                       uint32_t line) noexcept nogil:
    cdef int i
    cdef uint32_t left = gompy_checked_store8(w, mask, a, v)
    while left:
        i = gompy_lowest(left)
        left &= left - 1
        (<uint8_t *> checked_place(w, i, a[i], 1, WRITES, unit, line))[0] = v[i]


cdef void check_store2(gompy_warp *w, uint32_t mask, const uint64_t *a, const uint16_t *v, code_unit *unit,
                       uint32_t line) noexcept nogil:
    cdef int i
    cdef uint32_t left = gompy_checked_store16(w, mask, a, v)
    while left:
        i = gompy_lowest(left)
        left &= left - 1
        (<uint16_t *> checked_place(w, i, a[i], 2, WRITES, unit, line))[0] = v[i]


cdef void check_store4(gompy_warp *w, uint32_t mask, const uint64_t *a, const uint32_t *v, code_unit *unit,
                       uint32_t line) noexcept nogil:
    cdef int i
    cdef uint32_t left = gompy_checked_store32(w, mask, a, v)
    while left:
        i = gompy_lowest(left)
        left &= left - 1
        (<uint32_t *> checked_place(w, i, a[i], 4, WRITES, unit, line))[0] = v[i]


cdef void check_store8(gompy_warp *w, uint32_t mask, const uint64_t *a, const uint64_t *v, code_unit *unit,
                       uint32_t line) noexcept nogil:
    cdef int i
    cdef uint32_t left = gompy_checked_store64(w, mask, a, v)
    while left:
        i = gompy_lowest(left)
        left &= left - 1
        (<uint64_t *> checked_place(w, i, a[i], 8, WRITES, unit, line))[0] = v[i]


cdef uint64_t check_load_uniform(gompy_warp *w, uint32_t mask, uint64_t address, uint32_t size, code_unit *unit,
                                 uint32_t line) noexcept nogil:
    """op_load_uniform, of any memory."""
    cdef int lane = gompy_lowest(mask)
    cdef char *place = gompy_checked_range(w, address, size, size, False)
    gompy_look_seldom(w, address)
    if place != NULL:
        return read_place(place, size)
    place = checked_place(w, lane, address, size, READS, unit, line)
    if address - GOMPY_LOCAL_BASE < LOCAL_WINDOW:
        return op_load_uniform(w, mask, address, size, unit, line)
    return read_place(place, size)


cdef void check_store_uniform(gompy_warp *w, uint32_t mask, uint64_t address, uint64_t value, uint32_t size,
                              code_unit *unit, uint32_t line) noexcept nogil:
    """op_store_uniform, of any memory."""
    cdef int i
    gompy_look_seldom(w, address)
    for i in range(32):
        if mask >> i & 1:
            memcpy(checked_place(w, i, address, size, WRITES, unit, line), &value, size)
            if address - GOMPY_LOCAL_BASE >= LOCAL_WINDOW:
                return


cdef void check_atom(gompy_warp *w, uint32_t mask, int code, const uint64_t *a, const uint64_t *b, const uint64_t *c,
                     uint64_t *out,
                     code_unit *unit, uint32_t line) noexcept nogil:
    cdef int i, how = WRITES if (code & 0xFF) >> 3 == ATOM_EXCH else UPDATES
    cdef uint32_t size = 2 if code & 0x100 else 8 if code & 4 else 4
    cdef char *place
    while mask:
        i = gompy_lowest(mask)
        mask &= mask - 1
        place = gompy_checked_range(w, a[i], size, size, how == WRITES)
        if place == NULL:
            place = checked_place(w, i, a[i], size, how, unit, line)
        out[i] = gompy_atom(code, place, b[i], c[i])


cdef void op_misaligned(gompy_warp *w, uint32_t mask, const uint64_t *a, uint32_t size, code_unit *unit,
                        uint32_t line) noexcept nogil:
    """A vector access with an address that is no multiple of all its bytes."""
    cdef int i
    cdef char text[160]
    for i in range(32):
        if mask >> i & 1 and a[i] & (size - 1):
            snprintf(text, sizeof(text), "misaligned address 0x%llx of a vector of %u bytes", <unsigned long long> a[i],
                     size)
            stop_warp(w, <uint32_t> 1 << i, PTX_ERROR_MISALIGNED_ADDRESS, a[i], unit, line, text)


# --- barriers --------------------------------------------------------------------------------------------------------

cdef void check_barrier(gompy_warp *w, uint32_t mask, int kind, uint32_t number, uint32_t threads, code_unit *unit,
                        uint32_t line) noexcept nogil:
    """bar.sync and bar.arrive: who is missing, and whether the warps mean the same."""
    cdef runner *r = <runner *> w.runner
    cdef uint32_t present = w.mask & ~w.exited, others = 0
    cdef unsigned check = (<run *> w.launch).module.image.check
    cdef char text[200]
    if check & PTX_CHECK_SYNC and number <= 15:
        need_room(w, mask)
        if mask != present and kind & BARRIER_ALIGNED:
            snprintf(text, sizeof(text), "barrier %u reached by %d of %d threads of the warp", number,
                     count_lanes(mask), count_lanes(present))
            tell_finding(w, mask, FOUND_DIVERGED, 0, unit, line, text, NULL)
        if threads == 0 and (w.exited or r.live < r.nwarps):
            snprintf(text, sizeof(text), "barrier %u of the whole block, which %s the block left before", number,
                     "threads of" if w.exited else "warps of")
            tell_finding(w, mask, FOUND_LEFT, 0, unit, line, text, NULL)
        if r.barriers[number].all_arrived and r.barriers[number].wanted != threads:
            others = r.barriers[number].wanted
            snprintf(text, sizeof(text), "barrier %u for %u threads, where another warp waits for %u threads (0: all)",
                     number, threads, others)
            tell_finding(w, mask, FOUND_COUNTS, 0, unit, line, text, NULL)
        elif threads > 32 * r.nwarps:
            snprintf(text, sizeof(text), "barrier %u for %u threads, more than the block has (%u)", number, threads, 32
                     * r.nwarps)
            tell_finding(w, mask, FOUND_COUNTS, 0, unit, line, text, NULL)
    w.wait_unit, w.wait_line, w.wait_place = unit, line, <uint32_t> kind // BARRIER_PLACE
    gompy_barrier(w, mask, kind & (BARRIER_ALIGNED - 1), number, threads, unit, line)


cdef void checked_end(runner *r) noexcept nogil:
    """A warp has ended: nobody may wait for it at a barrier of the whole block."""
    cdef uint32_t i
    cdef gompy_warp *w
    cdef char text[160]
    if not r.launch.module.image.check & PTX_CHECK_SYNC:
        return
    for i in range(r.nwarps):
        w = &r.warps[i]
        if warp_waits(r, i) and r.barriers[w.barrier].wanted == 0 and w.barrier != CLUSTER_BARRIER:
            snprintf(text, sizeof(text), "barrier %u of the whole block, which warps of the block leave without it",
                     w.barrier)
            tell_finding(w, w.mask & ~w.exited, FOUND_LEFT, 0, <code_unit *> w.wait_unit, w.wait_line, text, NULL)
            return


cdef void checked_deadlock(runner *r) noexcept nogil:
    """Every warp waits: say where."""
    cdef uint32_t i, used, expected, named = 0
    cdef gompy_warp *w
    cdef gompy_warp *first = NULL
    cdef char text[400]
    used = <uint32_t> snprintf(text, sizeof(text),
                               "every warp of the block waits at a barrier that nobody else will reach (")
    for i in range(r.nwarps):
        w = &r.warps[i]
        if not warp_waits(r, i):
            continue
        if first == NULL:
            first = w
        expected = r.barriers[w.barrier].wanted
        if expected == 0:
            expected = 32 * r.live
        if named < 4 and w.barrier == CLUSTER_BARRIER:
            used += <uint32_t> snprintf(text + used, sizeof(text) - used, "%swarp %u: the cluster's barrier, line %u",
                                        "; " if named else "", i, w.wait_line)
        elif named < 4:
            used += <uint32_t> snprintf(text + used, sizeof(text) - used,
                                        "%swarp %u: barrier %u for %u threads, line %u", "; " if named else "", i,
                                        w.barrier, expected, w.wait_line)
        named += 1
    if named > 4:
        used += <uint32_t> snprintf(text + used, sizeof(text) - used, "; %u more", named - 4)
    snprintf(text + used, sizeof(text) - used, ")")
    if first == NULL:
        first = &r.warps[0]
    record_failure(first, first.mask & ~first.exited, PTX_ERROR_LAUNCH_TIMEOUT, 0, <code_unit *> first.wait_unit,
                   first.wait_line, text)


cdef void op_warp_sync(gompy_warp *w, uint32_t mask, const uint32_t *members, code_unit *unit,
                       uint32_t line) noexcept nogil:
    """bar.warp.sync: a thread must be in its own mask; before sm_70 all threads of the mask must be here."""
    cdef uint32_t present = w.mask & ~w.exited, away
    cdef ptx_module *module = (<run *> w.launch).module
    cdef obj *o = &module.image.objects[unit.object]
    cdef int i
    cdef char text[200]
    if w.races != NULL:
        gompy_race_warp_sync(<gompy_races *> w.races, w.warpid)
    if not module.image.check & PTX_CHECK_SYNC:
        return
    for i in range(32):
        if not mask >> i & 1:
            continue
        away = members[i] & present & ~mask
        if not members[i] >> i & 1:
            snprintf(text, sizeof(text), "bar.warp.sync with mask 0x%x, in which the thread itself is not", members[i])
        elif away and o.info.architecture < 70:
            snprintf(text, sizeof(text), "bar.warp.sync with mask 0x%x, of which %d threads are elsewhere", members[i],
                     count_lanes(away))
        else:
            continue
        need_room(w, mask)
        tell_finding(w, <uint32_t> 1 << i, FOUND_MEMBERS, 0, unit, line, text, NULL)
        return
