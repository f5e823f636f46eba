# Races between streams (GOMPY_CHECK=race): what is told of two operations that nothing orders, and copies.

cdef findings found_between            # by operations that are no kernels


cdef void name_access(ptx_module *module, gompy_race_site *site, const char *verb, const uint32_t *tid,
                      const uint32_t *ctaid, char *text, size_t size) noexcept nogil:
    """`written in 'k' at k.cu:14 (object 0:33) by thread (1,0,0) of block (0,0,0)`."""
    cdef ptx_error e
    cdef char where[340]
    e.function[0] = e.source[0] = e.object[0] = 0
    where[0] = 0
    if site.unit != NULL:
        describe_place(module, <code_unit *> site.unit, site.line, &e)
        if e.source[0]:
            snprintf(where, sizeof(where), " in '%s' at %s:%d (%s:%d)", e.function, e.source, e.source_line, e.object,
                     e.line)
        else:
            snprintf(where, sizeof(where), " in '%s' at %s:%d", e.function, e.object, e.line)
    snprintf(text, size, "%s%s by thread (%u,%u,%u) of block (%u,%u,%u)", verb, where, tid[0], tid[1], tid[2], ctaid[0],
             ctaid[1], ctaid[2])


cdef bint told_before(findings *found, uint32_t a, uint32_t b, bint *new_room) noexcept nogil:
    """Whether a pair of places has been told; else it is noted, if there is room."""
    cdef uint32_t n, low = min(a, b), high = max(a, b)
    new_room[0] = True
    for n in range(found.npairs):
        if found.pairs[n][0] == low and found.pairs[n][1] == high:
            return True
    if found.npairs == TOLD:
        new_room[0] = False
        return False
    found.pairs[found.npairs][0], found.pairs[found.npairs][1] = low, high
    found.npairs += 1
    return False


cdef findings *findings_of(const gompy_work *work) noexcept nogil:
    """Where it is noted what has been told of an operation."""
    if work.function == NULL:
        return &found_between
    return (<ptx_module *> (<ptx_function *> work.function).module).found


cdef void name_end(gompy_races *races, const gompy_work *work, uint32_t who, int32_t epoch, const char *verb,
                   char *text, size_t size) noexcept nogil:
    """One side of a race: `written in 'k' at k.cu:4 (PTX:9) by thread … of block … in stream 1 (k.cu:20)`."""
    cdef uint32_t lane = gompy_who_lane(who), block, n
    cdef uint32_t tid[3]
    cdef uint32_t ctaid[3]
    cdef char asked[320]
    cdef char what[512]
    cdef char device[24]
    asked[0] = device[0] = 0
    if work.callers[0] and work.name_caller != NULL:
        work.name_caller(work.callers, asked, sizeof(asked))
    if work.function == NULL:
        snprintf(what, sizeof(what), "%s by %s", verb, work.what)
    else:
        block = gompy_race_block_of(races, epoch)
        n = 32 * gompy_who_warp(who) + (0 if lane == GOMPY_WHO_ALL else lane)
        tid[0], tid[1], tid[2] = n % work.block[0], n // work.block[0] % work.block[1], (
            n // work.block[0] // work.block[1])
        ctaid[0], ctaid[1], ctaid[2] = block % work.grid[0], block // work.grid[0] % work.grid[1], (
            block // work.grid[0] // work.grid[1])
        name_access(<ptx_module *> (<ptx_function *> work.function).module, &races.sites[gompy_who_site(who)], verb,
                    tid, ctaid, what, sizeof(what))
    if work.device:
        snprintf(device, sizeof(device), " of device %u", work.device - 1)
    if asked[0]:
        snprintf(text, size, "%s in stream %u%s (%s)", what, work.number, device, asked)
    else:
        snprintf(text, size, "%s in stream %u%s", what, work.number, device)


cdef void tell_streams(gompy_races *races, const ptx_memory *memory, uint64_t asker, uint32_t size, bint writes,
                       const gompy_race_found *race) noexcept nogil:
    """A line about accesses of two streams, once for each pair of places."""
    cdef const gompy_work *work = &races.work
    cdef const gompy_work *other = gompy_race_work(races, race.other.epoch)
    cdef findings *found = findings_of(work if work.function != NULL else other)
    cdef const ptx_function *kernel = <const ptx_function *> (work.function if work.function != NULL
                                                             else other.function)
    cdef char near[256]
    cdef char first[900]
    cdef char second[900]
    cdef char name[200]
    cdef char text[2400]
    cdef bint room, told
    cdef const char *verb = "written"
    pthread_mutex_lock(&found.lock)
    told = told_before(found, gompy_who_site(race.who), gompy_who_site(race.other.who), &room) or not room
    pthread_mutex_unlock(&found.lock)
    if told:
        return
    near[0] = 0
    if memory.describe != NULL:
        memory.describe(memory.user, race.address, near, sizeof(near))
    if race.other.who & GOMPY_WHO_STRONG:
        verb = "updated atomically"
    name_end(races, other, race.other.who, race.other.epoch, verb if race.other_writes else <const char *> "read",
             first, sizeof(first))
    verb = "written"
    if race.who & GOMPY_WHO_STRONG:
        verb = "updated atomically"
    name_end(races, work, race.who, races.run_first, verb if writes else <const char *> "read", second,
             sizeof(second))
    name[0] = 0
    if kernel != NULL:
        snprintf(name, sizeof(name), ", kernel '%s'", kernel.name)
    snprintf(text, sizeof(text), "race on device memory at 0x%llx (%u bytes): %s, and %s%s: no event and no wait puts "
             "the streams in an order%s%s", <unsigned long long> race.address, size, first, second, name,
             <const char *> "; " if near[0] else <const char *> "", near)
    warn_owner(memory, asker, text)


cdef public void ptx_note_access(const ptx_memory *memory, const ptx_order *order, uint64_t asker, const char *what,
                                 uint64_t address, uint64_t size, uint64_t rows, uint64_t pitch,
                                 int writes) noexcept nogil:
    """executor.h."""
    global all_races
    cdef gompy_work work
    cdef gompy_race_found found
    cdef uint32_t site
    cdef uint64_t row, window = 0, low = race_window(memory, &window)
    cdef int fresh = 0
    describe_work(order, &work)
    work.what = what
    pthread_mutex_lock(&race_lock)
    if all_races == NULL:
        all_races = gompy_race_new()
    if all_races != NULL and gompy_race_launch(all_races, low, window, order, &work) == 0 and \
            gompy_race_block(all_races, 0, 1, 0) == 0:
        site = gompy_race_site_of(all_races, NULL, <uint32_t> (order.callers[0] ^ order.callers[0] >> 32) | 1, &fresh)
        for row in range(rows):
            if gompy_race_bytes(all_races, site, address + row * pitch, size, writes, &found):
                tell_streams(all_races, memory, asker, 1 if found.address & 3 else 4, writes, &found)
    pthread_mutex_unlock(&race_lock)
