# Adaptive waiting: look at a word of shared memory for a while, then let the caller sleep on it.
#
# Two processes that both look see each other's stores within 0.1 us; a futex takes 5 us on bare metal and up to 90 us
# on a virtual machine.  So regions that come in bursts never sleep, and an idle pair costs nothing.


cdef inline bint spin_while_equal(uint32_t *word, uint32_t value, uint64_t limit_ns) noexcept nogil:
    """Look at ``*word`` until it differs from value (True) or limit_ns have passed (False).

    After 20 us the processor is offered to others now and then: the other side may be waiting for this very one.
    """
    cdef int i
    cdef uint64_t start, passed
    for i in range(256):
        if load32(word, ACQUIRE) != value:
            return True
        mic_relax()
    if limit_ns == 0:
        return False
    start = now_ns()
    while True:
        for i in range(64):
            if load32(word, ACQUIRE) != value:
                return True
            mic_relax()
        passed = now_ns() - start
        if passed > limit_ns:
            return False
        if passed > 20000:
            sched_yield()


cdef int available_cpus() noexcept nogil:
    """Processors that this process may use, at least 1."""
    cdef cpu_set_t cpus
    cdef int n
    if sched_getaffinity(0, sizeof(cpus), &cpus) != 0:
        return 1
    n = CPU_COUNT(&cpus)
    return n if n > 0 else 1
