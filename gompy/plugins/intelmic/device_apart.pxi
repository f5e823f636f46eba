# A slot's thread that shares its processor with the host's leaves it, where another processor is idle.
#
# The scheduler places a device beside its host as it likes, and then has no reason to part them: they sleep and wake
# each other, so that one processor is enough for both.  But a launch takes two switches between them there, 2 us, and
# 0.3 us where each has a processor.
#
# So a thread looks around when it, or the host's, has slept SLEEPS times, SLEEP_NS apart or less: has the machine fewer
# threads that want to run than processors (/proc/loadavg has their number), it goes to another processor of its mask
# and takes its mask back at once, so that the scheduler may move it again.  Is it beside the host's again soon, it
# waits twice as long before the next time.
#
# Where no processor is idle it goes all the same if the sleeps were CLOSE_NS apart or less: the launches are mostly
# switches then, which take more of the processors' time than looking does.  Both have to be on a processor at the same
# time, which comes by itself: who gets one wakes the other, and who looks in vain soon sleeps.
#
# A processor that has gone to sleep takes 25 to 50 us to wake on a virtual machine, and the host's own is awake when it
# launches.  So a thread that has been asked for nothing during REST_NS goes back beside the host's, and sleeps there.
#
# Is a request due at a known time (device_rhythm.h), it sleeps where it is until shortly before, and looks: nobody has
# to wake it then, and the processor that it looks on is awake.

cdef enum:
    SLEEPS = 64
    SLEEP_NS = 20000
    CLOSE_NS = 8000             # hardly more than the switches, 1 to 5 us by the machine
    FIRST_LOOK_NS = 1000000     # after no processor was idle, twice as long each time
    LAST_LOOK_NS = 50000000
    FIRST_BUSY_NS = 20000000    # the same for a rhythm: who looks takes time from others more often
    LAST_BUSY_NS = 2000000000
    FIRST_PAUSE_NS = 2000000    # between two moves, at least
    LAST_PAUSE_NS = 1000000000
    LASTING = 16                # a move was of use if the next one is wanted after so many pauses
    REST_NS = 1000000
    WAKE_BESIDE_NS = 4000       # a rest seems to be longer by so much, where the host had to wake this thread
    WAKE_APART_NS = 40000

cdef extern from *:
    """
    /* How many threads of the machine run or want to; -1: not known.  */
    static int
    mic_running (void)
    {
      char text[128];
      int running = -1, fd = gompy_open ("/proc/loadavg", O_RDONLY, 0);
      ssize_t n = fd < 0 ? 0 : read (fd, text, sizeof text - 1);
      if (fd >= 0)
        close (fd);
      text[n > 0 ? n : 0] = 0;
      return sscanf (text, "%*s %*s %*s %d/", &running) == 1 ? running : -1;
    }

    /* Have the calling thread leave a processor (counted from 1) for another one of its mask.  0: it has no other.  */
    static int
    mic_leave_processor (uint32_t here)
    {
      unsigned long own[MIC_MASK_WORDS], others[MIC_MASK_WORDS], left = 0;
      if (sched_getaffinity (0, sizeof own, (cpu_set_t *) own) != 0)
        return 0;
      memcpy (others, own, sizeof own);
      others[(here - 1) / 64 % MIC_MASK_WORDS] &= ~(1ul << (here - 1) % 64);
      for (int i = 0; i < MIC_MASK_WORDS; i++)
        left |= others[i];
      if (left == 0 || sched_setaffinity (0, sizeof others, (cpu_set_t *) others) != 0)
        return 0;
      mic_take_mask (own);
      return 1;
    }

    /* Have the sleeps of the calling thread end when they should, not 50 us later.  Returns what was set.  */
    static long
    mic_sharp_sleeps (void)
    {
      long before = prctl (PR_GET_TIMERSLACK, 0, 0, 0, 0);
      prctl (PR_SET_TIMERSLACK, 1, 0, 0, 0);
      return before;
    }

    static void
    mic_usual_sleeps (long before)
    {
      prctl (PR_SET_TIMERSLACK, before > 0 ? before : 0, 0, 0, 0); /* 0: as its process */
    }

    /* Have the calling thread go to a processor (counted from 1) of its mask.  0: it may not.  */
    static int
    mic_go_to_processor (uint32_t there)
    {
      unsigned long own[MIC_MASK_WORDS], only[MIC_MASK_WORDS];
      unsigned word = (there - 1) / 64 % MIC_MASK_WORDS;
      if (sched_getaffinity (0, sizeof own, (cpu_set_t *) own) != 0 || !(own[word] >> (there - 1) % 64 & 1))
        return 0;
      memset (only, 0, sizeof only);
      only[word] = 1ul << (there - 1) % 64;
      if (sched_setaffinity (0, sizeof only, (cpu_set_t *) only) != 0)
        return 0;
      mic_take_mask (own);
      return 1;
    }
    """
    int running_threads "mic_running"() nogil
    bint go_to_processor "mic_go_to_processor"(uint32_t there) nogil
    bint leave_processor "mic_leave_processor"(uint32_t here) nogil
    long sharp_sleeps "mic_sharp_sleeps"() nogil
    void usual_sleeps "mic_usual_sleeps"(long before) nogil
    int get_nprocs() nogil

