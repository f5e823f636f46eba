# The threads of the device: one per launch slot, made when the slot is first used, and the commands' own.

cdef inline void flush_output() noexcept nogil:
    """Write what regions have printed, so that it stands before whatever the host prints next."""
    cdef int i
    if load32(&units_written, RELAXED) != 0:
        store32(&units_written, 0, RELAXED)
        for i in range(image_count):
            if mic_images[i].flush_units != NULL:
                mic_images[i].flush_units(NULL)
                break
    if __fpending(stdout) != 0:
        fflush(stdout)


cdef void run_region(mic_slot *slot) noexcept nogil:
    """Call a region's function with the address of its argument array, at level 0."""
    cdef region_function function = <region_function>slot.args[0]
    if slot.args[2] != 1 and run_teams(slot):
        flush_output()
        return
    limit_threads(slot.args[3])
    function(<void *>slot.args[1])
    flush_output()


cdef inline void finish(mic_slot *slot, uint32_t number) noexcept nogil:
    """Tell the host that a request is done; wake it if it sleeps."""
    exchange32(&slot.done, number, SEQ_CST)
    if load32(&slot.host_sleeps, SEQ_CST) != 0:
        futex_wake(&slot.done)


cdef inline uint32_t next_request(mic_slot *slot, uint32_t seen, uint64_t spin_ns) noexcept nogil:
    """Wait for the request after number ``seen``."""
    while True:
        if spin_ns != 0 and look_while_equal(&slot.request, seen, spin_ns, &slot.device_cpu, &slot.host_cpu):
            break
        exchange32(&slot.device_sleeps, 1, SEQ_CST)
        if load32(&slot.request, SEQ_CST) == seen:
            futex_wait(&slot.request, seen, -1)
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
    mic_thread_slot = number
    save_variables(&variables)
    while True:
        seen = next_request(slot, seen, spin_ns)
        run_region(slot)
        restore_variables(&variables)
        finish(slot, seen)
    return NULL


cdef int start_slot_thread(int number) noexcept nogil:
    """Start the thread of a launch slot, or a worker.  Returns 0 or an errno value."""
    return start_region_thread(worker_thread if number >= MIC_FIRST_WORKER else slot_thread, <void *><long>number)


cdef void end_under_tool() noexcept nogil:
    """Let the tool end in its own way: valgrind searches all memory for leaks at the end, also 64 GiB of arena."""
    if control.tool != 0:
        munmap(<void *>control.arena_base, control.arena_size)


cdef void serve_commands() noexcept nogil:
    """The main thread's work: one command after another until the host says quit."""
    global mic_thread_slot
    cdef mic_slot *slot = &control.slots[MIC_COMMAND_SLOT]
    cdef uint32_t seen = load32(&slot.done, ACQUIRE)
    cdef uint32_t op
    mic_thread_slot = MIC_COMMAND_SLOT
    while True:
        seen = next_request(slot, seen, 0)
        op = slot.op
        if op == MIC_OP_THREAD:
            slot.result[0] = start_slot_thread(<int>slot.args[0])
        elif op == MIC_OP_LOAD:
            load_image(slot)
        elif op == MIC_OP_UNLOAD:
            unload_image(slot)
        elif op == MIC_OP_READ:
            # pwrite and pread answer EFAULT where a plain copy would die
            slot.result[0] = copy_by_file(slot, True)
        elif op == MIC_OP_WRITE:
            slot.result[0] = copy_by_file(slot, False)
        elif op == MIC_OP_PROTECT:
            slot.result[0] = 0
            if mprotect(<char *>control.arena_base + slot.args[0], slot.args[1],
                        PROT_READ | PROT_WRITE if slot.args[2] else PROT_NONE):
                slot.result[0] = errno
        elif op == MIC_OP_POISON:
            mark_memory(arena_at(slot.args[0]), slot.args[1], slot.args[2] != 0)
        elif op == MIC_OP_QUIT:
            fflush(NULL)
            store32(&units_written, 1, RELAXED)
            flush_output()
            end_under_tool()
            _exit(0)
        finish(slot, seen)


cdef int64_t copy_by_file(mic_slot *slot, bint outward) noexcept nogil:
    """Copy between any device address (args[0]) and the arena (offset args[1]), args[2] bytes.  0 or an errno value."""
    cdef size_t done = 0, size = slot.args[2]
    cdef char *p = <char *>slot.args[0]
    cdef off_t offset = <off_t>(MIC_CONTROL_SIZE + slot.args[1])
    cdef ssize_t n
    while done < size:
        if outward:
            n = pwrite(memory_fd, p + done, size - done, offset + <off_t>done)
        else:
            n = pread(memory_fd, p + done, size - done, offset + <off_t>done)
        if n < 0 and errno == EINTR:
            continue
        if n <= 0:
            return errno if n < 0 else EFAULT
        done += <size_t>n
    return 0
