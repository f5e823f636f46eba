# Regions that are waited for later, on the host's side: into the queue, and waiting for one's end.  protocol.h has the
# rules.
#
# A region costs no switch between threads where the device's worker is awake, and none of the host's own threads is
# involved but the one that waits.

cdef bint start_workers(mic_device *d) noexcept nogil:
    """Have the device start its first worker; with queue_lock held.  False: it can't."""
    if not d.workers:
        pthread_mutex_lock(&d.commands)
        d.workers = run_command(d, MIC_OP_THREAD, <uint64_t>MIC_FIRST_WORKER, 0, 0) == 0
        pthread_mutex_unlock(&d.commands)
    return d.workers != 0


cdef uint64_t enqueue_region(mic_device *d, void *function, void *variables, void **args) noexcept nogil:
    """Put a region into the queue.  Its ticket for await_ticket; 0: there is no room, nothing has been done."""
    cdef mic_queue *queue = &d.control.queue
    cdef mic_cell *cell
    cdef uint32_t position, nobody = 0
    if d.called:
        return 0  # a region's calls are served by the thread that waits for it
    pthread_mutex_lock(&d.queue_lock)
    position = queue.tail
    if load8(&d.taken[position % <uint32_t>MIC_CELLS], ACQUIRE) or not start_workers(d):
        pthread_mutex_unlock(&d.queue_lock)
        return 0
    d.taken[position % <uint32_t>MIC_CELLS] = 1
    add32(&d.unawaited, 1, RELAXED)
    cell = &queue.cells[position % <uint32_t>MIC_CELLS]
    cell.function = <uint64_t>function
    cell.variables = <uint64_t>variables
    read_limits(args, &cell.teams, &cell.limit)
    publish_processor(&queue.host_cpu)
    exchange32(&queue.tail, position + 1, SEQ_CST)
    pthread_mutex_unlock(&d.queue_lock)
    if load32(&queue.watch, SEQ_CST) == 0 and cas32(&queue.watch, &nobody, MIC_PATROLS, False, SEQ_CST, RELAXED):
        add32(&queue.calls, 1, SEQ_CST)
        futex_wake_one(&queue.calls)
    return <uint64_t>1 << 32 | position


cdef void await_ticket(mic_device *d, uint64_t ticket) noexcept nogil:
    """Wait for the end of a region of the queue, once."""
    cdef mic_queue *queue = &d.control.queue
    cdef uint32_t position = <uint32_t>ticket, before
    cdef mic_cell *cell = &queue.cells[position % <uint32_t>MIC_CELLS]
    before = load32(&cell.done, ACQUIRE)
    if before != position + 1:
        await_change(
            d, &cell.done, before, &d.queue_spin_ns, 100000, &cell.host_sleeps, &queue.host_cpu, &queue.device_cpu
        )
    store8(&d.taken[position % <uint32_t>MIC_CELLS], 0, RELEASE)
    add32(&d.unawaited, ~<uint32_t>0, SEQ_CST)
    if d.marks != NULL:
        tell_reads(d, -1)


cdef public uint64_t gompy_start_region(int number, void *function, void *variables, void **args) noexcept nogil:
    """Start a region and return at once.  A ticket, which gompy_await_region must get once; 0: it can't be now.

    Not part of GCC's interface, whose async_run needs a thread of the host for each region that runs.
    """
    return enqueue_region(device_of(number), function, variables, args)


cdef public void gompy_await_region(int number, uint64_t ticket) noexcept nogil:
    """Wait for the end of a region that gompy_start_region has started.  Not part of GCC's interface."""
    await_ticket(device_of(number), ticket)
