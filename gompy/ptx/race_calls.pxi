# GOMPY_CHECK=race: accesses of compiled code are held against those of other threads (races.h,
# race_accesses.h), and races are told.

cdef uint32_t site_number(gompy_warp *w, code_unit *unit, uint32_t line) noexcept nogil:
    """The number of a place in PTX."""
    cdef int fresh = 0
    cdef gompy_races *races = <gompy_races *> w.races
    cdef uint32_t site = gompy_race_site_of(races, unit, line, &fresh)
    cdef obj *o
    if fresh:
        o = &(<run *> w.launch).module.image.objects[unit.object]
        races.sites[site].library = o.info.library
        if o.info.architecture < 70:
            races.sites[site].ways = <uint32_t> GOMPY_IN_STEP | <uint32_t> GOMPY_PLAIN_READS
        elif o.info.by_gcc:
            races.sites[site].ways = GOMPY_PLAIN_READS
    return site


# --- writes of one value --------------------------------------------------------------------------------------------
#
# Threads that write the same value to a word are many programs' way to set a flag, and what OpenACC's gangs do with a
# scalar.  It is known behind the second write only: until then the race is kept.

cdef enum:
    KEPT = 64

cdef struct doubtful_race:
    gompy_warp *warp
    int lane
    uint32_t size, span      # bytes that are told; that the lane writes from there on
    char *place
    char[16] old
    gompy_race_found found

cdef doubtful_race waiting_races[KEPT]


cdef void note_race(gompy_warp *w, int lane, uint64_t address, const gompy_access *access,
                    const gompy_race_found *found) noexcept nogil:
    """Tell a race of a lane's access, or keep it if it may be a write of what has been written there."""
    global num_waiting
    cdef doubtful_race *race
    cdef char *place = NULL
    cdef bint writes = access.writes
    cdef uint32_t size = min(access.size, 4), span = <uint32_t> (address + access.size - found.address)
    if not 0 < span <= 16:  # it begins within a word; of wide ones another word may differ
        span = size
    if writes and found.other_writes and not (found.who & GOMPY_WHO_STRONG or found.other.who & GOMPY_WHO_STRONG):
        place = gompy_place(w, found.address, span, lane)
    if place == NULL or num_waiting == KEPT:
        tell_race(w, lane, size, writes, found)
        return
    race = &waiting_races[num_waiting]
    race.warp, race.lane, race.size, race.span = w, lane, size, span
    race.place, race.found = place, found[0]
    memcpy(race.old, place, span)
    # Libraries' accesses there are told as well, which settle it.
    gompy_race_near(<gompy_races *> w.races, found.address)
    gompy_race_near(<gompy_races *> w.races, found.address + span - 1)
    num_waiting += 1
    (<gompy_races *> w.races).unsettled = True


cdef void settle_races() noexcept nogil:
    """The writes have been done: tell of those that changed what was there."""
    global num_waiting
    cdef doubtful_race *race
    cdef int i
    for i in range(num_waiting):
        race = &waiting_races[i]
        if memcmp(race.place, race.old, race.span):
            tell_race(race.warp, race.lane, race.size, True, &race.found)
    num_waiting = 0
    all_races.unsettled = False


# --- what compiled code calls ----------------------------------------------------------------------------------------

cdef void look_at_lanes(gompy_warp *w, uint32_t mask, const uint64_t *a, gompy_access *access) noexcept nogil:
    """Accesses of some lanes."""
    cdef gompy_race_found found
    cdef int lane = 0
    if access.writes and access.size < 4:
        lane = gompy_race_hidden(<gompy_races *> w.races, access, mask, a, w.shared_size, &found)
        if lane < 32:
            note_race(w, lane, a[lane], access, &found)
        lane = 0
    while True:
        lane = gompy_race_lanes(<gompy_races *> w.races, access, mask, a, w.shared_size, lane, &found)
        if lane >= 32:
            return
        note_race(w, lane, a[lane], access, &found)
        lane += 1


cdef void look_at_one(gompy_warp *w, int lane, uint32_t its, uint64_t address, gompy_access *access) noexcept nogil:
    """An access by one address of all lanes."""
    cdef gompy_race_found found
    if gompy_race_one(<gompy_races *> w.races, access, address, its, w.shared_size, &found):
        note_race(w, lane, address, access, &found)


