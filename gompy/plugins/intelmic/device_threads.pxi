# pthread_create of the device: every thread gets a stack for signal handlers and knows whose slot it works for.
#
# libgomp's workers are made by the thread that runs the region (or by a worker of its), so the slot is inherited.  This
# definition is found before libc's by libgomp and by images, as the program stands first in the search order.

cdef extern from *:
    """
    struct mic_start { void *(*function) (void *); void *arg; int slot, narrow; };
    /* A thread that frees gets a heap of its own (malloc's arena): what the first ones take along is not malloc's.  */
    static struct mic_start mic_starts[64];
    static uint64_t mic_starts_taken;
    static struct mic_start *mic_take_start (void)
    {
      uint64_t taken = __atomic_load_n (&mic_starts_taken, __ATOMIC_RELAXED);
      while (taken != ~0ull)
        {
          int i = __builtin_ctzll (~taken);
          if (__atomic_compare_exchange_n (&mic_starts_taken, &taken, taken | 1ull << i, 0, __ATOMIC_ACQUIRE,
                                           __ATOMIC_RELAXED))
            return &mic_starts[i];
        }
      return malloc (sizeof (struct mic_start));
    }
    static void mic_give_start (struct mic_start *start)
    {
      if (start >= mic_starts && start < mic_starts + 64)
        __atomic_fetch_and (&mic_starts_taken, ~(1ull << (start - mic_starts)), __ATOMIC_RELEASE);
      else
        free (start);
    }
    static int (*mic_real_create) (pthread_t *, const pthread_attr_t *, void *(*) (void *), void *);
    static void mic_release_stack (void)
    {
      stack_t s;
      memset (&s, 0, sizeof s);
      s.ss_flags = SS_DISABLE;
      sigaltstack (&s, NULL);
      if (mic_alternate_stack && mic_alternate_stack != MAP_FAILED)
        munmap (mic_alternate_stack, MIC_ALTERNATE_SIZE);
      mic_alternate_stack = NULL;
    }
    """
    struct mic_start:
        void *(*function)(void *) noexcept nogil
        void *arg
        int slot
        int narrow
    int (*mic_real_create)(
        pthread_t *t, const pthread_attr_t *a, void *(*f)(void *) noexcept nogil, void *arg
    ) noexcept nogil
    void release_alternate_stack "mic_release_stack"() nogil
    mic_start *take_start "mic_take_start"() nogil
    void give_start "mic_give_start"(mic_start *start) nogil


cdef void *thread_body(void *p) noexcept nogil:
    """A new thread's first function."""
    global mic_thread_slot
    cdef mic_start start = (<mic_start *>p)[0]
    cdef void *result
    give_start(<mic_start *>p)
    mic_thread_slot = start.slot
    if start.narrow:
        take_mask(control.processors)  # it is born where its parent stays (processors.h), and need not stay there
    alternate_stack()
    result = start.function(start.arg)
    release_alternate_stack()
    return result


cdef public int create_thread "pthread_create"(pthread_t *thread, const pthread_attr_t *attributes,
                                               void *(*function)(void *) noexcept nogil, void *arg) noexcept nogil:
    """As libc's."""
    global mic_real_create
    cdef mic_start *start
    cdef int error
    if mic_real_create == NULL:
        mic_real_create = <int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *) noexcept nogil,
            void *) noexcept nogil>dlsym(
            RTLD_NEXT, b"pthread_create")
    start = take_start()
    if start == NULL:
        return EAGAIN
    start.function = function
    start.arg = arg
    start.slot = mic_thread_slot
    start.narrow = control != NULL and control.narrow != 0
    error = mic_real_create(thread, attributes, thread_body, start)
    if error:
        give_start(start)
    return error


cdef extern from *:
    """
    static int mic_unlimited_stack (void)
    {
      struct rlimit r;
      return getrlimit (RLIMIT_STACK, &r) == 0 && r.rlim_cur == RLIM_INFINITY;
    }
    /* Each thread that allocates or frees gets an arena of its own, 64 MiB of addresses: too much where these are
       limited, and when a thread comes to it is a matter of chance.  */
    static void mic_use_one_heap (void)
    {
      struct rlimit r;
      if (getrlimit (RLIMIT_AS, &r) == 0 && r.rlim_cur != RLIM_INFINITY)
        mallopt (M_ARENA_MAX, 1);
    }
    """
    bint unlimited_stack "mic_unlimited_stack"() nogil
    void use_one_heap "mic_use_one_heap"() nogil


cdef int start_region_thread(void *(*function)(void *) noexcept nogil, void *arg) noexcept nogil:
    """Start a thread that regions run in, with a stack as large as a program's.  Returns 0 or an errno value."""
    cdef pthread_t thread
    cdef pthread_attr_t attributes
    cdef size_t size = 0
    cdef int error
    pthread_attr_init(&attributes)
    pthread_attr_getstacksize(&attributes, &size)
    if size < 8 << 20:
        size = 8 << 20  # regions keep private arrays on the stack, as the host's main thread does
    if unlimited_stack():
        size = 256 << 20
    pthread_attr_setstacksize(&attributes, size)
    error = pthread_create(&thread, &attributes, function, arg)
    pthread_attr_destroy(&attributes)
    if error == 0:
        pthread_detach(thread)
    return error
