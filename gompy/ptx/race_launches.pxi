# Launches whose races are looked for (GOMPY_CHECK=race): one at a time.

cdef int num_waiting                       # races of which it is not known yet whether they are told
cdef gompy_races *all_races             # of the launch that has race_lock
cdef pthread_mutex_t race_lock          # all zeros is PTHREAD_MUTEX_INITIALIZER


cdef extern from "<string.h>" nogil:
    const void *memrchr(const void *, int, size_t)

cdef enum:
    MOST_PLACES = 128


cdef bint in_one_block(const ptx_memory *memory, uint64_t one, uint64_t other) noexcept nogil:
    """Whether two addresses are in one block of device memory: between blocks its shadow has a byte of 0."""
    cdef uint64_t low = min(one, other) - memory.base, high = max(one, other) - memory.base
    return memrchr(memory.shadow + low, 0, high - low + 1) == NULL


cdef uint32_t places_of(const run *launch, uint64_t *address, int *bit) noexcept nogil:
    """Where a kernel's accesses may begin, and the bit of each: words of its parameters, and variables.  MOST_PLACES:
    more than that, or a place that is in no block."""
    cdef const ptx_memory *memory = launch.module.memory
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
            if i == k or bit[i] == bit[k] or in_one_block(launch.module.memory, address[i], address[k]):
                wrote |= writes >> bit[k] & 1
                used |= plain >> bit[k] & 1
        if wrote and used:
            found |= <uint64_t> 1 << bit[i]
    return found


cdef bint begin_races(run *launch) noexcept nogil:
    """A launch whose races are looked for: the only one until end_races.  False: no memory."""
    global all_races, num_waiting
    cdef const ptx_memory *memory = launch.module.memory
    pthread_mutex_lock(&race_lock)
    if all_races == NULL:
        all_races = gompy_race_new()
    if all_races == NULL or gompy_race_launch(all_races, memory.base, memory.size):
        pthread_mutex_unlock(&race_lock)
        return False
    launch.races = all_races
    num_waiting = 0
    begin_stores()
    launch.race_mask = racy_places(launch)
    return True


cdef void end_races(run *launch) noexcept nogil:
    launch.races = NULL
    end_stores()
    pthread_mutex_unlock(&race_lock)


cdef void forget_races() noexcept nogil:
    """A module goes, and the places in its code with it."""
    pthread_mutex_lock(&race_lock)
    if all_races != NULL:
        gompy_race_forget_sites(all_races)
    pthread_mutex_unlock(&race_lock)
