# Teams of a region run at the same time, as many as there are processors.
#
# A region with teams is a function with the loop `for (first = 1; GOMP_teams4 (lo, hi, limit, first); first = 0) team`.
# K threads run the whole function at once; in thread k the loop visits the teams k, k + K, k + 2 K, ...: GOMP_teams4
# below calls libgomp's own as often as needed, so that libgomp's thread state (team number, number of teams, what a
# team's parallel regions inherit of it) is right without knowing it.  The slot's thread is thread 0.
#
# How many: num_teams (lower: upper) gives any number in between, the one nearest to K; without the clause it is
# OMP_NUM_TEAMS, else K (as GCC's nvptx libgomp does it: config/nvptx/target.c).  Threads: the teams share the
# processors.
#
# Where images tell of their accesses the device has two processors at least, as one team of one thread cannot race with
# anybody, and the same region on a larger machine does.

cdef extern from *:
    """
    /* One of the threads that help a slot's own with teams.  */
    struct mic_helper
    {
      uint32_t request __attribute__ ((aligned (128)));  /* counts up; the futex that the helper sleeps on */
      uint32_t sleeps;
      uint32_t cpu;     /* its processor, see waiting.pxi */
      struct mic_league *league;
      int number;
    };
    /* A slot's helpers, and what they run now.  */
    struct mic_league
    {
      void *function, *variables;
      uint64_t limit;
      uint32_t launch, floor;  /* of device_access.h */
      int step;         /* K */
      int usual;        /* number of teams without a num_teams clause */
      int threads;      /* default number of threads of a parallel region in a team */
      int helpers;      /* that have been started */
      int gangs, workers, vectors; /* of an OpenACC region; no gangs: it has teams */
      uint64_t spin_ns;
      uint32_t left __attribute__ ((aligned (128)));     /* helpers at work; the slot's thread's futex */
      uint32_t sleeps;
      uint32_t cpu;     /* of the slot's thread */
      struct mic_helper helper[];
    };
    static struct mic_league *mic_leagues[MIC_ALL_SLOTS];
    /* Which teams are the calling thread's: first, and every step-th after it; step 0: all.  And how many there are
       if the construct doesn't say.  */
    static __thread int mic_team_first, mic_team_step, mic_team_usual;
    static inline void mic_set_share (int first, int step, int usual)
    { mic_team_first = first; mic_team_step = step; mic_team_usual = usual; }
    """
    struct mic_helper:
        uint32_t request
        uint32_t sleeps
        uint32_t cpu
        mic_league *league
        int number
    struct mic_league:
        void *function
        void *variables
        uint64_t limit
        uint32_t launch, floor
        int step
        int usual
        int threads
        int helpers
        int gangs
        int workers
        int vectors
        uint64_t spin_ns
        uint32_t left
        uint32_t sleeps
        uint32_t cpu
        mic_helper *helper
    mic_league *mic_leagues[97]
    int mic_team_first
    int mic_team_step
    int mic_team_usual
    void mic_set_share(int first, int step, int usual) nogil

cdef int team_room        # most teams that run at the same time
cdef int team_processors
cdef int team_threads     # threads that a region's teams have together, if the program doesn't say


cdef void prepare_teams() noexcept nogil:
    """Before the first region: libgomp's own GOMP_teams4, behind ours; processors; what the environment says.

    OMP_NUM_THREADS without a suffix is how many threads all teams of a region have by default, one with a suffix how
    many each of them has.
    """
    global stock_teams, team_room, team_processors, team_threads
    stock_teams = <teams_function>dlsym(RTLD_NEXT, b"GOMP_teams4")
    team_processors = omp_get_num_procs()
    if control.exact and team_processors < 2:
        team_processors = 2
    team_room = control.teams if control.teams else team_processors
    team_threads = team_processors if secure_getenv(b"OMP_NUM_THREADS") == NULL else omp_get_max_threads()


cdef void usual_threads() noexcept nogil:
    """Before the calling thread's first region: as many threads as processors, if the program doesn't say."""
    if control.exact and secure_getenv(b"OMP_NUM_THREADS") == NULL and omp_get_max_threads() < team_processors:
        omp_set_num_threads(team_processors)


cdef int choose_teams() noexcept nogil:
    """How many teams a construct without num_teams has."""
    cdef int count = omp_get_max_teams()
    if count > 0:
        return count
    count = team_room
    if control.threads:
        count = team_processors // team_threads
    elif team_threads < count:
        count = team_threads
    return count if count > 0 else 1


cdef public bint device_teams "GOMP_teams4"(unsigned lo, unsigned hi, unsigned thread_limit,
                                            c_bool first) noexcept nogil:
    """Enter the calling thread's next team.  False: it has no more."""
    cdef bint entered = next_team(lo, hi, thread_limit, first)
    if entered:
        begin_team()
    return entered


cdef bint next_team(unsigned lo, unsigned hi, unsigned thread_limit, c_bool first) noexcept nogil:
    """What libgomp has of it."""
    cdef int i, steps = mic_team_step
    cdef unsigned count = lo
    if first and thread_limit == 0 and 0 < omp_get_teams_thread_limit() < omp_get_thread_limit():
        thread_limit = <unsigned>omp_get_teams_thread_limit()
    if steps == 0:
        return stock_teams(lo, hi, thread_limit, first)
    if first:
        if hi == 0:
            count = <unsigned>mic_team_usual
        elif lo < hi:
            count = <unsigned>steps
            count = lo if count < lo else hi if count > hi else count
        stock_teams(count, count, thread_limit, True)
        steps = mic_team_first
    for i in range(steps):
        if not stock_teams(lo, hi, thread_limit, False):
            return False
    return True


