# When a region dies: note in shared memory what happened, tell the host, end.

cdef extern from *:
    """
    static __thread char *mic_alternate_stack;
    #define MIC_ALTERNATE_SIZE 65536

    static void mic_on_fault (int, siginfo_t *, void *);

    static void
    mic_catch_faults (void)
    {
      static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS };
      struct sigaction a;
      memset (&a, 0, sizeof a);
      a.sa_sigaction = mic_on_fault;
      a.sa_flags = SA_SIGINFO | SA_ONSTACK;
      sigfillset (&a.sa_mask);  /* a fault in the handler ends the process */
      for (unsigned i = 0; i < sizeof signals / sizeof signals[0]; i++)
        sigaction (signals[i], &a, NULL);
    }

    static void
    mic_ignore (int signo)
    {
      struct sigaction a;
      memset (&a, 0, sizeof a);
      a.sa_handler = SIG_IGN;
      sigaction (signo, &a, NULL);
    }

    /* A stack for handlers: the fault may be the end of the thread's own.  */
    static void
    mic_set_alternate_stack (void)
    {
      stack_t s;
      memset (&s, 0, sizeof s);
      mic_alternate_stack = mmap (NULL, MIC_ALTERNATE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (mic_alternate_stack == MAP_FAILED)
        return;
      s.ss_sp = mic_alternate_stack;
      s.ss_size = MIC_ALTERNATE_SIZE;
      sigaltstack (&s, NULL);
    }

    static uintptr_t mic_context_pc (void *context)
    { return ((ucontext_t *) context)->uc_mcontext.gregs[REG_RIP]; }
    static uintptr_t mic_context_sp (void *context)
    { return ((ucontext_t *) context)->uc_mcontext.gregs[REG_RSP]; }
    """
    ctypedef struct siginfo_t:
        int si_signo
        int si_code
        void *si_addr
        pid_t si_pid
    uint64_t SIGNAL_NS "GOMPY_SIGNAL_NS"
    void catch_faults "mic_catch_faults"() nogil
    void ignore_signal "mic_ignore"(int signo) nogil
    void alternate_stack "mic_set_alternate_stack"() nogil
    uintptr_t mic_context_pc(void *context) nogil
    uintptr_t mic_context_sp(void *context) nogil

cdef extern from *:
    """
    static uintptr_t mic_stack_pointer (void) { return (uintptr_t) __builtin_frame_address (0); }
    """
    uintptr_t stack_pointer "mic_stack_pointer"() nogil

cdef uint32_t dying


cdef inline bint in_image(uintptr_t pc) noexcept nogil:
    """Whether an address is in the code of a loaded image."""
    cdef int i
    for i in range(image_count):
        if mic_images[i].text_begin <= pc < mic_images[i].text_end:
            return True
    return False


cdef public int is_image_code "mic_is_image_code"(uintptr_t pc) noexcept nogil:
    """For device_marks.h."""
    return in_image(pc)


cdef inline bint after_call(uintptr_t pc) noexcept nogil:
    """Whether the instruction before an address of an image's code looks like a call (E8, or FF /2 with its operands).
    """
    cdef unsigned char *p = <unsigned char *>pc
    cdef int n
    if not in_image(pc - 8):
        return False
    if (p - 5)[0] == 0xE8:
        return True
    for n in range(2, 8):
        if (p - n)[0] == 0xFF and ((p - n)[1] >> 3 & 7) == 2:
            return True
    return False


cdef inline bint points_to_region(uintptr_t pc) noexcept nogil:
    """Whether a word is the address of a region's function rather than a return address.

    It can be both: behind a call that does not return, the next function begins.  Then it is taken for a return address
    if the function before it is the running region.
    """
    cdef int i
    cdef bint found = False
    cdef uintptr_t before = 0
    cdef void **entry
    for i in range(image_count):
        entry = mic_images[i].regions
        while entry != mic_images[i].regions_end:
            if <uintptr_t>entry[0] == pc:
                found = True
            elif before < <uintptr_t>entry[0] < pc:
                before = <uintptr_t>entry[0]
            entry += 1
    return found and (mic_thread_slot < 0 or before != control.slots[mic_thread_slot].args[0])


