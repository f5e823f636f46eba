# What the host says when a device has died.

cdef extern from *:
    """
    /* Kill ourselves with a signal, if it would end us.  */
    static void
    mic_die_of (int signo)
    {
      struct sigaction a;
      sigset_t one;
      if (sigaction (signo, NULL, &a) != 0 || a.sa_handler != SIG_DFL)
        return;
      sigemptyset (&one);
      sigaddset (&one, signo);
      pthread_sigmask (SIG_UNBLOCK, &one, NULL);
      raise (signo);
    }
    static const char *
    mic_fpe_name (int code)
    {
      return code == FPE_INTDIV ? ": integer division by zero" : code == FPE_INTOVF ? ": integer overflow"
             : code == FPE_FLTDIV ? ": division by zero" : "";
    }
    """
    void mic_die_of(int signo) nogil
    const char *mic_fpe_name(int code) nogil

cdef extern from *:
    """
    /* Where the runtime has the object nearest to a device address: not there under the stock libgomp.  */
    extern int gompy_nearest_object (int, int, uintptr_t, uintptr_t *, size_t *, intptr_t *) __attribute__ ((weak));
    static int
    mic_nearest_object (int type, int number, uintptr_t address, uintptr_t *host, size_t *size, intptr_t *past)
    {
      return gompy_nearest_object != NULL && gompy_nearest_object (type, number, address, host, size, past);
    }
    """
    bint nearest_object "mic_nearest_object"(int type, int number, uintptr_t address, uintptr_t *host, size_t *size,
                                             intptr_t *past) nogil


cdef void wait_for_exit() noexcept nogil:
    """Another thread is ending the program: stay out of its way."""
    while True:
        pause()


cdef bint explain_guard(mic_device *d, uint64_t address, char *to, size_t room) noexcept nogil:
    """Why an address of the device's memory is closed.  False: it isn't in that memory."""
    cdef uint64_t offset = address - d.base, start = 0, size = 0, distance
    cdef uintptr_t host = 0
    cdef size_t length = 0
    cdef intptr_t past = 0
    cdef bint freed = False, known
    cdef char place[300]
    if offset >= d.size:
        return False
    known = block_near(d, offset, &start, &size, &freed)
    if known and freed and start <= offset < start + size:
        snprintf(to, room, b"address %p is %zu bytes into a freed block of %zu bytes", <void *>address,
                 <size_t>(offset - start), <size_t>size)
    elif nearest_object(GOMP_DEVICE_INTEL_MIC, d.number, address, &host, &length, &past) and -65536 <= past < 1 << 20:
        place_of_host(host, place, sizeof(place))
        snprintf(to, room, b"address %p is %zu bytes %s the %zu bytes that are mapped from the host's %p (%s)",
                 <void *>address, <size_t>(past if past >= 0 else -past),
                 <const char *>(b"past the end of" if past >= 0 else b"before"), length, <void *>host,
                 <const char *>place if place[0] else <const char *>b"no longer its memory")
    elif known and not freed and start + size <= offset < start + size + (1 << 20):
        distance = offset - start - size
        snprintf(to, room, b"address %p is %zu bytes past the end of a block of %zu bytes", <void *>address,
                 <size_t>distance, <size_t>size)
    else:
        snprintf(to, room, b"address %p is memory of the device that is not in use", <void *>address)
    return True


cdef void explain_address(mic_device *d, mic_death *death, char *to, size_t room) noexcept nogil:
    """Why an address faulted: whose it is."""
    cdef char place[300]
    cdef void *p = <void *>death.address
    cdef int i
    cdef mic_device *other
    if death.code == SI_KERNEL:
        snprintf(to, room, b"an address that cannot exist (not canonical)")
        return
    if death.address < 65536:
        snprintf(to, room, b"address %p is not mapped on the device (a null pointer)", p)
        return
    if d.guarded and explain_guard(d, death.address, to, room):
        return
    for i in range(MIC_DEVICES):
        other = &mic_device_table[i]
        if other != d and other.running and death.address - other.base < other.size:
            snprintf(to, room, b"address %p is not mapped on the device: it is memory of device %d", p, i)
            return
    place_of_host(death.address, place, sizeof(place))
    if place[0] and death.pc == death.address:
        snprintf(to, room, b"a call of the host's code at %p, by a pointer, or a vtable, that is the host's", p)
    elif strstr(place, b" _IO_2_1_std") != NULL:  # glibc's stdin, stdout, stderr
        snprintf(to, room,
                 b"address %p is not mapped on the device: it is a stream of the host's (%s); printf works in a region",
                 p, place)
    elif place[0]:
        snprintf(to, room,
                 b"address %p is not mapped on the device: it is the host's (%s); was a map clause forgotten?",
                 p, place)
    elif death.code == SEGV_ACCERR and image_at(d, death.address) != NULL:
        snprintf(to, room, b"address %p may not be accessed so (read-only data or code of the image)", p)
    elif death.address - death.stack < <uint64_t>(1 << 30 if death.overflow else 1 << 16) or \
            death.stack - death.address < 1 << 16:
        snprintf(to, room, b"address %p is beyond the end of the thread's stack; ulimit -s makes it larger", p)
    else:
        snprintf(to, room, b"address %p is not mapped on the device", p)


cdef extern from "../cxx_names.h" nogil:
    void gompy_readable_name(char *name, size_t room)


cdef uint64_t region_of(mic_device *d, int slot) noexcept nogil:
    """The device address of the function that a slot runs: of clang's regions the first word of what the device's
    caller of kernels is given (tgt_kernel.pxi)."""
    cdef const uint64_t *args = d.control.slots[slot].args
    if image_at(d, args[0]) == NULL and args[1] - d.base <= d.size - sizeof(uint64_t) and args[1] >= d.base:
        return (<uint64_t *>(d.memory + (args[1] - d.base)))[0]
    return args[0]