cdef extern from "device_rhythm.h" nogil:
    struct mic_rhythm:
        uint64_t late
    void rhythm_note "mic_rhythm_note"(mic_rhythm *r, uint64_t rest)
    bint rhythm_due "mic_rhythm_due"(const mic_rhythm *r, uint64_t *from_, uint64_t *to)
    void rhythm_overslept "mic_rhythm_overslept"(mic_rhythm *r, uint64_t asked, uint64_t now)

cdef struct mic_apart:
    uint32_t sleeps  # of this thread and the host's, since `since`
    uint64_t since
    uint64_t again   # not before this time
    uint64_t moved   # when the thread last went
    uint64_t pause
    uint64_t look    # how long until the next look, if no processor is idle
    uint64_t looks   # how long it looks for a request before it sleeps, where the host is on another processor
    uint64_t calm    # before this time no rhythm is waited for, as no processor was idle
    uint64_t busy    # how long that lasts
    mic_rhythm rhythm


cdef bint processor_idle(mic_slot *slot, uint32_t seen) noexcept nogil:
    """Whether a processor has nothing to do, beside the one that the caller shares with the host's thread.

    That thread, too, wants to run, unless it sleeps for a request after number ``seen``, which is done.
    """
    cdef int running = running_threads()
    cdef int own = 1 if load32(&slot.host_sleeps, RELAXED) and load32(&slot.request, RELAXED) != seen else 2
    return running > 0 and running - own < get_nprocs() - 1


cdef bint leave_host(mic_slot *slot, uint32_t here, mic_apart *apart) noexcept nogil:
    """Leave processor ``here``, the host's, for another one."""
    cdef uint64_t now = now_ns()
    # From here on the host looks for what it launches.  Did it sleep, the scheduler would wake it where this thread is.
    store32(&slot.device_cpu, 0, SEQ_CST)
    if not leave_processor(here):
        publish_processor(&slot.device_cpu)
        return False
    publish_processor(&slot.device_cpu)
    if apart.moved == 0 or now - apart.moved > <uint64_t>LASTING * apart.pause:
        apart.pause = FIRST_PAUSE_NS
    else:
        apart.pause = min(2 * apart.pause, <uint64_t>LAST_PAUSE_NS)
    apart.moved = now
    apart.look = 0
    apart.again = now + apart.pause
    return True


cdef void part_processors(mic_slot *slot, uint32_t seen, mic_apart *apart) noexcept nogil:
    """After SLEEPS sleeps, and request ``seen``: go to another processor, if that is worth it."""
    cdef uint64_t now = now_ns(), since = apart.since
    cdef uint32_t here = mic_processor()
    apart.sleeps = 0
    apart.since = now
    if control.spins < 2 or now - since > <uint64_t>SLEEPS * <uint64_t>SLEEP_NS or now < apart.again:
        return
    if here == 0 or load32(&slot.host_cpu, RELAXED) != here:
        return
    apart.look = min(max(2 * apart.look, <uint64_t>FIRST_LOOK_NS), <uint64_t>LAST_LOOK_NS)
    apart.again = now + apart.look
    if now - since <= <uint64_t>SLEEPS * <uint64_t>CLOSE_NS or processor_idle(slot, seen):
        leave_host(slot, here, apart)


