# The host's half of a launch: a free slot, the request, the wait.

from gompy.native.gomp cimport GOMP_TARGET_ARG_NUM_TEAMS, GOMP_TARGET_ARG_THREAD_LIMIT
from gompy.native.launch_words cimport LaunchWord, take_word

cdef enum:
    FIRST_REGION_NS = 1000000  # a first region that takes longer has no processor for itself, or is no short one


cdef int take_slot(mic_device *d) noexcept nogil:
    """The lowest free launch slot: the one whose thread on the device is most likely still looking."""
    cdef uint64_t free_now = load64(&d.free_slots, RELAXED)
    cdef int slot
    cdef int tries = 0
    while True:
        if free_now == 0:
            tries += 1
            if tries > 1000:
                usleep(50)
            else:
                sched_yield()
            free_now = load64(&d.free_slots, RELAXED)
            continue
        slot = ctz64(free_now)
        if cas64(&d.free_slots, &free_now, free_now & (free_now - 1), False, ACQUIRE, RELAXED):
            return slot


cdef inline void give_slot(mic_device *d, int slot) noexcept nogil:
    """Free a launch slot."""
    or64(&d.free_slots, <uint64_t>1 << slot, RELEASE)


cdef inline uint32_t post_request(mic_slot *slot) noexcept nogil:
    """Hand the request in a slot over.  Returns its number.

    The exchange is a full barrier: either the device sees the request before it sleeps, or we see that it sleeps.
    """
    cdef uint32_t number = (slot.request + 1) & ~MIC_CALL
    exchange32(&slot.request, number, SEQ_CST)
    if load32(&slot.device_sleeps, SEQ_CST) != 0:
        futex_wake(&slot.request)
    return number


cdef inline void sleep_once(
    mic_device *d, uint32_t *done, uint32_t before, uint32_t *sleeps, int64_t ns
) noexcept nogil:
    """Sleep until the device has changed ``*done``, or something else has happened."""
    exchange32(sleeps, 1, SEQ_CST)
    if load32(done, SEQ_CST) == before and load32(&d.control.dead, SEQ_CST) == 0:
        futex_wait(done, before, ns)
    store32(sleeps, 0, RELAXED)


cdef void sleep_while_equal(
    mic_device *d, uint32_t *done, uint32_t before, uint32_t *sleeps, uint32_t *cpu
) noexcept nogil:
    """Sleep until the device has changed ``*done``.  A device that has died meanwhile ends the program."""
    while load32(done, ACQUIRE) == before:
        sleep_once(d, done, before, sleeps, 100000000)
        publish_processor(cpu)
        if load32(done, ACQUIRE) == before:
            notice_death(d)


cdef inline void await_done(mic_device *d, mic_slot *slot, uint32_t number) noexcept nogil:
    """Sleep until request ``number`` is done."""
    sleep_while_equal(d, &slot.done, number_before(number), &slot.host_sleeps, &slot.host_cpu)


cdef uint32_t post_command(mic_device *d, uint32_t op, uint64_t a, uint64_t b, uint64_t c) noexcept nogil:
    """Ask the device's main thread for something (the caller holds d.commands).  Returns the request's number."""
    cdef mic_slot *slot = &d.control.slots[MIC_COMMAND_SLOT]
    slot.op = op
    slot.args[0] = a
    slot.args[1] = b
    slot.args[2] = c
    return post_request(slot)


cdef int64_t run_command(mic_device *d, uint32_t op, uint64_t a, uint64_t b, uint64_t c) noexcept nogil:
    """Have the device's main thread do something (the caller holds d.commands).  Returns result[0]."""
    cdef mic_slot *slot = &d.control.slots[MIC_COMMAND_SLOT]
    cdef unsigned long own[128]
    cdef bint beside = d.control.narrow != 0 and stay_here(own)
    await_done(d, slot, post_command(d, op, a, b, c))
    if beside:
        take_mask(own)
    return slot.result[0]


cdef bint begin_command(mic_device *d, uint32_t op, uint64_t a, uint64_t b, uint32_t *number) noexcept nogil:
    """Have the device's main thread do something meanwhile.  False: it is busy; else await_command must follow."""
    if pthread_mutex_trylock(&d.commands) != 0:
        return False
    number[0] = post_command(d, op, a, b, 0)
    return True


cdef void await_command(mic_device *d, uint32_t number) noexcept nogil:
    """Wait for the end of what begin_command began."""
    await_done(d, &d.control.slots[MIC_COMMAND_SLOT], number)
    pthread_mutex_unlock(&d.commands)