cdef void run_share(mic_league *league, int number) noexcept nogil:
    """Run the teams, or gangs, of thread ``number``.  The caller restores the control variables."""
    global mic_launch, mic_floor
    cdef mic_lanes *lanes
    mic_launch = league.launch
    mic_floor = league.floor
    end_team()
    omp_set_num_threads(league.threads)
    limit_threads(league.limit)
    if league.gangs:
        lanes = own_lanes()
        set_sizes(lanes, league.gangs, league.workers, league.vectors)
        lanes.first, lanes.step, lanes.shared = number, league.step, 1
        (<region_function>league.function)(league.variables)
        lanes.shared = 0
    else:
        mic_set_share(number, league.step, league.usual)
        (<region_function>league.function)(league.variables)
        mic_set_share(0, 0, 0)
    end_team()


cdef void *helper_thread(void *arg) noexcept nogil:
    """Run shares of a slot's regions, for ever."""
    cdef mic_helper *me = <mic_helper *>arg
    cdef mic_league *league = me.league
    cdef uint32_t seen = 0
    cdef control_variables variables
    save_variables(&variables)
    while True:
        while not look_while_equal(&me.request, seen, league.spin_ns, &me.cpu, &league.cpu):
            exchange32(&me.sleeps, 1, SEQ_CST)
            if load32(&me.request, SEQ_CST) == seen:
                futex_wait(&me.request, seen, -1)
                publish_processor(&me.cpu)
            store32(&me.sleeps, 0, RELAXED)
        seen += 1
        run_share(league, me.number)
        restore_variables(&variables)
        if add32(&league.left, ~<uint32_t>0, SEQ_CST) == 0 and load32(&league.sleeps, SEQ_CST) != 0:
            futex_wake(&league.left)
    return NULL


cdef mic_league *league_of(int slot) noexcept nogil:
    """The league of the calling thread's slot, made at first use.  NULL: no memory."""
    cdef mic_league *league = mic_leagues[slot]
    cdef void *p = NULL
    cdef size_t size
    if league != NULL:
        return league
    size = sizeof(mic_league) + <size_t>team_room * sizeof(mic_helper)
    if posix_memalign(&p, 128, size) != 0:
        return NULL
    memset(p, 0, size)
    league = <mic_league *>p
    if control.spins > 1:
        league.spin_ns = 50000 if team_room <= team_processors else 2000
    mic_leagues[slot] = league
    return league


cdef int add_helpers(mic_league *league, int wanted) noexcept nogil:
    """Start helpers until there are so many.  Returns how many there are: the system may allow fewer."""
    cdef mic_helper *one
    while league.helpers < wanted:
        one = &league.helper[league.helpers]
        one.league = league
        one.number = league.helpers + 1
        if start_region_thread(helper_thread, one) != 0:
            break
        league.helpers += 1
    return league.helpers


cdef uint32_t *cpu_of_helper(mic_league *league, int count) noexcept nogil:
    """The processor of a helper that shares the caller's, or of any, if none does."""
    cdef uint32_t here = mic_processor()
    cdef int i
    for i in range(count):
        if load32(&league.helper[i].cpu, RELAXED) == here:
            return &league.helper[i].cpu
    return &league.helper[0].cpu


cdef void run_league(mic_league *league, void *function, void *variables, int count) noexcept nogil:
    """Run a region in the calling thread and ``count`` helpers, or as many as the system allows."""
    cdef mic_helper *one
    cdef int i = add_helpers(league, count)
    cdef uint32_t left
    count = i if i < count else count
    league.function = function
    league.variables = variables
    league.launch = mic_launch
    league.floor = mic_floor
    league.step = count + 1
    league.threads = team_threads
    if not control.threads:
        league.threads = team_threads // league.step if team_threads > league.step else 1
    store32(&league.left, <uint32_t>count, RELAXED)
    for i in range(count):
        one = &league.helper[i]
        exchange32(&one.request, one.request + 1, SEQ_CST)
        if load32(&one.sleeps, SEQ_CST) != 0:
            futex_wake(&one.request)
    run_share(league, 0)
    while True:
        left = load32(&league.left, ACQUIRE)
        if left == 0:
            return
        if look_while_equal(&league.left, left, league.spin_ns, &league.cpu, cpu_of_helper(league, count)):
            continue
        exchange32(&league.sleeps, 1, SEQ_CST)
        left = load32(&league.left, SEQ_CST)
        if left != 0:
            futex_wait(&league.left, left, -1)
        store32(&league.sleeps, 0, RELAXED)


cdef bint run_teams(mic_slot *slot) noexcept nogil:
    """Run a region whose launch asks for teams.  False: there is no memory for it, nothing has been done."""
    cdef mic_league *league = league_of(mic_thread_slot)
    cdef int teams
    if league == NULL:
        return False
    league.usual = choose_teams()
    league.gangs = 0
    league.limit = slot.args[3]
    teams = <int>slot.args[2] if slot.args[2] else league.usual
    run_league(league, <void *>slot.args[0], <void *>slot.args[1], (teams if teams < team_room else team_room) - 1)
    return True
