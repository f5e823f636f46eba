# The scheduler gives a slot's thread the processor sooner, and for less time at once, where others want it, too.
#
# Linux 6.12 and later let a thread ask for the length of its slices (sched_setattr).  One that asks for short ones is
# due earlier, with the same share of the processor.  That suits a thread that sleeps between short regions: among busy
# loops the host waits less for it.  Threads that a region starts have usual slices.

cdef extern from *:
    """
    #define MIC_SLICE_NS 100000 /* the shortest that Linux has */

    struct mic_scheduling  /* struct sched_attr of Linux 3.14, which later ones take as well */
    {
      uint32_t size, policy;
      uint64_t flags;
      int32_t nice;
      uint32_t priority;
      uint64_t runtime, deadline, period;
    };

    /* Ask for short slices.  Not with a nice value below 0: threads started from here would lose it.  */
    static void
    mic_short_slices (void)
    {
      struct mic_scheduling now = { 0 };
      if (syscall (SYS_sched_getattr, 0, &now, sizeof now, 0) != 0 || now.nice < 0
          || (now.policy != SCHED_OTHER && now.policy != SCHED_BATCH))
        return;
      now.size = sizeof now;
      now.flags = 1; /* SCHED_FLAG_RESET_ON_FORK */
      now.runtime = MIC_SLICE_NS;
      now.deadline = now.period = 0;
      syscall (SYS_sched_setattr, 0, &now, 0);
    }
    """
    void short_slices "mic_short_slices"() nogil
