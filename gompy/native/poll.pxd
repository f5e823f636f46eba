# Waiting for descriptors.

cdef extern from "<poll.h>" nogil:
    struct pollfd:
        int fd
        short events
        short revents
    short POLLIN, POLLOUT
    int poll(pollfd *fds, unsigned long n, int timeout)