cdef void sleep_until_late(mic_slot *slot, uint32_t seen, mic_rhythm *rhythm, uint64_t until) noexcept nogil:
    """Sleep until a request after number ``seen`` comes, or shortly before ``until``."""
    cdef uint64_t now = now_ns()
    cdef uint64_t asked = until - min(until, rhythm.late)
    cdef long before
    if now >= asked:
        return
    before = sharp_sleeps()
    futex_wait(&slot.request, seen, <int64_t>(asked - now))
    usual_sleeps(before)
    if load32(&slot.request, RELAXED) == seen:
        rhythm_overslept(rhythm, asked, now_ns())


cdef bint stand_apart(mic_slot *slot, uint32_t seen, uint64_t now, uint64_t nap, mic_apart *apart) noexcept nogil:
    """Whether the caller is, or now goes, where it may look without taking a processor from others.

    Beside the host it sleeps for ``nap`` first: the host has just been woken, and is to have the processor.
    """
    cdef uint32_t here = mic_processor()
    cdef bint beside = load32(&slot.host_cpu, RELAXED) == here
    if here == 0 or now < apart.calm or (beside and now < apart.again):
        return False
    if beside:
        futex_wait(&slot.request, seen, <int64_t>nap)
        if load32(&slot.request, RELAXED) != seen:
            return False
    if processor_idle(slot, seen):
        apart.busy = 0
        return not beside or leave_host(slot, here, apart)
    apart.busy = min(max(2 * apart.busy, <uint64_t>FIRST_BUSY_NS), <uint64_t>LAST_BUSY_NS)
    apart.calm = now + apart.busy
    return False


cdef bint meet_request(mic_slot *slot, uint32_t seen, uint64_t begin, mic_apart *apart) noexcept nogil:
    """In a rest that began at ``begin``, if its end is known: sleep, then look for the request after number ``seen``.

    False: there was nothing to know, or it has not come; then the thread is announced as one that sleeps.
    """
    cdef uint64_t first = 0, last = 0, now
    if control.spins < 2 or not rhythm_due(&apart.rhythm, &first, &last):
        return False
    if not stand_apart(slot, seen, begin, min(first // 4, <uint64_t>REST_NS), apart):
        return False
    sleep_until_late(slot, seen, &apart.rhythm, begin + first)
    now = now_ns()
    if load32(&slot.request, SEQ_CST) != seen:
        rhythm_note(&apart.rhythm, now - begin - min(now - begin, <uint64_t>WAKE_APART_NS))
        return True
    store32(&slot.device_sleeps, 0, SEQ_CST)
    if now < begin + last and look_while_equal(&slot.request, seen, begin + last - now, &slot.device_cpu,
                                               &slot.host_cpu):
        rhythm_note(&apart.rhythm, now_ns() - begin)
        return True
    exchange32(&slot.device_sleeps, 1, SEQ_CST)
    return load32(&slot.request, SEQ_CST) != seen


cdef void sleep_for_request(mic_slot *slot, uint32_t seen, mic_apart *apart) noexcept nogil:
    """Sleep until there may be a request after number ``seen``; through a rest, beside the host's thread."""
    cdef uint32_t beside = load32(&slot.host_cpu, RELAXED)
    cdef uint64_t begin = now_ns(), rest
    if beside != mic_processor():
        begin -= apart.looks
    apart.sleeps += 1
    if meet_request(slot, seen, begin, apart):
        return
    if control.spins > 1 and beside != 0 and beside != mic_processor():
        futex_wait(&slot.request, seen, REST_NS)
        if load32(&slot.request, SEQ_CST) != seen:
            rest = now_ns() - begin
            rhythm_note(&apart.rhythm, rest - min(rest, <uint64_t>WAKE_APART_NS))
            return
        if go_to_processor(beside):
            publish_processor(&slot.device_cpu)
            apart.again = apart.moved = apart.look = 0  # nobody has brought it back
    futex_wait(&slot.request, seen, -1)
    rest = now_ns() - begin
    rhythm_note(&apart.rhythm, rest - min(rest, <uint64_t>WAKE_BESIDE_NS))
