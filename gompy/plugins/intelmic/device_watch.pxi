# The device's end when its host ends, however that happens.
#
# Three things tell of it: the host's pidfd, also while a forked child of the host lives; the pipe, whose other end is
# the host's alone, also when the host executes another program; and the host's /proc/<pid>/maps, opened by the host
# before our start, which is empty once the host has no memory of its own any more.  The program may close the pipe
# (closefrom), a region all three: then the others decide, looked at twice a second.

cdef int host_pipe
cdef int host_pidfd


cdef bint host_lives() noexcept nogil:
    """Whether the host is still the program that has started us."""
    cdef char byte
    if host_maps >= 0:
        if pread(host_maps, &byte, 1, 0) > 0:
            return True
        if errno != EBADF:
            return False
    return control.tool != 0 and kill(control.host_pid, 0) == 0 or getppid() == control.host_pid


cdef void end_with_host() noexcept nogil:
    """The host has ended."""
    if control.directory[0]:
        remove_directory(control.directory)
    if control.tool != 0:
        end_under_tool()
        _exit(1)
    kill(getpid(), SIGKILL)


cdef void *watch_host(void *arg) noexcept nogil:
    """End this process when the host has ended."""
    cdef pollfd fds[2]
    cdef int ready, timeout = -1, i
    note_thread(MIC_COMMAND_SLOT)
    fds[0].fd = host_pipe
    fds[0].events = 0
    fds[1].fd = host_pidfd
    fds[1].events = POLLIN
    while True:
        fds[0].revents = 0
        fds[1].revents = 0
        ready = poll(fds, 2, timeout)  # takes no notice of negative descriptors
        if ready < 0:
            usleep(1000)
            continue
        if fds[1].revents & POLLIN:
            end_with_host()
        for i in range(2):
            if fds[i].revents:  # the host has ended, or it was closed by the program or a region
                fds[i].fd = -1
                timeout = 500
        if timeout >= 0 and not host_lives():
            end_with_host()
    return NULL


cdef void start_watch() noexcept nogil:
    """Start the thread that watches the host."""
    cdef pthread_t thread
    cdef pthread_attr_t attributes
    cdef sigset_t all_signals, old
    sigfillset(&all_signals)
    pthread_sigmask(SIG_SETMASK, &all_signals, &old)
    pthread_attr_init(&attributes)
    pthread_attr_setstacksize(&attributes, 131072)
    if pthread_create(&thread, &attributes, watch_host, NULL) == 0:
        pthread_detach(thread)
    pthread_attr_destroy(&attributes)
    pthread_sigmask(SIG_SETMASK, &old, NULL)
