# Events of several processes: CU_EVENT_INTERPROCESS, cuIpc*EventHandle.
#
# Such an event has a page of memory that the processes share: how many records were asked for, and up to which they
# have happened.  Who waits for it looks at the page now and then.  One whose process is gone will not happen: nobody
# waits for that.

cdef extern from *:
    """
    #include <errno.h>
    #include <poll.h>
    #include <signal.h>
    #include <time.h>
    #include "gompy/native/descriptors.h"
    struct shared_event
    {
      uint64_t recorded, happened;
      uint64_t pid;             /* whose record was the last */
    };
    static inline void event_passed (struct shared_event *s, uint64_t number)
    {
      uint64_t was = __atomic_load_n (&s->happened, __ATOMIC_RELAXED);
      while (was < number && !__atomic_compare_exchange_n (&s->happened, &was, number, 1, __ATOMIC_RELEASE,
                                                           __ATOMIC_RELAXED))
        ;
    }
    /* Whether a process has ended, also if its parent does not know yet.  */
    static inline int process_ended (pid_t pid)
    {
      int ended, fd = gompy_pidfd (pid);
      struct pollfd end = { fd, POLLIN, 0 };
      if (fd < 0)
        return errno == ESRCH || (kill (pid, 0) != 0 && errno == ESRCH);
      ended = poll (&end, 1, 0) == 1;
      close (fd);
      return ended;
    }
    /* Whether it will not happen any more.  */
    static inline int event_lost (struct shared_event *s, uint64_t number)
    {
      pid_t pid = (pid_t) __atomic_load_n (&s->pid, __ATOMIC_RELAXED);
      return pid != getpid () && process_ended (pid) && __atomic_load_n (&s->happened, __ATOMIC_ACQUIRE) < number;
    }
    /* Whether it happens; short rests first, then of a millisecond.  */
    static inline int event_awaited (struct shared_event *s, uint64_t number)
    {
      struct timespec rest = { 0, 20000 };
      for (unsigned looks = 1; __atomic_load_n (&s->happened, __ATOMIC_ACQUIRE) < number; looks++)
        {
          if (looks % 100 == 0 && event_lost (s, number))
            return 0;
          if (looks == 50)
            rest.tv_nsec = 1000000;
          nanosleep (&rest, NULL);
        }
      return 1;
    }
    """
    struct shared_event:
        uint64_t recorded, happened, pid
    void event_passed(shared_event *s, uint64_t number) nogil
    bint event_lost(shared_event *s, uint64_t number) nogil
    bint event_awaited(shared_event *s, uint64_t number) nogil

cdef enum:
    EVENT_MAGIC = 0x67706965
    EVENT_PAGE = 4096

cdef struct event_handle:      # CUipcEventHandle
    uint32_t magic
    int pid, fd
    uint32_t rest
    uint64_t device, inode     # of the file
    uint64_t more[4]


cdef struct event:
    handle_head head
    uint32_t flags
    uint64_t number            # of the last record; 0 = never
    uint64_t happened          # number of the last record that was passed
    double when                # ms
    stream *of                 # where it was recorded last
    uint64_t stream_serial, ticket
    context *of_context
    uint64_t captured          # the capture in which it was recorded last, by its number
    node_list marks            # what comes before it there
    shared_event *shared       # with other processes, or NULL
    gompy_kept file            # of it, where it was made
    uint64_t *known            # with GOMPY_CHECK=race: what comes before its last record (stream_order.pxi)


cdef shared_event *map_event(int fd) noexcept nogil:
    """The page in a file, or NULL."""
    cdef void *at = mmap(NULL, EVENT_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
    return NULL if at == MAP_FAILED else <shared_event *>at


cdef bint share_event(event *e) noexcept nogil:
    """Make an event's page."""
    cdef int fd = gompy_memfd(b"gompy-cuda-event")
    if fd < 0 or not lengthen_file(fd, EVENT_PAGE):
        if fd >= 0:
            close(fd)
        return False
    e.shared = map_event(fd)
    if e.shared == NULL:
        close(fd)
        return False
    gompy_keep(&e.file, fd)
    return True


cdef int open_event(event *e, const event_handle *h) noexcept nogil:
    """Another process's page."""
    cdef char path[64]
    cdef int fd
    snprintf(path, sizeof(path), b"/proc/%d/fd/%d", h.pid, h.fd)
    fd = gompy_open(path, O_RDWR, 0)
    if fd >= 0 and same_file(fd, h.device, h.inode):
        e.shared = map_event(fd)
    if fd >= 0:
        close(fd)
    return CUDA_SUCCESS if e.shared != NULL else CUDA_ERROR_MAP_FAILED


cdef void leave_event(event *e) noexcept nogil:
    """An event goes: this process's part of what is shared does."""
    if e.shared != NULL:
        munmap(e.shared, EVENT_PAGE)
        gompy_close_kept(&e.file)


cdef uint64_t next_record(event *e) noexcept nogil:
    """The number of another record.  With work_lock held."""
    if e.shared == NULL:
        return e.number + 1
    store64(&e.shared.pid, <uint64_t>getpid(), RELAXED)
    return add64(&e.shared.recorded, 1, ACQUIRE_RELEASE)


cdef inline bint has_happened(event *e) noexcept nogil:
    """Whether the last record was passed, of whatever process it is.  With work_lock held."""
    if e.shared == NULL:
        return e.number == e.happened
    return load64(&e.shared.happened, ACQUIRE) >= load64(&e.shared.recorded, ACQUIRE)
