# The workers of the queue (protocol.h): threads that take its regions and run them, in the order of their coming.
#
# A worker runs regions until the queue is empty, then looks for more for a while, then sleeps.  So a batch of short
# regions is one worker's, without any wake-up.  For long ones there is the patrol: a worker that the host calls when a
# region comes while nobody looks.  It looks at the queue every PATROL_US; has nothing been taken in between, the
# others are busy and it runs the next region itself, calling another worker to the patrol.  There is always a worker
# more than are busy, up to MIC_WORKERS.

cdef enum:
    PATROL_US = 30

cdef uint32_t workers_added, workers_idle, workers_running  # added: beside the first, which the host asks for


cdef bint take_region(uint32_t *position) noexcept nogil:
    """Take the region at the front of the queue."""
    cdef mic_queue *queue = &control.queue
    cdef uint32_t head = load32(&queue.head, RELAXED)
    while load32(&queue.tail, SEQ_CST) != head:
        if cas32(&queue.head, &head, head + 1, False, SEQ_CST, RELAXED):
            position[0] = head
            return True
    return False


cdef inline bint queue_empty() noexcept nogil:
    """Whether no region waits for a worker; after a full barrier."""
    return load32(&control.queue.tail, SEQ_CST) == load32(&control.queue.head, SEQ_CST)


cdef void run_taken(int number, uint32_t position, control_variables *variables) noexcept nogil:
    """Run a region that this worker has taken."""
    cdef mic_slot *slot = &control.slots[number]
    cdef mic_cell *cell = &control.queue.cells[position % <uint32_t>MIC_CELLS]
    slot.args[0] = cell.function
    slot.args[1] = cell.variables
    slot.args[2] = cell.teams
    slot.args[3] = cell.limit
    slot.args[4] = 0
    run_region(slot)
    restore_variables(variables)
    exchange32(&cell.done, position + 1, SEQ_CST)
    if load32(&cell.host_sleeps, SEQ_CST) != 0:
        futex_wake(&cell.done)


cdef void run_all(int number, uint32_t position, control_variables *variables) noexcept nogil:
    """Run a region that this worker has taken, and those that follow, until there are no more."""
    add32(&workers_running, 1, RELAXED)
    while True:
        run_taken(number, position, variables)
        if not take_region(&position):
            break
    add32(&workers_running, ~<uint32_t>0, RELAXED)


cdef void call_worker() noexcept nogil:
    """Wake a worker to the patrol, if there is none."""
    if or32(&control.queue.watch, MIC_PATROLS, SEQ_CST) & MIC_PATROLS:
        return
    add32(&control.queue.calls, 1, SEQ_CST)
    futex_wake_one(&control.queue.calls)


cdef bint look_for_region(uint64_t spin_ns, uint32_t *position) noexcept nogil:
    """Look for a region for a while, unless another worker does.  False: none has come."""
    cdef mic_queue *queue = &control.queue
    cdef uint32_t tail
    if spin_ns != 0 and not or32(&queue.watch, MIC_LOOKS, SEQ_CST) & MIC_LOOKS:
        tail = load32(&queue.head, SEQ_CST)
        look_while_equal(&queue.tail, tail, spin_ns, &queue.device_cpu, &queue.host_cpu)
        and32(&queue.watch, ~MIC_LOOKS, SEQ_CST)
    if not take_region(position):
        return False
    if not queue_empty():
        call_worker()  # those that came while we looked called nobody
    return True


cdef void add_worker() noexcept nogil:
    """Have a worker that is idle, if there may be one more."""
    cdef uint32_t count
    if load32(&workers_idle, SEQ_CST) != 0:
        return
    count = add32(&workers_added, 1, SEQ_CST)
    if count >= <uint32_t>MIC_WORKERS or start_worker(MIC_FIRST_WORKER + <int>count) != 0:
        add32(&workers_added, ~<uint32_t>0, SEQ_CST)


cdef void await_call() noexcept nogil:
    """Sleep until there is a call that this worker answers: MIC_PATROLS is set for it."""
    cdef mic_queue *queue = &control.queue
    cdef uint32_t calls, answered
    add32(&workers_idle, 1, SEQ_CST)
    while True:
        calls = load32(&queue.calls, SEQ_CST)
        answered = load32(&queue.answered, SEQ_CST)
        if calls == answered:
            futex_wait(&queue.calls, calls, -1)
        elif cas32(&queue.answered, &answered, answered + 1, False, SEQ_CST, RELAXED):
            break
    add32(&workers_idle, ~<uint32_t>0, SEQ_CST)
    publish_processor(&queue.device_cpu)


cdef bint patrol_queue(uint32_t *position) noexcept nogil:
    """Watch over the queue while others run regions.

    True: they are all busy, a region has been taken; False: all is done.
    """
    cdef mic_queue *queue = &control.queue
    cdef uint32_t head
    cdef bint taken = False, quiet = False
    while not taken and not quiet:
        head = load32(&queue.head, SEQ_CST)
        if load32(&workers_running, SEQ_CST) != 0:
            usleep(PATROL_US)
        if load32(&queue.head, SEQ_CST) == head:
            quiet = queue_empty()
            taken = not quiet and take_region(position)
    and32(&queue.watch, ~MIC_PATROLS, SEQ_CST)
    if taken:
        add_worker()
    if not queue_empty():
        call_worker()
    return taken


cdef void *worker_thread(void *arg) noexcept nogil:
    """A worker, for ever."""
    global mic_thread_slot
    cdef int number = <int><long>arg
    cdef uint64_t spin_ns = spin_time(0)
    cdef uint32_t position = 0
    cdef control_variables variables
    mic_thread_slot = number
    usual_threads()
    save_variables(&variables)
    while True:
        await_call()
        if not patrol_queue(&position):
            continue
        while True:
            run_all(number, position, &variables)
            if not look_for_region(spin_ns, &position):
                break
    return NULL


cdef int start_worker(int number) noexcept nogil:
    """Start the thread of a worker.  Returns 0 or an errno value."""
    return start_region_thread(worker_thread, <void *><long>number)