cdef uintptr_t image_address_on_stack(uintptr_t sp, uint64_t *outer) noexcept nogil:
    """The first word above sp that is a return address into an image's code: where the image called what has failed.

    ``outer`` gets the second one; it is left as it is if there is none.  NULL: it is not asked for.  A guess (the word
    may be stale), used for a message when the fault is in a library.  The stack is copied by the kernel, which stops
    where it ends.  Returns 0 if there is none within 64 KiB.
    """
    cdef uintptr_t *words = <uintptr_t *>(<char *>control + MIC_SCRATCH)
    # not the C library's: libasan's has an opinion of what may be read there
    cdef ssize_t n = syscall(SYS_pwrite64, memory_fd, <void *>sp, <size_t>65536, <off_t>MIC_SCRATCH)
    cdef uintptr_t found = 0
    cdef int i
    for i in range(<int>(n // <ssize_t>sizeof(uintptr_t)) if n > 0 else 0):
        if in_image(words[i] - 1) and after_call(words[i]) and not points_to_region(words[i]):
            if found:
                outer[0] = words[i]
                return found
            if outer == NULL:
                return words[i]
            found = words[i]
    return found


cdef void tell_death() noexcept nogil:
    """The report is complete: wake every thread of the host that waits for this device."""
    cdef int i
    exchange32(&control.dead, 1, SEQ_CST)
    for i in range(MIC_SLOTS + 1):
        futex_wake(&control.slots[i].done)
    for i in range(MIC_CELLS):
        if load32(&control.queue.cells[i].host_sleeps, SEQ_CST) != 0:
            futex_wake(&control.queue.cells[i].done)
    futex_wake(&control.state)


cdef void only_one_dies() noexcept nogil:
    """Let the first thread through; others wait for the end it brings."""
    if exchange32(&dying, 1, SEQ_CST) != 0:
        while True:
            pause()


cdef void note_doubtful(unsigned mark, uint64_t address, uintptr_t pc, uintptr_t sp, uint64_t other) noexcept nogil:
    """Note for the host that a region has read what is doubtful, or has raced with the access at ``other``."""
    cdef uint32_t number = add32(&control.reads_seen, 1, SEQ_CST) - 1
    cdef mic_read *read
    if number >= <uint32_t>MIC_READS:
        return
    read = &control.reads[number]
    read.slot = mic_thread_slot
    read.address = address
    read.pc = pc
    read.stack = sp
    read.image_pc = pc if in_image(pc) else image_address_on_stack(sp, NULL)
    read.other_pc = other
    store32(&read.mark, mark, RELEASE)


cdef void end_by_fault(int signo, int code, uint64_t address, uintptr_t pc, uintptr_t sp, int sender,
                       bint again=False) noexcept nogil:
    """Tell the host of the fault that ends the region, and end.

    Where cores are wanted it returns, if ``again``: the instruction runs once more, and the core shows it.
    """
    cdef bint core = control.tool == 0 and core_is_wanted()
    only_one_dies()
    control.death.kind = MIC_DEATH_SIGNAL
    control.death.signo = signo
    control.death.code = code
    control.death.slot = mic_thread_slot
    control.death.address = address
    control.death.pc = pc
    control.death.stack = sp
    control.death.image_pc = pc if in_image(pc) else image_address_on_stack(sp, &control.death.outer_pc)
    control.death.tid = <int>syscall(SYS_gettid)
    control.death.sender = sender
    control.death.core = core
    # The kernel looks: it enlarges a stack as far as an access would.
    control.death.overflow = syscall(SYS_pwrite64, memory_fd, <void *>sp, <size_t>1, <off_t>MIC_SCRATCH) < 0
    tell_death()
    if core:
        end_with_core(signo, again)
        if again:
            return
    _exit(128 + signo)


cdef public void mic_fault "mic_fault"(int signo, siginfo_t *info, void *context) noexcept nogil:
    """A signal that ends the region: SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS."""
    cdef uintptr_t pc = mic_context_pc(context)
    cdef uintptr_t address = <uintptr_t>info.si_addr if info.si_code > 0 else 0
    cdef unsigned mark = 0
    cdef bint again = info.si_code > 0 and signo in (SIGSEGV, SIGBUS, SIGFPE, SIGILL)
    cdef uint64_t begin = now_ns()
    if marked_fault(signo, info, context, &mark):
        add64(&control.guards.ns, now_ns() - begin + SIGNAL_NS, RELAXED)
        if mark:
            note_doubtful(mark, <uint64_t>info.si_addr, pc, mic_context_sp(context), 0)
        return
    if signo == SIGTRAP and is_jump_page(pc - 1):
        signo = SIGSEGV  # a call of the host's code
        pc -= 1
        address = pc
    end_by_fault(signo, info.si_code if signo != SIGSEGV or address != pc else SEGV_MAPERR, <uint64_t>address, pc,
                 mic_context_sp(context), info.si_pid if info.si_code <= 0 else 0, again)


cdef extern from *:
    """
    void mic_fault (int, siginfo_t *, void *);
    static void
    mic_on_fault (int signo, siginfo_t *info, void *context)
    {
      int error = errno;  /* the region's: it goes on where the fault was only the first access to a page */
      mic_fault (signo, info, context);
      errno = error;
    }
    """
    pass