cdef void look_at_row(gompy_warp *w, uint32_t mask, uint64_t first, gompy_access *access) noexcept nogil:
    """Accesses of neighbouring lanes, whose words are neighbours, lane 0's at `first`."""
    cdef uint64_t row[32]
    mask = gompy_race_row_now(<gompy_races *> w.races, access, mask, first, w.shared_size)
    if mask:
        gompy_row_lanes(row, first, access.size)
        look_at_lanes(w, mask, row, access)


cdef void look_at_later(gompy_warp *w) noexcept nogil:
    """What was put off (race_later.h)."""
    cdef gompy_races *races = <gompy_races *> w.races
    cdef gompy_warp *warps = (<runner *> w.runner).warps
    cdef uint32_t i, site, count = gompy_race_take_later(races)
    cdef int32_t own
    cdef uint64_t row[32]
    cdef gompy_later *later
    cdef gompy_warp *its
    for i in range(count):
        later = &races.later[i]
        its = &warps[gompy_who_warp(later.access.who)]
        if later.unit != NULL:
            site = site_number(its, <code_unit *> later.unit, later.line)
            if races.sites[site].library:
                continue
            own = later.access.own
            later.access = gompy_race_access(races, its.warpid, 4, site << 16, later.access.writes,
                                             races.sites[site].ways)
            later.access.own = own
        if later.its:
            look_at_one(its, gompy_lowest(later.mask), later.its & ~(<uint32_t> GOMPY_EVERY_LANE), later.first,
                        &later.access)
        else:
            look_at_lanes(its, later.mask, gompy_later_lanes(races, later, row), &later.access)


cdef inline bint is_later(gompy_warp *w, uint32_t mask, const uint64_t *a, uint32_t its,
                          const gompy_access *access) noexcept nogil:
    """Whether an access is put off.  Those that were are looked at first, if this one may conflict with them."""
    cdef int later = gompy_race_later(<gompy_races *> w.races, access, mask, a, its, w.shared_size)
    if later < 0:
        look_at_later(w)
    return later > 0


cdef inline void look_at(gompy_warp *w, uint32_t mask, const uint64_t *a, gompy_access *access) noexcept nogil:
    """Accesses of some lanes, now or later."""
    if w.shared_size and is_later(w, mask, a, 0, access):
        return
    look_at_lanes(w, mask, a, access)


cdef inline bint can_order(gompy_warp *w) noexcept nogil:
    """Whether an atomic word can order anything: some flag is there to be read, or the warp's fence makes it one, or it
    may be of the grid's barrier."""
    cdef gompy_races *races = <gompy_races *> w.races
    return races.nflags or races.has_fenced[w.warpid] or races.grid != NULL


cdef inline void end_notes_of(gompy_races *races, uint32_t mask, const uint64_t *a, uint32_t size) noexcept nogil:
    """What the warp has noted of the words that lanes access now comes before that."""
    cdef int i
    if races.nnoted:
        for i in range(32):
            if mask >> i & 1:
                gompy_race_end_notes_at(races, a[i], size)


cdef void op_race(gompy_warp *w, uint32_t mask, const uint64_t *a, uint32_t word, code_unit *unit,
                  uint32_t line) noexcept nogil:
    """Accesses with an address for each lane; word: bytes, RACE_*."""
    cdef gompy_races *races = <gompy_races *> w.races
    cdef uint32_t site, who
    cdef bint writes = word & RACE_WRITES
    cdef gompy_access access
    cdef int i
    if stores_watched:
        note_stores(w, mask, a, 0, word & 0xFF, writes, unit, line)
        return
    if word & RACE_STRAYS:
        note_stray(w)
    site = site_number(w, unit, line)
    who = site << 16
    if num_waiting:
        settle_races()
    if races.sites[site].library:
        for i in range(32):
            if mask >> i & 1:
                lock_word(w, a[i], writes)
        return
    end_notes_of(races, mask, a, word & 0xFF)
    if word & RACE_STRONG:
        who |= GOMPY_WHO_STRONG
    access = gompy_race_access(races, w.warpid, word & 0xFF, who, writes, races.sites[site].ways)
    if word & RACE_GLOBAL:
        look_at_lanes(w, mask, a, &access)
    else:
        look_at(w, mask, a, &access)
    if word & RACE_STRONG and can_order(w):
        for i in range(32):
            if mask >> i & 1:
                order_by(w, a[i], writes, not writes, word & RACE_ACQUIRES, False)
    elif not writes and races.nflags and races.sites[site].ways & <uint32_t> GOMPY_PLAIN_READS:
        for i in range(32):
            if mask >> i & 1:
                gompy_race_look(races, w.warpid, a[i])


