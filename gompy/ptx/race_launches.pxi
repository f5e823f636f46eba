# Launches whose races are looked for (GOMPY_CHECK=race): one at a time.

cdef int num_waiting                       # races of which it is not known yet whether they are told
cdef gompy_races *all_races             # of the launch that has race_lock
cdef pthread_mutex_t race_lock          # all zeros is PTHREAD_MUTEX_INITIALIZER


cdef extern from "<string.h>" nogil:
    const void *memrchr(const void *, int, size_t)

cdef enum:
    MOST_PLACES = 128


cdef inline uint64_t race_window(const ptx_memory *memory, uint64_t *size) noexcept nogil:
    """The addresses whose accesses are remembered: where they begin, and how many there are."""
    size[0] = memory.whole_size if memory.whole_size else memory.size
    return memory.whole if memory.whole_size else memory.base


cdef bint in_one_block(const ptx_memory *memory, uint64_t one, uint64_t other) noexcept nogil:
    """Whether two addresses are in one block of device memory: between blocks its shadow has a byte of 0."""
    cdef uint64_t low = min(one, other) - memory.base, high = max(one, other) - memory.base
    return memrchr(memory.shadow + low, 0, high - low + 1) == NULL


cdef uint32_t places_of(const run *launch, uint64_t *address, int *bit) noexcept nogil:
    """Where a kernel's accesses may begin, and the bit of each: words of its parameters, and variables.  MOST_PLACES:
    more than that, or a place that is in no block."""
    cdef const ptx_memory *memory = launch.memory
    cdef const ptx_image *image = launch.module.image
    cdef const uint64_t *params = <const uint64_t *> launch.config.params
    cdef uint64_t used = launch.function.writes | launch.function.plain
    cdef uint32_t count = 0, n
    for n in range(RACE_PARAMS):
        if used >> n & 1 and 8 * n + 8 <= launch.config.params_size and params[n] - memory.base < memory.size:
            if memory.shadow[params[n] - memory.base] == 0:
                return MOST_PLACES
            address[count], bit[count] = params[n], <int> n
            count += 1
    if used >> RACE_VARIABLES & 1:
        for n in range(image.nvariables):
            if count == MOST_PLACES:
                break
            if launch.module.addresses[n]:
                address[count], bit[count] = launch.module.addresses[n], RACE_VARIABLES
                count += 1
    return count


cdef uint64_t racy_places(const run *launch) noexcept nogil:
    """The bits of what a kernel may race for (conflicts.py): it is in a block that the kernel writes, and accesses in
    other ways than by atomic operations."""
    cdef uint64_t writes = launch.function.writes, plain = launch.function.plain, found, wrote, used
    cdef uint64_t address[MOST_PLACES]
    cdef int bit[MOST_PLACES]
    cdef uint32_t count, i, k
    if stores_watched or writes >> RACE_ALWAYS & 1:
        return ~<uint64_t> 0
    count = places_of(launch, address, bit)
    if count == MOST_PLACES:
        return ~<uint64_t> 0
    found = <uint64_t> 1 << RACE_ALWAYS
    for i in range(count):
        wrote, used = 0, plain >> RACE_ALWAYS & 1
        for k in range(count):
            if i == k or bit[i] == bit[k] or in_one_block(launch.memory, address[i], address[k]):
                wrote |= writes >> bit[k] & 1
                used |= plain >> bit[k] & 1
        if wrote and used:
            found |= <uint64_t> 1 << bit[i]
    return found


cdef extern from *:
    """
    /* The block that an address is in: its first one, its bytes.  Those that were found are kept, and taken again while
       both ends are still ends of a block.  */
    enum { GOMPY_KNOWN_BLOCKS = 64 };
    static struct gompy_known_block { uint64_t address, low, high; } gompy_known_blocks[GOMPY_KNOWN_BLOCKS];
    static void
    gompy_block_of (const uint8_t *shadow, uint64_t base, uint64_t size, uint64_t address, uint64_t *block)
    {
      struct gompy_known_block *known = &gompy_known_blocks[(address >> 6 ^ address >> 14) % GOMPY_KNOWN_BLOCKS];
      uint64_t at = address - base;
      if (known->address != address || known->high > size || !shadow[known->low] || !shadow[known->high - 1]
          || (known->low && shadow[known->low - 1]) || (known->high < size && shadow[known->high]))
        {
          const uint8_t *low = memrchr (shadow, 0, at), *high = memchr (shadow + at, 0, size - at);
          *known = (struct gompy_known_block) { address, low ? (uint64_t) (low + 1 - shadow) : 0,
                                                high ? (uint64_t) (high - shadow) : size };
        }
      block[0] = base + known->low;
      block[1] = known->high - known->low;
    }
    """
    void block_of "gompy_block_of"(const uint8_t *shadow, uint64_t base, uint64_t size, uint64_t address,
                                   uint64_t *block) nogil

