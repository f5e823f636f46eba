# On which processors a device process starts, and ends: on the host's alone (processors.h).

cdef extern from *:
    """
    extern int omp_get_num_places (void) __attribute__ ((weak));
    extern int omp_get_place_num_procs (int) __attribute__ ((weak));
    extern void omp_get_place_proc_ids (int, int *) __attribute__ ((weak));

    /* The processors of all of libgomp's places.  0: it has none.  */
    static int
    mic_all_places (unsigned long *processors)
    {
      int places = omp_get_num_places ? omp_get_num_places () : 0;
      if (places <= 0)
        return 0;
      memset (processors, 0, MIC_MASK_WORDS * sizeof *processors);
      for (int i = 0; i < places; i++)
        {
          int n = omp_get_place_num_procs (i), ids[n > 0 ? n : 1];
          omp_get_place_proc_ids (i, ids);
          for (int j = 0; j < n; j++)
            if (ids[j] / 64 < MIC_MASK_WORDS)
              processors[ids[j] / 64] |= 1ul << ids[j] % 64;
        }
      return 1;
    }

    /* The processors that the calling thread may use.  0: the system does not say.  */
    static int
    mic_own_mask (unsigned long *own)
    {
      return sched_getaffinity (0, MIC_MASK_WORDS * sizeof *own, (cpu_set_t *) own) == 0;
    }
    """
    bint all_places "mic_all_places"(unsigned long *processors) nogil
    bint own_mask "mic_own_mask"(unsigned long *own) nogil

cdef enum:
    START_NS = 4000000  # a start that takes longer has no processor for itself


cdef bint begin_start(mic_device *d, unsigned long *own) noexcept nogil:
    """Have the calling thread, and the process that it starts, stay where it is.

    True: it has another mask from now on than before, which was ``own``.  The device's may be wider: with OMP_PROC_BIND
    or OMP_PLACES libgomp binds the program's first thread to one place, and a device is to have all of them.
    """
    cdef bint bound
    if not own_mask(own):
        return False
    memcpy(d.control.processors, own, MIC_MASK_WORDS * sizeof(unsigned long))
    bound = all_places(d.control.processors)
    # valgrind and the like, and a process that is executed once more for a library, would not know of it
    d.control.narrow = d.control.spins > 1 and d.control.tool == 0 and d.preload[0] == 0 and stay_here(own)
    d.control.begun_narrow = d.control.narrow  # `narrow` may end before the device has looked at it
    if bound and not d.control.narrow:
        take_mask(d.control.processors)
    return bound or d.control.narrow


cdef void spread_start(mic_device *d) noexcept nogil:
    """Another program has that processor as well, if the device is not ready now: have it take any other one."""
    if d.control.narrow and load32(&d.control.state, ACQUIRE) == MIC_STARTING:
        d.control.narrow = 0
        give_mask(d.pid, d.control.processors)


cdef bint begin_end(mic_device *d, unsigned long *own) noexcept nogil:
    """Have the calling thread, and the device's main thread, stay on this processor while the device ends.

    True: the caller has another mask from now on than before, which was ``own``.
    """
    cdef unsigned long here[128]
    if d.control.spins < 2 or d.control.tool != 0 or d.preload[0] != 0 or not stay_here(own):
        return False
    if only_here(here):
        d.control.ending = 1
        give_mask(d.control.device_pid, here)
    return True


cdef void spread_end(mic_device *d, const unsigned long *own, bint ended) noexcept nogil:
    """Take the mask ``own`` again, and have the device take its own, unless it has ended."""
    take_mask(own)
    if not ended:
        give_mask(d.control.device_pid, d.control.processors)