cdef bint rows_near_flags(const gompy_races *races, uint64_t first, uint64_t second, uint32_t size) noexcept nogil:
    """Whether one of two rows of so many bytes is near an atomic word."""
    cdef uint64_t at
    for at in range(0, size, 128):
        if gompy_race_flags_near(races, first + at) or gompy_race_flags_near(races, second + at):
            return True
    return gompy_race_flags_near(races, first + size - 1) or gompy_race_flags_near(races, second + size - 1)


cdef void op_race_row(gompy_warp *w, uint32_t mask, uint64_t first, uint64_t second, uint32_t word, void *unit,
                      uint32_t line) noexcept nogil:
    """Plain accesses of neighbouring words by neighbouring lanes, from lane 0's on, and from lane 16's on."""
    cdef gompy_races *races = <gompy_races *> w.races
    cdef uint32_t site, size = word & 0xFF, some
    cdef uint64_t row[32]
    cdef gompy_access access
    cdef int half, later
    site = site_number(w, <code_unit *> unit, line)
    if (stores_watched or word & RACE_STRAYS or races.sites[site].library
            or races.nnoted or (races.nflags and rows_near_flags(races, first, second, 16 * size))):
        gompy_row_lanes(row, first, size)
        for half in range(16, 32):
            row[half] = second + (half - 16) * size
        op_race(w, mask, row, word, <code_unit *> unit, line)
        return
    if num_waiting:
        settle_races()
    access = gompy_race_access(races, w.warpid, size, site << 16, word & RACE_WRITES, races.sites[site].ways)
    second -= 16 * size
    for half in range(1 if first == second else 2):
        some = mask if first == second else mask & 0xFFFF if half == 0 else mask & <uint32_t> 0xFFFF0000
        if some == 0:
            continue
        later = 0
        if races.nquiet and not access.writes:
            access.quiet_since = gompy_race_quiet_since(races, some, second if half else first, size)
        if w.shared_size and not word & RACE_GLOBAL:
            later = gompy_race_row_later(races, &access, some, second if half else first, w.shared_size)
            if later < 0:
                look_at_later(w)
        if later <= 0:
            look_at_row(w, some, second if half else first, &access)
            if access.quiet_since == races.own_first:
                gompy_race_row_read(races, some, second if half else first, size)


cdef void op_race_uniform(gompy_warp *w, uint32_t mask, uint64_t address, uint32_t word, code_unit *unit,
                          uint32_t line) noexcept nogil:
    """An access by one address of all lanes."""
    cdef gompy_races *races = <gompy_races *> w.races
    cdef uint32_t site, who
    cdef bint writes = word & RACE_WRITES
    cdef int lane = gompy_lowest(mask)
    cdef uint32_t its = <uint32_t> lane if mask & (mask - 1) == 0 else <uint32_t> GOMPY_WHO_ALL
    cdef gompy_access access
    if stores_watched:
        note_stores(w, mask, NULL, address, word & 0xFF, writes, unit, line)
        return
    if word & RACE_STRAYS:
        note_stray(w)
    site = site_number(w, unit, line)
    who = site << 16
    if num_waiting:
        settle_races()
    if races.sites[site].library:
        lock_word(w, address, writes)
        return
    gompy_race_end_notes_at(races, address, word & 0xFF)
    if word & RACE_STRONG:
        who |= GOMPY_WHO_STRONG
    access = gompy_race_access(races, w.warpid, word & 0xFF, who, writes, races.sites[site].ways)
    if word & RACE_GLOBAL or not w.shared_size or not is_later(w, mask, &address, its | GOMPY_EVERY_LANE, &access):
        look_at_one(w, lane, its, address, &access)
    if word & RACE_STRONG and can_order(w):
        order_by(w, address, writes, not writes, word & RACE_ACQUIRES, False)
    elif not writes and races.nflags and races.sites[site].ways & <uint32_t> GOMPY_PLAIN_READS:
        gompy_race_look(races, w.warpid, address)


cdef void op_race_atom(gompy_warp *w, uint32_t mask, const uint64_t *a, uint32_t word, code_unit *unit,
                       uint32_t line) noexcept nogil:
    """Atomic operations, before they are done; word: bytes, RACE_ACQUIRES.  Those of the compiler's libraries are
    their locks, which order what is around them."""
    cdef gompy_races *races = <gompy_races *> w.races
    cdef uint32_t site, size = word & 0xFF
    cdef bint library
    cdef gompy_access access
    cdef int i
    if stores_watched:
        note_stores(w, mask, a, 0, size, True, unit, line)
        return
    if word & RACE_STRAYS:
        note_stray(w)
    site = site_number(w, unit, line)
    library = races.sites[site].library
    if num_waiting:
        settle_races()
    if not library:
        end_notes_of(races, mask, a, size)
        access = gompy_race_access(
            races, w.warpid, size, site << 16 | GOMPY_WHO_STRONG, True, races.sites[site].ways)
        look_at(w, mask, a, &access)
        if not can_order(w):
            return
    for i in range(32):
        if mask >> i & 1:
            order_by(w, a[i], True, True, library or word & RACE_ACQUIRES, library)