cdef void all_blocks(run *launch) noexcept nogil:
    """Where all accesses are looked at none is a stray: each word points into a block of all memory."""
    cdef uint32_t n
    for n in range(RACE_PARAMS):
        launch.race_blocks[2 * n], launch.race_blocks[2 * n + 1] = 0, ~<uint64_t> 0


cdef void find_blocks(run *launch) noexcept nogil:
    """The blocks that the words of a kernel's parameters point into; none of no bytes where they do not."""
    cdef const ptx_memory *memory = launch.memory
    cdef const uint64_t *params = <const uint64_t *> launch.config.params
    cdef uint64_t used = launch.function.writes | launch.function.plain, at
    cdef uint32_t n
    memset(launch.race_blocks, 0, 2 * RACE_PARAMS * sizeof(launch.race_blocks[0]))
    for n in range(RACE_PARAMS):
        if used >> n & 1 and 8 * n + 8 <= launch.config.params_size:
            at = params[n] - memory.base
            if at < memory.size and memory.shadow[at]:
                block_of(memory.shadow, memory.base, memory.size, params[n], &launch.race_blocks[2 * n])


cdef void find_quiet(run *launch) noexcept nogil:
    """Of the blocks that its parameters point into, those that no thread of the kernel can race for another's."""
    cdef uint64_t used = (launch.function.writes | launch.function.plain) & ~launch.race_mask
    cdef uint32_t n
    for n in range(RACE_PARAMS):
        if used >> n & 1 and launch.race_blocks[2 * n + 1]:
            gompy_race_add_quiet(launch.races, launch.race_blocks[2 * n], launch.race_blocks[2 * n + 1])
            launch.race_blocks[READ_SINCE] = <uint64_t> launch.races.own_first


cdef inline void nothing_read(run *launch) noexcept nogil:
    """Compiled code finds nothing there."""
    launch.race_blocks[READ_SINCE] = ~<uint64_t> 0


cdef void find_read(run *launch) noexcept nogil:
    """Where compiled code finds what has been read of blocks that the launch only reads: so far there are none."""
    cdef const ptx_memory *memory = launch.memory
    cdef uint64_t size = 0
    launch.race_blocks[READ_LOW] = race_window(memory, &size)
    launch.race_blocks[READ_LAST] = gompy_read_last(size)
    launch.race_blocks[READ_LINES] = <uint64_t> launch.races.read
    nothing_read(launch)


cdef void forget_freed(gompy_warp *w, uint64_t address) noexcept nogil:
    """A kernel frees a block: its flags are gone, as those of a team of libgomp are."""
    cdef const ptx_memory *memory = (<ptx_module *> w.module).memory
    cdef uint64_t at = address - memory.base
    cdef uint64_t block[2]
    if at < memory.size and memory.shadow[at]:
        block_of(memory.shadow, memory.base, memory.size, address, block)
        gompy_race_drop_flags(<gompy_races *> w.races, block[0], block[1])


cdef void note_stray(gompy_warp *w) noexcept nogil:
    """A kernel accesses a block by a pointer to another one: from the next block of threads on all of its accesses are
    looked at, also in its later launches."""
    cdef run *launch = <run *> w.launch
    cdef uint32_t i
    launch.race_mask = ~<uint64_t> 0
    launch.races.nquiet = 0
    nothing_read(launch)
    all_blocks(launch)
    launch.function.writes |= <uint64_t> 1 << RACE_ALWAYS
    for i in range((<runner *> w.runner).nwarps):
        (<runner *> w.runner).warps[i].race_mask = launch.race_mask


cdef void describe_work(const ptx_order *order, gompy_work *work) noexcept nogil:
    """An operation of a stream, but for what it is."""
    memset(work, 0, sizeof(gompy_work))
    work.stream, work.number, work.ticket = order.stream, order.number, order.ticket
    work.device = order.device
    work.callers[0], work.callers[1], work.name_caller = order.callers[0], order.callers[1], order.name_caller