cdef void start_slot(mic_device *d, int number) noexcept nogil:
    """Have the device start the thread of a slot, which has its first request.

    The thread finds that when it comes to life.  Where the device is at its start (processors.h) that is on this
    processor, so we stay here as well, until it has had a fair time for a short region.
    """
    cdef mic_slot *slot = &d.control.slots[number]
    cdef unsigned long own[128]
    cdef uint32_t before = load32(&slot.done, ACQUIRE)
    cdef bint beside = d.control.narrow != 0 and stay_here(own)
    cdef int64_t error
    publish_processor(&slot.host_cpu)  # a thread beside us would look for what we cannot give
    pthread_mutex_lock(&d.commands)
    error = run_command(d, MIC_OP_THREAD, <uint64_t>number, 0, 0)
    pthread_mutex_unlock(&d.commands)
    if error:
        GOMP_PLUGIN_fatal(b"device %d (intelmic): cannot start a thread: %s%s", d.number, strerror(<int>error),
                          gompy_limit_hint(<int>error))
    or64(&d.started_slots, <uint64_t>1 << number, RELEASE)
    if beside:
        sleep_once(d, &slot.done, before, &slot.host_sleeps, FIRST_REGION_NS)
        take_mask(own)


cdef inline void await_change(mic_device *d, uint32_t *done, uint32_t before, uint32_t *limit, uint32_t most,
                              uint32_t *sleeps, uint32_t *own, uint32_t *others) noexcept nogil:
    """Wait until the device has changed ``*done``: look for a while, then sleep.

    How long is learned in ``*limit``: twice as long after a region that ended in that time (most ns), half as long
    after one that didn't: its work is longer than that, or the device doesn't get a processor while we sit on one.
    own, others: the processors (waiting.pxi).
    """
    cdef uint32_t now = limit[0]
    if d.control.spins > 1:
        if look_while_equal(done, before, now, own, others):
            if now < most:
                limit[0] = 2 * now + 1000
            return
        limit[0] = now >> 1
    sleep_while_equal(d, done, before, sleeps, own)


cdef inline void await_region(mic_device *d, int number, uint32_t request) noexcept nogil:
    """Wait for the end of a region that a slot has; what it calls of the host's runs here."""
    cdef mic_slot *slot = &d.control.slots[number]
    cdef uint32_t before = number_before(request)
    while True:
        await_change(d, &slot.done, before, &d.spin_ns[number], 100000 if number < d.control.spins - 1 else 2000,
                     &slot.host_sleeps, &slot.host_cpu, &slot.device_cpu)
        if likely(load32(&slot.done, ACQUIRE) == request, 1):
            return
        serve_call(d, slot, before)


cdef void read_limits(void **args, uint64_t *teams, uint64_t *limit) noexcept nogil:
    """Decode the launch arguments of GOMP_target_ext: number of teams and thread limit.

    Teams: 1 without a teams construct, 0 if it has no num_teams clause, -1 if the host doesn't know (then one thread
    runs them one after another: 1).  Limit: 0 and -1 both mean "not given".
    """
    cdef LaunchWord word
    teams[0] = 1
    limit[0] = 0
    while take_word(&args, &word):
        if word.device != 0 and word.device != GOMP_DEVICE_INTEL_MIC:
            continue
        if word.id == GOMP_TARGET_ARG_NUM_TEAMS:
            teams[0] = <uint64_t>(word.value if word.value >= 0 else 1)
        elif word.id == GOMP_TARGET_ARG_THREAD_LIMIT and word.value > 0:
            limit[0] = <uint64_t>min(word.value, <intptr_t>0x7fffffff)


cdef inline void run_request(mic_device *d, int number) noexcept nogil:
    """Have the device run what a slot holds, wait for its end, tell what it has read, free the slot."""
    cdef uint32_t request = post_request(&d.control.slots[number])
    if load64(&d.started_slots, ACQUIRE) >> number & 1 == 0:
        start_slot(d, number)
    await_region(d, number, request)
    if d.marks != NULL:
        tell_reads(d, number)
    give_slot(d, number)


cdef void launch_region(mic_device *d, void *function, void *variables, uint64_t teams, uint64_t limit,
                        uint64_t sizes) noexcept nogil:
    """Run a region and wait for its end.  ``sizes``: of an OpenACC region (mic_launch_sizes), else 0."""
    cdef int number = take_slot(d)
    cdef mic_slot *slot = &d.control.slots[number]
    if d.marks != NULL and not d.control.exact:
        know_arguments(d, <uint64_t>variables - d.base)
    slot.op = MIC_OP_RUN
    slot.args[0] = <uint64_t>function
    slot.args[1] = <uint64_t>variables
    slot.args[2] = teams
    slot.args[3] = limit
    slot.args[4] = sizes
    run_request(d, number)


cdef void launch_kernel(mic_device *d, void *kernel, const uint64_t *words, size_t count) noexcept nogil:
    """Run a kernel by clang, of KERNEL_WORDS_DIRECT words at most, and wait for its end."""
    cdef int number = take_slot(d)
    cdef mic_slot *slot = &d.control.slots[number]
    cdef size_t i
    slot.op = MIC_OP_KERNEL
    slot.args[0] = <uint64_t>kernel
    for i in range(count):
        slot.args[1 + i] = words[i]
    run_request(d, number)