cdef void race_barrier(gompy_warp *w, uint32_t mask, int kind, uint32_t number, uint32_t threads, code_unit *unit,
                       uint32_t line) noexcept nogil:
    """check_barrier."""
    if num_waiting:
        settle_races()
    if w.races != NULL and mask != w.mask & ~w.exited:
        (<runner *> w.runner).parted = True
    check_barrier(w, mask, kind, number, threads, unit, line)


cdef void op_race_come(gompy_warp *w) noexcept nogil:
    """A warp comes to a barrier, where one call runs all warps of a block (fission.py)."""
    if num_waiting:
        settle_races()
    gompy_race_come(<gompy_races *> w.races, w.warpid)


cdef void op_race_end(gompy_warp *w) noexcept nogil:
    """It ends."""
    gompy_race_end_notes(<gompy_races *> w.races)
    if num_waiting:
        settle_races()


cdef void op_race_meet(gompy_warp *w, const uint8_t *states, uint32_t ended) noexcept nogil:
    """All warps that have not ended have come, to barriers of these numbers, or NULL: all to the same one."""
    cdef runner *r = <runner *> w.runner
    cdef gompy_races *races = <gompy_races *> w.races
    cdef uint32_t i, waiting = 0, all_warps = <uint32_t> ((<uint64_t> 1 << r.nwarps) - 1)
    cdef bint mixed = False
    if states == NULL:
        waiting = all_warps
    else:
        for i in range(r.nwarps):
            if states[i] != ended:
                waiting |= <uint32_t> 1 << i
                mixed |= states[i] != states[gompy_lowest(waiting)]
    if waiting == all_warps:
        gompy_race_meet(races)
    elif waiting:
        leave_together(races, 0, waiting)
        mixed = True
    if mixed != r.mixed:
        set_mixed(r, mixed)


cdef void order_by(gompy_warp *w, uint64_t address, bint writes, bint reads, bint acquires,
                   bint library) noexcept nogil:
    """What an access of an atomic word orders; `acquires`: without a fence behind it."""
    cdef gompy_races *races = <gompy_races *> w.races
    if address - GOMPY_LOCAL_BASE < LOCAL_WINDOW:
        return
    # Each block counts its threads there when it ends, which nobody looks at (GCC, libgomp/team.c: gomp_free_thread).
    if library and address == races.counter:
        return
    if races.grid != NULL and address == races.grid.word:
        if writes:
            gompy_grid_arrive(races, w.warpid)
        else:
            gompy_grid_read(races, w.warpid)
        if acquires:
            gompy_race_acquire(races, w.warpid)
        return
    if library:
        gompy_race_fence(races, w.warpid)
    if reads and acquires:
        gompy_race_learn(races, w.warpid, address)
    elif reads:
        gompy_race_look(races, w.warpid, address)
    if writes:
        gompy_race_publish(races, w.warpid, address)


cdef void lock_word(gompy_warp *w, uint64_t address, bint writes) noexcept nogil:
    """A plain access by the compiler's libraries: those of words that they update by atomic operations are of locks."""
    if gompy_race_is_flag(<gompy_races *> w.races, address):
        order_by(w, address, writes, not writes, True, True)


cdef void op_race_fence(gompy_warp *w, uint32_t mask) noexcept nogil:
    """membar, fence."""
    gompy_race_fence(<gompy_races *> w.races, w.warpid)


# --- what is told ----------------------------------------------------------------------------------------------------

cdef const char *why_unordered(const gompy_races *races, const gompy_race_found *race) noexcept nogil:
    """What would have ordered two accesses."""
    if (race.who ^ race.other.who) & GOMPY_WHO_STRONG:
        return "one is atomic, the other is not, and nothing orders them"
    if not gompy_race_own(races, race.other.epoch):
        return "blocks have no order among themselves"
    if gompy_who_warp(race.who) == gompy_who_warp(race.other.who):
        return "the lanes of a warp go their own ways: no __syncwarp (bar.warp.sync) is between them"
    return "no barrier is between them"


