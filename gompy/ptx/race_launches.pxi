# Launches whose races are looked for (GOMPY_CHECK=race): one at a time.

cdef int num_waiting                       # races of which it is not known yet whether they are told
cdef gompy_races *all_races             # of the launch that has race_lock
cdef pthread_mutex_t race_lock          # all zeros is PTHREAD_MUTEX_INITIALIZER


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
