# The threads of launch slots: one each, made when the slot is first used.

ctypedef void (*short_kernel)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) noexcept nogil


cdef void run_kernel(mic_slot *slot) noexcept nogil:
    """Call a kernel by clang whose words the request has."""
    (<short_kernel>slot.args[0])(slot.args[1], slot.args[2], slot.args[3], slot.args[4], slot.args[5], 0)


cdef void run_region(mic_slot *slot) noexcept nogil:
    """Call a region's function with the address of its argument array, at level 0."""
    cdef region_function function = <region_function>slot.args[0]
    begin_marked(&control.guards)
    begin_launch()
    begin_team()
    if slot.op == MIC_OP_KERNEL:
        run_kernel(slot)
    elif slot.args[2] == 1 or not run_teams(slot):
        limit_threads(slot.args[3])
        if slot.args[4]:
            begin_lanes(slot.args[4])
        function(<void *>slot.args[1])
    end_team()
    end_launch()
    flush_output()


cdef inline bint finish_region(mic_slot *slot, uint32_t number) noexcept nogil:
    """Tell the host that a request is done; wake it if it sleeps (True)."""
    exchange32(&slot.done, number, SEQ_CST)
    if load32(&slot.host_sleeps, SEQ_CST) == 0:
        return False
    futex_wake(&slot.done)
    return True


cdef inline uint32_t next_request(mic_slot *slot, uint32_t seen, uint64_t spin_ns, mic_apart *apart) noexcept nogil:
    """Wait for the request after number ``seen``.  Counts sleeps in ``apart``."""
    while True:
        if spin_ns != 0 and look_while_equal(&slot.request, seen, spin_ns, &slot.device_cpu, &slot.host_cpu):
            break
        exchange32(&slot.device_sleeps, 1, SEQ_CST)
        if load32(&slot.request, SEQ_CST) == seen:
            sleep_for_request(slot, seen, apart)
            publish_processor(&slot.device_cpu)
        store32(&slot.device_sleeps, 0, RELAXED)
        if load32(&slot.request, ACQUIRE) != seen:
            break
    return load32(&slot.request, ACQUIRE)


cdef uint64_t spin_time(int slot) noexcept nogil:
    """How long the thread of a slot looks for its next region: slots beyond the processors only glance."""
    cdef int cpus = control.spins
    if cpus < 2:
        return 0
    return 100000 if slot < cpus - 1 else 2000


cdef void *slot_thread(void *arg) noexcept nogil:
    """Run the regions of one launch slot, for ever."""
    global mic_thread_slot
    cdef int number = <int><long>arg
    cdef mic_slot *slot = &control.slots[number]
    cdef uint32_t seen = load32(&slot.done, ACQUIRE)
    cdef uint64_t spin_ns = spin_time(number)
    cdef control_variables variables
    cdef mic_apart apart
    mic_thread_slot = number
    memset(&apart, 0, sizeof(apart))
    apart.looks = spin_ns
    if load32(&slot.device_cpu, RELAXED) != 0:  # born beside the host: a second region soon is reason enough to leave
        apart.sleeps = <uint32_t>SLEEPS - 2
        apart.since = now_ns()
    note_thread(number)
    short_slices()
    usual_threads()
    save_variables(&variables)
    while True:
        seen = next_request(slot, seen, spin_ns, &apart)
        run_region(slot)
        restore_variables(&variables)
        if finish_region(slot, seen):
            apart.sleeps += 1
        if apart.sleeps >= <uint32_t>SLEEPS:
            part_processors(slot, seen, &apart)
    return NULL
