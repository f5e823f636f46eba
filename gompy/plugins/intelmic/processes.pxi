# What has become of a device process.

cdef extern from *:
    """
    /* What has become of the device: 0 it runs, 1 it ended and `*how`, `*status` tell, -1 somebody else reaped it.  */
    static int
    mic_ended (pid_t pid, int *how, int *status)
    {
      siginfo_t info;
      memset (&info, 0, sizeof info);
      if (waitid (P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return errno == ECHILD ? (kill (pid, 0) == 0 ? 0 : -1) : 0;
      if (info.si_pid == 0)
        return 0;
      *how = info.si_code;
      *status = info.si_status;
      return 1;
    }
    """
    int mic_ended(pid_t pid, int *how, int *status) nogil
    int CLD_EXITED, CLD_KILLED, CLD_DUMPED
    pid_t waitpid(pid_t pid, int *status, int options) nogil


cdef bint await_end(pid_t pid, int milliseconds) noexcept nogil:
    """Wait until a child has ended, not longer than so many milliseconds.  Whether it has."""
    cdef int fd = gompy_pidfd(pid)
    cdef pollfd one
    cdef int how, status, ended = 0
    cdef uint64_t end = now_ns() + <uint64_t>milliseconds * 1000000
    one.fd = fd
    one.events = POLLIN
    while True:
        ended = mic_ended(pid, &how, &status)
        if ended != 0 or now_ns() >= end:
            break
        if fd >= 0:
            poll(&one, 1, min(milliseconds, 50))
        else:
            usleep(200)
    if fd >= 0:
        close(fd)
    return ended != 0
