# OpenACC: the gangs of a region run at the same time, as many as there are processors.
#
# A region begins with a call of gompy_acc_gangs, which calls it again in each of the threads that share its gangs;
# there the same call says so, and the region goes on with its loop over the thread's gangs.

cdef public int share_gangs "gompy_acc_gangs"(
    void (*function)(void *) noexcept nogil, void *variables, int gangs, int workers, int vectors
) noexcept nogil:
    """Run a region's gangs.  Not 0: all of them have been run; 0: those of the calling thread are to be run.

    gangs, workers, vectors: sizes; 0: as the launch says, else as many gangs as processors, one worker, one lane.
    """
    cdef mic_lanes *lanes = own_lanes()
    cdef mic_league *league
    cdef int count
    if lanes.shared:
        return 0
    if gangs == 0:
        gangs = launched_size(lanes.launch, 0)
        gangs = gangs if gangs > 0 else team_room
    if workers == 0:
        workers = max(launched_size(lanes.launch, 1), 1)
    if vectors == 0:
        vectors = max(launched_size(lanes.launch, 2), 1)
    set_sizes(lanes, gangs, workers, vectors)
    count = min(gangs, team_room) - 1
    league = league_of(mic_thread_slot) if count > 0 else NULL
    if league == NULL:
        return 0
    league.gangs, league.workers, league.vectors = gangs, workers, vectors
    league.limit = 0
    run_league(league, <void *>function, variables, count)
    set_sizes(lanes, 1, 1, 1)
    return 1