cdef bint begin_turns(run *launch) noexcept nogil:
    """Its blocks run together: they take turns.  False: no memory."""
    launch.turns = gompy_turns_new(<uint32_t> launch.blocks)
    return (launch.turns != NULL
            and gompy_grid_new(launch.races, <uint32_t> launch.blocks, launch.config.workspace + 4) == 0)


cdef bint take_turn(runner *r, uint64_t block) noexcept nogil:
    """A block of those begins when it is its turn.  False: the launch has failed."""
    leave_turns(r)
    if not gompy_turn_begin(r.launch.turns, <uint32_t> block, &r.launch.failed):
        return False
    r.turn = <int64_t> block
    gompy_grid_begin(r.launch.races)
    return True


cdef void leave_turns(runner *r) noexcept nogil:
    """The block that the host thread has run, if there is one, is over."""
    if r.turn >= 0:
        gompy_grid_end(r.launch.races)
        gompy_turn_end(r.launch.turns, <uint32_t> r.turn, &r.launch.failed)
        r.turn = -1


cdef bint begin_races(run *launch) noexcept nogil:
    """A launch whose races are looked for: the only one until end_races.  False: no memory."""
    global all_races, num_waiting
    cdef const ptx_memory *memory = launch.memory
    cdef const ptx_order *order = launch.config.order
    cdef gompy_work work
    cdef uint64_t size = 0, low = race_window(memory, &size)
    if order != NULL:
        describe_work(order, &work)
        work.function = launch.function
        memcpy(work.grid, launch.config.grid, sizeof(work.grid))
        memcpy(work.block, launch.config.block, sizeof(work.block))
    pthread_mutex_lock(&race_lock)
    if all_races == NULL:
        all_races = gompy_race_new()
    if all_races == NULL or gompy_race_launch(all_races, low, size, order, &work):
        pthread_mutex_unlock(&race_lock)
        return False
    launch.races = all_races
    find_read(launch)
    all_races.counter = launch.module.found.counter
    num_waiting = 0
    all_races.unsettled = False
    begin_stores()
    all_races.watched = stores_watched
    gompy_race_forget_flags(all_races)
    if launch.config.together and not begin_turns(launch):
        end_races(launch)
        return False
    launch.race_mask = ~<uint64_t> 0 if launch.config.together else racy_places(launch)
    if launch.race_mask == ~<uint64_t> 0:
        all_blocks(launch)
        return True
    find_blocks(launch)
    if order != NULL:  # what no thread of the kernel can race for another stream can
        find_quiet(launch)
        launch.race_mask = ~<uint64_t> 0
    return True


cdef void end_races(run *launch) noexcept nogil:
    gompy_turns_free(launch.turns)
    launch.turns = NULL
    gompy_grid_free(launch.races)
    launch.races = NULL
    end_stores()
    pthread_mutex_unlock(&race_lock)


cdef void forget_races() noexcept nogil:
    """A module goes, and the places in its code with it."""
    pthread_mutex_lock(&race_lock)
    if all_races != NULL:
        gompy_race_forget_sites(all_races)
    pthread_mutex_unlock(&race_lock)


cdef void set_mixed(runner *r, bint mixed) noexcept nogil:
    """Whether the block's warps may not have come from one barrier (conflicts.py)."""
    cdef uint32_t i
    r.mixed = mixed
    for i in range(r.nwarps):
        r.warps[i].race_mask = r.launch.race_mask | (<uint64_t> 1 << RACE_MIXED if mixed else 0)


cdef void no_launch_memory(run *launch, const char *what) noexcept nogil:
    """A launch fails for lack of memory of the host: its blocks have run in part, so the context is lost with it."""
    if gompy_claim(&launch.failed) and launch.failure != NULL:
        launch.failure.code = PTX_ERROR_LAUNCH_FAILED
        snprintf(launch.failure.message, sizeof(launch.failure.message), "%s", what)
    if launch.turns != NULL:
        gompy_turns_abandon(launch.turns)


cdef bint begin_raced_block(runner *r, uint64_t block, uint64_t shared) noexcept nogil:
    """What is known of accesses when a block begins.  False: no memory."""
    if r.launch.turns != NULL and not take_turn(r, block):
        return False
    if r.mixed:
        set_mixed(r, False)
    r.parted = False
    if gompy_race_block(r.launch.races, block, r.nwarps, shared):
        no_launch_memory(r.launch, "no memory for what is known of a block's accesses (GOMPY_CHECK=race)")
        return False
    return True