cdef bint is_runtimes_own(const char *near) noexcept nogil:
    """Whether shared memory is no program's.

    GCC's for OpenACC, where warps go on together behind a barrier (meet_warps); that of LLVM's device runtime, whose
    races no author of a program can mend."""
    return (strstr(near, "'__oacc_") != NULL or strstr(near, "'__worker_") != NULL or strstr(near, "'__vector_") != NULL
            or strstr(near, "'_ZN4ompx") != NULL)


cdef void tell_race(gompy_warp *w, int lane, uint32_t size, bint writes, const gompy_race_found *race) noexcept nogil:
    """A line about two accesses that nothing orders, once for each pair of places."""
    cdef run *launch = <run *> w.launch
    cdef gompy_races *races = launch.races
    cdef ptx_module *module = launch.module
    cdef const ptx_launch_config *config = launch.config
    cdef gompy_warp *owner = &(<runner *> w.runner).warps[gompy_who_warp(race.other.who)]
    cdef uint64_t address = race.address
    cdef uint32_t who = race.who, block = gompy_race_block_of(races, race.other.epoch)
    cdef uint32_t other_lane = gompy_who_lane(race.other.who)
    cdef uint32_t ctaid[3]
    cdef uint32_t tid[3]
    cdef uint32_t own[3]
    cdef char near[256]
    cdef char first[512]
    cdef char second[512]
    cdef char text[1400]
    cdef const char *verb = "written"
    cdef bint room, strong = who & GOMPY_WHO_STRONG, other_strong = race.other.who & GOMPY_WHO_STRONG
    cdef bint same_warp, in_shared = address - GOMPY_SHARED_BASE < w.shared_size
    cdef int i
    if race.other.epoch < races.own_first:
        need_room(w, <uint32_t> 1 << lane)
        tell_streams(races, launch.memory, launch.config.asker, size, writes, race)
        return
    near[0] = 0
    need_room(w, <uint32_t> 1 << lane)
    if in_shared:
        describe_shared(launch, address - GOMPY_SHARED_BASE, near, sizeof(near))
        if is_runtimes_own(near):
            return
    elif launch.memory.describe != NULL:
        launch.memory.describe(launch.memory.user, address, near, sizeof(near))
    pthread_mutex_lock(&module.found.lock)
    if told_before(module.found, gompy_who_site(who), gompy_who_site(race.other.who), &room) or not room:
        launch.untold += 1
        if not room:
            launch.places += 1
        pthread_mutex_unlock(&module.found.lock)
        return
    launch.told += 1
    pthread_mutex_unlock(&module.found.lock)
    same_warp = owner == w and race.other.epoch >= races.run_first
    if other_lane == GOMPY_WHO_ALL:
        other_lane = same_warp and lane == 0
    elif same_warp and <uint32_t> lane == other_lane:  # of all lanes, another one
        lane = lane == 0
    ctaid[0], ctaid[1], ctaid[2] = block % config.grid[0], block // config.grid[0] % config.grid[1], (
        block // config.grid[0] // config.grid[1])
    for i in range(3):
        tid[i], own[i] = owner.tid[i][other_lane], w.tid[i][lane]
    if other_strong:
        verb = "updated atomically"
    name_access(module, &races.sites[gompy_who_site(race.other.who)],
                verb if race.other_writes else <const char *> "read", tid, ctaid, first, sizeof(first))
    verb = "written"
    if strong:
        verb = "updated atomically"
    name_access(module, &races.sites[gompy_who_site(who)], verb if writes else <const char *> "read", own, w.ctaid,
                second, sizeof(second))
    snprintf(text, sizeof(text), "race on %s memory at 0x%llx (%u bytes): %s, and %s, kernel '%s': %s%s%s",
             <const char *> "shared" if in_shared else <const char *> "device", <unsigned long long> address, size,
             first, second, launch.function.name, why_unordered(races, race),
             <const char *> "; " if near[0] else <const char *> "", near)
    warn_user(launch, text)


cdef void pass_turn(runner *r) noexcept nogil:
    """All warps of a block wait: another block's turn."""
    cdef gompy_races *races = r.launch.races
    cdef gompy_block_known known
    gompy_race_end_notes(races)
    if num_waiting:
        settle_races()
    if races.nlater:
        look_at_later(&r.warps[0])
    known = races.known
    gompy_turn_pass(r.launch.turns, <uint32_t> r.turn, &r.launch.failed)
    if gompy_grid_resume(races, &known):
        no_launch_memory(r.launch, "no memory for what is known of a block's accesses (GOMPY_CHECK=race)")
