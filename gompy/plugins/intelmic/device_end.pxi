# The end of a device's threads: where its main thread ends the process.
#
# exit_group wakes each thread, to end it.  The scheduler likes to do that on an idle processor, which has to be waked
# first, 25 to 50 us on a virtual machine, and the host waits for the last one.  So those that sleep get this processor.

cdef extern from *:
    """
    /* Thread numbers by slot, 0: none; the command slot's is the watch's.  */
    static int mic_sleeping_threads[MIC_SLOTS + 1];
    """
    int sleeping_threads "mic_sleeping_threads"[]


cdef void note_thread(int slot) noexcept nogil:
    """The caller is the thread of that slot."""
    sleeping_threads[slot] = <int>syscall(SYS_gettid)


cdef void gather_threads() noexcept nogil:
    """Have the threads that sleep end on this processor: the watch, and those of the first slots."""
    cdef unsigned long here[128]
    cdef int i
    if control.spins < 2 or control.tool != 0 or not only_here(here):
        return
    give_mask(sleeping_threads[MIC_COMMAND_SLOT], here)
    for i in range(4):
        if sleeping_threads[i] and load32(&control.slots[i].device_sleeps, RELAXED):
            give_mask(sleeping_threads[i], here)
