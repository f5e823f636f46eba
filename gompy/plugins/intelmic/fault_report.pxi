# What the host says when a device has died.


cdef void notice_death(mic_device *d) noexcept nogil:
    """Look whether the device lives.  If it doesn't, say what happened and end the program as libgomp would."""
    cdef int how = 0, status = 0, state
    if load32(&d.control.dead, SEQ_CST) != 0:
        report_death(d)
        return
    state = mic_ended(d.pid, &how, &status)
    if state == 0:
        return
    if load32(&d.control.dead, SEQ_CST) != 0:
        report_death(d)
    if exchange32(&d.gone, 1, SEQ_CST) != 0:
        wait_for_exit()
    if state < 0:
        GOMP_PLUGIN_fatal(b"device %d (intelmic): its process has ended", d.number)
    if how == CLD_EXITED:
        GOMP_PLUGIN_fatal(b"device %d (intelmic): its process ended with status %d", d.number, status)
    GOMP_PLUGIN_fatal(b"device %d (intelmic): its process was killed by signal %d (%s)", d.number, status, strsignal(status))


cdef void wait_for_exit() noexcept nogil:
    """Another thread is ending the program: stay out of its way."""
    while True:
        pause()


cdef void report_death(mic_device *d) noexcept nogil:
    """Tell what the device's fault handler noted."""
    cdef mic_death *death = &d.control.death
    if exchange32(&d.gone, 1, SEQ_CST) != 0:
        wait_for_exit()
    if death.kind == MIC_DEATH_EXIT:
        GOMP_PLUGIN_fatal(b"device %d (intelmic): exit (%d) called in a region", d.number, death.code)
    GOMP_PLUGIN_fatal(b"device %d (intelmic): signal %d (%s) at %p, address %p", d.number, death.signo,
                      strsignal(death.signo), <void *>death.pc, <void *>death.address)
