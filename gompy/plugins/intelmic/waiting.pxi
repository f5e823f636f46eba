# Adaptive waiting: look at a word of shared memory for a while, then let the caller sleep on it.
#
# Two threads that both look, each on a processor of its own, see each other's stores within 0.1 us; a futex takes 5 us
# on bare metal and up to 90 us on a virtual machine.  So regions that come in bursts never sleep, and an idle pair
# costs nothing.
#
# Where both are on ONE processor looking is all loss: what is looked for cannot come before the looker is off the
# processor.  Each side publishes its processor beside what it writes anyway, when it begins to wait and whenever it has
# been moved, and gives up looking as soon as the other's is its own.  Then both sleep on futexes: the scheduler's
# handover on one processor (5 us), whatever else wants that processor.  sched_yield is no substitute: with a third
# program on the processor it gives that one a whole slice, 3 ms.
#
# The published processors are hints.  A stale one costs a look in vain or a sleep too early, never a wake-up: who
# sleeps announces it and looks once more, who stores a word reads the announcement after it, both with a full barrier
# between.


cdef extern from "processors.h" nogil:
    int MIC_MASK_WORDS
    void take_mask "mic_take_mask"(const unsigned long *own)
    bint stay_here "mic_stay_here"(unsigned long *own)
    bint only_here "mic_only_here"(unsigned long *only)
    void give_mask "mic_give_mask"(int id, const unsigned long *processors)


cdef inline uint32_t publish_processor(uint32_t *own) noexcept nogil:
    """Write to ``*own`` where the caller runs, unless that stands there.  Returns it, 0 if it is not known."""
    cdef uint32_t here = mic_processor()
    if load32(own, RELAXED) != here:
        store32(own, here, RELAXED)
    return here


cdef inline bint one_processor(uint32_t *own, uint32_t *others) noexcept nogil:
    """Publish where the caller runs.  Whether the other side was on this processor when it last said so."""
    cdef uint32_t here = publish_processor(own)
    return here != 0 and load32(others, RELAXED) == here


cdef inline bint look_while_equal(uint32_t *word, uint32_t value, uint64_t limit_ns, uint32_t *own,
                                  uint32_t *others) noexcept nogil:
    """Look at ``*word`` until it differs from value (True).

    False: limit_ns have passed, or the other side is on this processor.  own, others: as in one_processor.
    """
    cdef int i
    cdef uint64_t start
    for i in range(256):
        if load32(word, ACQUIRE) != value:
            return True
        if i == 8 and one_processor(own, others):  # not before what comes at once has come
            return False
        mic_relax()
    if limit_ns == 0:
        return False
    start = now_ns()
    while True:
        for i in range(64):
            if load32(word, ACQUIRE) != value:
                return True
            mic_relax()
        if one_processor(own, others) or now_ns() - start > limit_ns:
            return False
