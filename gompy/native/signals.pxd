# Signals: sets of them, and their numbers.

cdef extern from "<signal.h>" nogil:
    ctypedef struct sigset_t:
        pass
    int sigemptyset(sigset_t *)
    int sigfillset(sigset_t *)
    int sigaddset(sigset_t *, int)
    int sigdelset(sigset_t *, int)
    int sigismember(const sigset_t *, int)
    int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
    int SIG_SETMASK, SIG_BLOCK
    int SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGINT, SIGQUIT, SIGHUP, SIGPIPE, SIGKILL, SIGTERM
