# OpenACC's asynchronous queues: a thread of the host for each, which does the queue's jobs one after another.
#
# Waking that thread costs far more than a short job.  So a thread that waits for a queue does its jobs itself, if
# nobody is at it, and the queue's thread, having had work, is not woken for each new job but looks by itself every
# POLL_US for a while, more seldom where others did its work.

cdef extern from *:
    """
    enum { MIC_JOB_RUN, MIC_JOB_TO_DEVICE, MIC_JOB_TO_HOST, MIC_JOB_WITHIN, MIC_JOB_CALL, MIC_JOB_WAIT };
    struct mic_acc_job
    {
      int what;
      void *to;                        /* RUN: argument block */
      const void *from;
      size_t size;                     /* RUN: sizes of the launch */
      void *function, *data;           /* RUN: device function; CALL */
      struct mic_acc_queue *other;     /* WAIT: until it has done `number` jobs */
      uint64_t number;
      struct mic_acc_job *next;
    };
    struct mic_acc_queue
    {
      struct mic_device *device;
      pthread_t thread;
      pthread_mutex_t lock;
      pthread_cond_t work, progress;
      struct mic_acc_job *first, **last;
      uint64_t submitted, done;
      uint64_t wanted;                 /* so many done is what the first of the waiting threads waits for */
      int ends, ended, failed;
      int holders;                     /* its opener, and the WAIT jobs that name it */
      int running;                     /* `runner` does a job */
      pthread_t runner;
      int polling;                     /* its thread looks for jobs by itself soon: no need to wake it */
    };
    typedef void (*mic_callback) (void *);
    static void
    mic_release_queue (struct mic_acc_queue *q)
    {
      if (__atomic_sub_fetch (&q->holders, 1, __ATOMIC_ACQ_REL))
        return;
      pthread_mutex_destroy (&q->lock);
      pthread_cond_destroy (&q->work);
      pthread_cond_destroy (&q->progress);
      free (q);
    }
    static void
    mic_wait_a_while (pthread_cond_t *cond, pthread_mutex_t *lock, int us)
    {
      struct timespec end;
      clock_gettime (CLOCK_MONOTONIC, &end);
      end.tv_nsec += 1000L * us;
      end.tv_sec += end.tv_nsec / 1000000000;
      end.tv_nsec %= 1000000000;
      pthread_cond_clockwait (cond, lock, CLOCK_MONOTONIC, &end);
    }
    """
    void mic_wait_a_while(pthread_cond_t *cond, pthread_mutex_t *lock, int us) nogil
    void mic_release_queue(mic_acc_queue *q) nogil
    int atomic_add_fetch "__atomic_add_fetch"(int *at, int value, int order) nogil
    int MIC_JOB_RUN, MIC_JOB_TO_DEVICE, MIC_JOB_TO_HOST, MIC_JOB_WITHIN, MIC_JOB_CALL, MIC_JOB_WAIT
    ctypedef void (*mic_callback)(void *) nogil
    struct mic_acc_job:
        int what
        void *to
        const void *from_ "from"
        size_t size
        void *function
        void *data
        mic_acc_queue *other
        uint64_t number
        mic_acc_job *next
    struct mic_acc_queue:
        mic_device *device
        pthread_t thread
        pthread_mutex_t lock
        pthread_cond_t work
        pthread_cond_t progress
        mic_acc_job *first
        mic_acc_job **last
        uint64_t submitted
        uint64_t done
        uint64_t wanted
        int ends
        int ended
        int failed
        int holders
        int running
        pthread_t runner
        int polling

cdef enum:
    POLL_US = 50
    POLL_SELDOM_US = 200
    POLLS = 20  # without a job of its own, then it sleeps


cdef bint do_job(mic_acc_queue *q, mic_acc_job *job) noexcept nogil:
    """Do one job; False if it failed (the message is out)."""
    if job.what == MIC_JOB_RUN:
        launch_region(q.device, job.function, job.to, 1, 0, job.size)
        return True
    if job.what == MIC_JOB_TO_DEVICE:
        return copy_to_device(device_of(q.device.number), job.to, job.from_, job.size)
    if job.what == MIC_JOB_TO_HOST:
        return copy_from_device(device_of(q.device.number), job.to, job.from_, job.size)
    if job.what == MIC_JOB_WITHIN:
        return copy_on_device(device_of(q.device.number), job.to, <void *>job.from_, job.size)
    if job.what == MIC_JOB_CALL:
        (<mic_callback>job.function)(job.data)
        return True
    pthread_mutex_lock(&job.other.lock)
    work_until(job.other, job.number)
    pthread_mutex_unlock(&job.other.lock)
    mic_release_queue(job.other)
    return True


cdef void do_first(mic_acc_queue *q) noexcept nogil:
    """Do the first job, which there is and nobody is at.  With the queue's lock held; it is let go meanwhile."""
    cdef mic_acc_job *job = q.first
    cdef bint good
    q.first = job.next
    if q.first == NULL:
        q.last = &q.first
    q.running = 1
    q.runner = pthread_self()
    pthread_mutex_unlock(&q.lock)
    good = do_job(q, job)
    free(job)
    pthread_mutex_lock(&q.lock)
    q.running = 0
    if not good:
        q.failed = 1
    q.done += 1
    if q.done >= q.wanted:
        q.wanted = ~<uint64_t>0
        pthread_cond_broadcast(&q.progress)


