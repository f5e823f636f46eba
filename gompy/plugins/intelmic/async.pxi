# Regions that the host doesn't wait for (nowait): helper threads run them and tell the runtime when they are done.

cdef extern from *:
    """
    #define MIC_HELPERS 32
    struct mic_job
    {
      struct mic_device *device;
      void *function, *variables, *data;
      uint64_t teams, limit;
      struct mic_job *next;
    };
    static pthread_mutex_t mic_job_lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t mic_job_ready = PTHREAD_COND_INITIALIZER;
    static struct mic_job *mic_jobs, **mic_last_job = &mic_jobs;
    """
    int MIC_HELPERS
    struct mic_job:
        mic_device *device
        void *function
        void *variables
        void *data
        uint64_t teams
        uint64_t limit
        mic_job *next
    pthread_mutex_t mic_job_lock
    pthread_cond_t mic_job_ready
    mic_job *mic_jobs
    mic_job **mic_last_job

cdef int helpers, idle_helpers, waiting_jobs


cdef void *run_helper(void *arg) noexcept nogil:
    """A helper thread: one job after another, in the order of their coming."""
    global mic_jobs, mic_last_job, idle_helpers, waiting_jobs
    cdef mic_job *job
    while True:
        pthread_mutex_lock(&mic_job_lock)
        idle_helpers += 1
        while mic_jobs == NULL:
            pthread_cond_wait(&mic_job_ready, &mic_job_lock)
        idle_helpers -= 1
        waiting_jobs -= 1
        job = mic_jobs
        mic_jobs = job.next
        if mic_jobs == NULL:
            mic_last_job = &mic_jobs
        pthread_mutex_unlock(&mic_job_lock)
        launch_region(job.device, job.function, job.variables, job.teams, job.limit, 0)
        GOMP_PLUGIN_target_task_completion(job.data)
        free(job)
    return NULL


cdef void add_helper() noexcept nogil:
    """Start a helper thread.  It takes no signals: those are the program's own threads'."""
    global helpers
    cdef pthread_t thread
    cdef sigset_t all_signals, old
    sigfillset(&all_signals)
    pthread_sigmask(SIG_SETMASK, &all_signals, &old)
    if pthread_create(&thread, NULL, run_helper, NULL) == 0:
        pthread_detach(thread)
        helpers += 1
    pthread_sigmask(SIG_SETMASK, &old, NULL)


cdef void submit_job(mic_device *d, void *function, void *variables, void **args, void *data) noexcept nogil:
    """Queue a region.  Without memory or any helper thread (the system refuses) it runs here and now."""
    global mic_last_job, waiting_jobs
    cdef mic_job *job = <mic_job *>calloc(1, sizeof(mic_job))
    cdef uint64_t teams, limit
    if job == NULL:
        read_limits(args, &teams, &limit)
        launch_region(d, function, variables, teams, limit, 0)
        GOMP_PLUGIN_target_task_completion(data)
        return
    job.device = d
    job.function = function
    job.variables = variables
    job.data = data
    read_limits(args, &job.teams, &job.limit)
    pthread_mutex_lock(&mic_job_lock)
    if idle_helpers <= waiting_jobs and helpers < MIC_HELPERS:
        add_helper()
    if helpers == 0:
        pthread_mutex_unlock(&mic_job_lock)
        launch_region(d, function, variables, job.teams, job.limit, 0)
        free(job)
        GOMP_PLUGIN_target_task_completion(data)
        return
    waiting_jobs += 1
    mic_last_job[0] = job
    mic_last_job = &job.next
    pthread_cond_signal(&mic_job_ready)
    pthread_mutex_unlock(&mic_job_lock)