cdef bint is_body_of(const char *inner, const char *region) noexcept nogil:
    """Whether a function is the region's, or the one that clang has its body in where there is debug information."""
    cdef size_t n = strlen(region)
    return strncmp(inner, region, n) == 0 and (inner[n] == 0 or strcmp(inner + n, b"_debug__") == 0)


cdef void describe_region(mic_device *d, mic_death *death, char *to, size_t room) noexcept nogil:
    """Which region died, and where: ``region NAME (FILE:LINE): ``, as far as it is known."""
    cdef char name[400]
    cdef char inner[400]
    cdef char line[400]
    cdef uint64_t busy
    cdef uint64_t pc = death.image_pc
    cdef int slot = death.slot
    if slot == MIC_COMMAND_SLOT:
        snprintf(to, room, b"while loading or unloading an image: ")
        return
    if slot < 0:
        busy = ~load64(&d.free_slots, RELAXED)
        slot = ctz64(busy) if busy and busy & (busy - 1) == 0 else -1
    if pc and pc != death.pc:
        pc -= 1  # a return address: the call is before it
    name_of(d, pc, inner, sizeof(inner))
    if pc and strncmp(inner, b"__wrap_", 7) == 0:
        # Of -foffload-check, in front of the runtime's (gompy/access/hooks.c): what the program has called is there.
        pc = death.outer_pc - 1 if death.outer_pc else 0
        name_of(d, pc, inner, sizeof(inner))
    line_of(d, pc, line, sizeof(line))
    if slot < 0:
        snprintf(name, sizeof(name), b"a thread outside any region")
    else:
        name_of(d, region_of(d, slot), name, sizeof(name))
    gompy_readable_name(name, sizeof(name))
    gompy_readable_name(inner, sizeof(inner))
    if pc == 0:
        snprintf(to, room, b"region %s: ", name)
    elif is_body_of(inner, name) or inner[0] == c'0':
        snprintf(to, room, b"region %s%s%s%s: ", name, <const char *>(b" (" if line[0] else b""), line,
                 <const char *>(b")" if line[0] else b""))
    else:
        snprintf(to, room, b"region %s, in %s%s%s%s: ", name, inner, <const char *>(b" (" if line[0] else b""), line,
                 <const char *>(b")" if line[0] else b""))


cdef void report_death(mic_device *d) noexcept nogil:
    """Tell what the device's fault handler noted, and end the program."""
    cdef mic_death *death = &d.control.death
    cdef char region[1400]
    cdef char why[700]
    cdef bint sent
    if exchange32(&d.gone, 1, SEQ_CST) != 0 or not d.running:
        wait_for_exit()
    sent = death.sender and death.sender != d.control.device_pid
    if sent and death.slot == MIC_COMMAND_SLOT:
        death.slot = -1  # the kernel gives it to any thread
    describe_region(d, death, region, sizeof(region))
    if death.kind == MIC_DEATH_EXIT and mic_openacc:
        exit(death.code)  # Fortran's stop in a region ends an OpenACC program as it would on the host (GCC PR85463)
    if death.kind == MIC_DEATH_EXIT:
        GOMP_PLUGIN_fatal(b"device %d (intelmic): %sexit (%d) called on the device", d.number, region, death.code)
    if death.kind == MIC_DEATH_SANITIZER:
        if d.guarded == 0 or not explain_guard(d, death.address, why, sizeof(why)):
            snprintf(why, sizeof(why), b"its report stands above")
        GOMP_PLUGIN_fatal(b"device %d (intelmic): %s%s: %s", d.number, region, d.control.text, why)
    if sent:
        GOMP_PLUGIN_fatal(b"device %d (intelmic): %ssignal %d (%s), sent by process %d", d.number, region, death.signo,
                          strsignal(death.signo), death.sender)
    if death.signo == SIGSEGV or death.signo == SIGBUS:
        explain_address(d, death, why, sizeof(why))
        GOMP_PLUGIN_fatal(b"device %d (intelmic): %ssignal %d (%s): %s", d.number, region, death.signo,
                          strsignal(death.signo), why)
    GOMP_PLUGIN_fatal(b"device %d (intelmic): %ssignal %d (%s)%s", d.number, region, death.signo,
                      strsignal(death.signo),
                      mic_fpe_name(death.code) if death.signo == SIGFPE else <const char *>b"")


cdef void notice_death(mic_device *d) noexcept nogil:
    """Look whether the device lives.  If it doesn't, say what happened and end the program as libgomp would."""
    cdef int how = 0, status = 0, state
    if not d.running:
        wait_for_exit()  # exit was called in another thread
    if load32(&d.control.dead, SEQ_CST) != 0:
        report_death(d)
    state = mic_ended(d.pid, &how, &status)
    if state == 0:
        return
    if load32(&d.control.dead, SEQ_CST) != 0:
        report_death(d)
    if exchange32(&d.gone, 1, SEQ_CST) != 0 or not d.running:
        wait_for_exit()
    if state < 0:
        GOMP_PLUGIN_fatal(b"device %d (intelmic): its process has ended", d.number)
    if how == CLD_EXITED:
        GOMP_PLUGIN_fatal(b"device %d (intelmic): its process ended with status %d", d.number, status)
    if status == SIGPIPE:
        mic_die_of(status)  # a reader of our output has gone: what would have ended us, had we written
    GOMP_PLUGIN_fatal(
        b"device %d (intelmic): its process was killed by signal %d (%s)", d.number, status, strsignal(status)
    )