cdef void work_until(mic_acc_queue *q, uint64_t number) noexcept nogil:
    """Wait until a queue has done its first ``number`` jobs, helping.  With its lock held.

    The queue's thread may sleep while somebody else does a job, so what is left is told it in the end.
    """
    cdef acc_prof_info *own = profile_pause()
    while q.done < number:
        if q.first != NULL and not q.running:
            do_first(q)
        else:
            if number < q.wanted:
                q.wanted = number
            pthread_cond_wait(&q.progress, &q.lock)
    profile_resume(own)
    if (q.first != NULL or q.ends) and not q.running:
        pthread_cond_signal(&q.work)


cdef void *queue_thread(void *data) noexcept nogil:
    """The thread of a queue."""
    cdef mic_acc_queue *q = <mic_acc_queue *>data
    cdef uint64_t seen = 0
    cdef int polls = POLLS, us = POLL_US
    pthread_mutex_lock(&q.lock)
    while True:
        if q.first != NULL and not q.running:
            do_first(q)
            polls, us, seen = 0, POLL_US, q.submitted
        elif q.first == NULL and q.ends and not q.running:
            break
        elif polls == POLLS:
            pthread_cond_wait(&q.work, &q.lock)
        else:
            polls += 1
            q.polling = 1
            mic_wait_a_while(&q.work, &q.lock, us)
            q.polling = 0
            if q.submitted != seen:
                polls, us, seen = 0, POLL_SELDOM_US, q.submitted
    q.ended = 1
    pthread_cond_broadcast(&q.progress)
    pthread_mutex_unlock(&q.lock)
    return NULL


cdef mic_acc_queue *queue_open(mic_device *d) noexcept nogil:
    """A new queue, or NULL.  Its thread takes no signals: those are the program's own threads'."""
    cdef mic_acc_queue *q = <mic_acc_queue *>calloc(1, sizeof(mic_acc_queue))
    cdef sigset_t all_signals, old
    cdef int rc
    if q == NULL:
        return NULL
    q.device = d
    q.holders = 1
    q.last = &q.first
    q.wanted = ~<uint64_t>0
    pthread_mutex_init(&q.lock, NULL)
    pthread_cond_init(&q.work, NULL)
    pthread_cond_init(&q.progress, NULL)
    sigfillset(&all_signals)
    pthread_sigmask(SIG_SETMASK, &all_signals, &old)
    rc = pthread_create(&q.thread, NULL, queue_thread, q)
    pthread_sigmask(SIG_SETMASK, &old, NULL)
    if rc:
        GOMP_PLUGIN_error(b"device %d (intelmic): cannot start a thread for a queue: %s%s", d.number, strerror(rc),
                          gompy_limit_hint(rc))
        free(q)
        return NULL
    pthread_setname_np(q.thread, b"gompy-queue")  # check_watch.h looks for it
    d.queues += 1
    return q


cdef mic_acc_job *new_job(int what) noexcept nogil:
    cdef mic_acc_job *job = <mic_acc_job *>calloc(1, sizeof(mic_acc_job))
    if job == NULL:
        GOMP_PLUGIN_fatal(b"Out of memory allocating %zu bytes", sizeof(mic_acc_job))
    job.what = what
    return job


cdef void add_job(mic_acc_queue *q, mic_acc_job *job) noexcept nogil:
    """Append a job."""
    pthread_mutex_lock(&q.lock)
    q.last[0] = job
    q.last = &job.next
    q.submitted += 1
    if not q.polling:
        pthread_cond_signal(&q.work)
    pthread_mutex_unlock(&q.lock)


cdef bint queue_synchronize(mic_acc_queue *q) noexcept nogil:
    """Wait for what a queue holds now; False if a copy in it has failed at some time."""
    cdef uint64_t number
    pthread_mutex_lock(&q.lock)
    number = q.submitted
    work_until(q, number)
    pthread_mutex_unlock(&q.lock)
    return not q.failed


cdef bint queue_close(mic_acc_queue *q) noexcept nogil:
    """Let a queue run empty and end its thread.

    One whose region has ended the program, or whose device died, is left.
    """
    cdef bint good, ended
    if pthread_equal(q.thread, pthread_self()):
        return True
    pthread_mutex_lock(&q.lock)
    if q.running and pthread_equal(q.runner, pthread_self()):
        pthread_mutex_unlock(&q.lock)
        return True
    q.ends = 1
    pthread_cond_signal(&q.work)
    while not q.ended and not load32(&q.device.gone, SEQ_CST):
        mic_wait_a_while(&q.progress, &q.lock, 100000)
    ended = q.ended
    pthread_mutex_unlock(&q.lock)
    if not ended:
        return True
    pthread_join(q.thread, NULL)
    q.device.queues -= 1
    good = not q.failed
    mic_release_queue(q)
    return good
