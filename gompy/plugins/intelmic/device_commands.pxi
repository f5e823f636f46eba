# What the host asks of the device's main thread, one command at a time: start a thread, load an image, copy, protect,
# quit.


cdef int start_slot_thread(int number) noexcept nogil:
    """Start the thread of a launch slot, or a worker.  Returns 0 or an errno value."""
    if number >= MIC_FIRST_WORKER:
        return start_worker(number)
    return start_region_thread(slot_thread, <void *><long>number)


cdef void end_under_tool() noexcept nogil:
    """Let the tool end in its own way: valgrind searches all memory for leaks at the end, also 64 GiB of arena."""
    if control.tool != 0:
        munmap(<void *>control.arena_base, control.arena_size)


cdef void enter_pages(uint64_t offset, uint64_t n) noexcept nogil:
    """MIC_OP_POPULATE: where the kernel doesn't do it, faults will."""
    cdef uint64_t begin = offset & ~<uint64_t>4095
    madvise(arena_at(begin), offset + n - begin, MADV_POPULATE_READ)


cdef int map_common(uint64_t address, uint64_t offset, uint64_t size) noexcept nogil:
    """MIC_OP_MAP.  0 or an errno value."""
    cdef void *p
    if offset == 0:
        return 0 if munmap(<void *>address, size) == 0 else errno
    p = mmap(<void *>address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, memory_fd,
             <off_t>offset)
    if p == <void *>-1:
        return errno
    if p != <void *>address:  # a kernel before 4.17
        munmap(p, size)
        return EEXIST
    madvise(p, size, MADV_DONTDUMP)
    return 0


cdef void stay_for_start() noexcept nogil:
    """Stay on the processor where the host waits (processors.h)."""
    cdef unsigned long own[128]
    control.narrow = stay_here(own)


cdef void leave_start() noexcept nogil:
    """Take the mask of this process, if the main thread has another one."""
    if control.narrow:
        control.narrow = 0
        take_mask(control.processors)


cdef void serve_commands() noexcept nogil:
    """The main thread's work: one command after another until the host says quit."""
    global mic_thread_slot
    cdef mic_slot *slot = &control.slots[MIC_COMMAND_SLOT]
    cdef uint32_t seen = load32(&slot.done, ACQUIRE)
    cdef uint32_t op
    cdef bint narrow
    cdef mic_apart apart
    cdef uint64_t spin_ns = spin_time(0)  # the first command, an image mostly, comes at once
    mic_thread_slot = MIC_COMMAND_SLOT
    memset(&apart, 0, sizeof(apart))
    while True:
        seen = next_request(slot, seen, spin_ns, &apart)
        spin_ns = 0
        op = slot.op
        change_guards(&control.guards)
        if op == MIC_OP_THREAD:
            if slot.args[0] >= MIC_FIRST_WORKER:
                leave_start()  # the host goes on while a worker runs
            elif control.narrow:
                publish_processor(&control.slots[slot.args[0]].device_cpu)  # the thread is born here
            slot.result[0] = start_slot_thread(<int>slot.args[0])
        elif op == MIC_OP_LOAD:
            narrow = control.narrow != 0
            leave_start()
            load_image(slot)  # whose constructors may look at the mask, or start threads
            if narrow:
                stay_for_start()
        elif op == MIC_OP_UNLOAD:
            leave_start()  # destructors, as constructors
            unload_image(slot)
        elif op == MIC_OP_READ:
            # pwrite and pread answer EFAULT where a plain copy would die
            slot.result[0] = copy_by_file(slot, True)
        elif op == MIC_OP_WRITE:
            slot.result[0] = copy_by_file(slot, False)
        elif op == MIC_OP_PROTECT:
            slot.result[0] = 0
            if slot.args[1] and mprotect(<char *>control.arena_base + slot.args[0], slot.args[1],
                                         PROT_READ | PROT_WRITE if slot.args[2] else PROT_NONE):
                slot.result[0] = errno
        elif op == MIC_OP_MAP:
            slot.result[0] = map_common(slot.args[0], slot.args[1], slot.args[2])
        elif op == MIC_OP_POPULATE:
            leave_start()  # this is done while the host's thread copies on
            enter_pages(slot.args[0], slot.args[1])
        elif op == MIC_OP_POISON:
            mark_memory(arena_at(slot.args[0]), slot.args[1], slot.args[2] != 0)
        elif op == MIC_OP_INDIRECT:
            redirect_indirect(slot)
        elif op == MIC_OP_QUIT:
            if control.narrow or control.ending:
                take_mask(control.processors)
            fflush(NULL)
            store32(&units_written, 1, RELAXED)
            flush_output()
            finalise_images()
            end_under_tool()
            gather_threads()
            _exit(0)
        finish_region(slot, seen)
        if op == MIC_OP_THREAD:
            leave_start()  # now that the host is awake, and can't have us leave by itself


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
