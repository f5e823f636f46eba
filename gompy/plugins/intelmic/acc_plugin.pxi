# The OpenACC functions of the plugin interface (libgomp-plugin.h).


cdef public void *GOMP_OFFLOAD_openacc_create_thread_data(int number) noexcept nogil:
    """A host thread begins to use a device: that is what is kept for it, since openacc_exec has no device number."""
    global mic_openacc
    mic_openacc = True
    return device_of(number)


cdef public void GOMP_OFFLOAD_openacc_destroy_thread_data(void *data) noexcept nogil:
    """A host thread ends, or turns to another device."""


cdef extern from *:
    """
    static const unsigned mic_dims[3] = { 1, 1, 1 };
    """
    const unsigned *DIMS "mic_dims"  # GCC compiles a region for one gang, one worker, vector length 1 (oaccdevlow)


cdef struct launch_report:
    acc_event_info event  # one for both events: a tool may leave something in it
    char name[400]


cdef void begin_launch(GoaccThread *thread, mic_device *d, launch_report *report, void *function) noexcept nogil:
    """acc_ev_enqueue_launch_start."""
    name_of(d, <uint64_t>function, report.name, sizeof(report.name))
    profile_launch(thread, acc_device_api_other, &report.event, report.name, DIMS)


cdef void end_launch(GoaccThread *thread, launch_report *report) noexcept nogil:
    """acc_ev_enqueue_launch_end."""
    profile_launch(thread, acc_device_api_other, &report.event, NULL, DIMS)


cdef void *argument_block(mic_device *d, size_t count, void **host, void **words) noexcept nogil:
    """The device addresses of a region's data, on the device; what is absent (no_create) has the host's address.

    From interface 2 on the runtime has made the block, and gives its address.
    """
    cdef uint64_t offset
    cdef void **block
    cdef size_t i
    if gompy_newer_runtime():
        return <void *>words
    if count == 0:
        return NULL
    offset = memory_alloc(d, count * sizeof(void *))
    if offset == ~<uint64_t>0:
        GOMP_PLUGIN_fatal(b"device %d (intelmic): no %zu bytes left of %zu", d.number, count * sizeof(void *),
                          <size_t>d.size)
    block = <void **>(d.memory + offset)
    for i in range(count):
        block[i] = words[i] if words[i] != NULL else host[i]
    return <void *>(d.base + offset)


cdef public void GOMP_OFFLOAD_openacc_exec(void *function, size_t count, void **hostaddrs, void **devaddrs,
                                           unsigned *dims, void *target) noexcept nogil:
    """Run a region to its end."""
    cdef mic_device *d = <mic_device *>GOMP_PLUGIN_acc_thread()
    cdef void *block = argument_block(d, count, hostaddrs, devaddrs)
    cdef GoaccThread *thread = profiled()
    cdef launch_report report
    if thread != NULL:
        begin_launch(thread, d, &report, function)
    launch_region(d, function, block, 1, 0, launch_sizes(dims))
    if thread != NULL:
        end_launch(thread, &report)
    if block != NULL and not gompy_newer_runtime():
        memory_free(d, <uintptr_t>block - d.base)


cdef void free_block(void *data) noexcept nogil:
    """In a queue: free the argument block of the region before."""
    cdef uintptr_t *job = <uintptr_t *>data
    cdef mic_device *d = device_of(<int>job[0])
    memory_free(d, job[1] - d.base)
    free(job)


cdef public void GOMP_OFFLOAD_openacc_async_exec(void *function, size_t count, void **hostaddrs, void **devaddrs,
                                                 unsigned *dims, void *target, void *queue) noexcept nogil:
    """Queue a region."""
    cdef mic_acc_queue *q = <mic_acc_queue *>queue
    cdef mic_acc_job *job = new_job(MIC_JOB_RUN)
    cdef GoaccThread *thread = profiled()
    cdef launch_report report
    cdef uintptr_t *block = NULL
    if thread != NULL:
        begin_launch(thread, q.device, &report, function)
    job.function = function
    job.size = launch_sizes(dims)
    job.to = argument_block(q.device, count, hostaddrs, devaddrs)
    if job.to != NULL and not gompy_newer_runtime():
        block = <uintptr_t *>GOMP_PLUGIN_malloc(2 * sizeof(uintptr_t))
        block[0] = <uintptr_t>q.device.number
        block[1] = <uintptr_t>job.to
    add_job(q, job)
    if block != NULL:
        GOMP_OFFLOAD_openacc_async_queue_callback(queue, <void *>free_block, block)
    if thread != NULL:
        end_launch(thread, &report)


cdef public void *GOMP_OFFLOAD_openacc_async_construct(int number) noexcept nogil:
    """A new queue."""
    return queue_open(device_of(number))


cdef public c_bool GOMP_OFFLOAD_openacc_async_destruct(void *queue) noexcept nogil:
    """Let a queue run empty and end it."""
    return queue_close(<mic_acc_queue *>queue)


cdef public int GOMP_OFFLOAD_openacc_async_test(void *queue) noexcept nogil:
    """1 if a queue is empty, 0 if not, -1 if a job of it failed."""
    cdef mic_acc_queue *q = <mic_acc_queue *>queue
    cdef int result
    pthread_mutex_lock(&q.lock)
    result = -1 if q.failed else q.done == q.submitted
    pthread_mutex_unlock(&q.lock)
    return result


cdef public c_bool GOMP_OFFLOAD_openacc_async_synchronize(void *queue) noexcept nogil:
    """Wait for a queue."""
    return queue_synchronize(<mic_acc_queue *>queue)


cdef public c_bool GOMP_OFFLOAD_openacc_async_serialize(void *first, void *then) noexcept nogil:
    """Have one queue wait for what another holds now."""
    cdef mic_acc_job *job = new_job(MIC_JOB_WAIT)
    job.other = <mic_acc_queue *>first
    # The job may come after that queue's end.
    atomic_add_fetch(&job.other.holders, 1, SEQ_CST)
    pthread_mutex_lock(&job.other.lock)
    job.number = job.other.submitted
    pthread_mutex_unlock(&job.other.lock)
    add_job(<mic_acc_queue *>then, job)
    return True


cdef public void GOMP_OFFLOAD_openacc_async_queue_callback(void *queue, void *function, void *data) noexcept nogil:
    """Call a function when a queue comes to it."""
    cdef mic_acc_job *job = new_job(MIC_JOB_CALL)
    job.function = function
    job.data = data
    add_job(<mic_acc_queue *>queue, job)


cdef public c_bool GOMP_OFFLOAD_openacc_async_host2dev(int number, void *to, const void *what, size_t n,
                                                     void *queue) noexcept nogil:
    """Queue a copy to the device; the host's data is read when the queue comes to it."""
    cdef mic_acc_job *job = new_job(MIC_JOB_TO_DEVICE)
    job.to = to
    job.from_ = what
    job.size = n
    add_job(<mic_acc_queue *>queue, job)
    return True


cdef public c_bool GOMP_OFFLOAD_openacc_async_dev2host(int number, void *to, const void *what, size_t n,
                                                     void *queue) noexcept nogil:
    """Queue a copy from the device."""
    cdef mic_acc_job *job = new_job(MIC_JOB_TO_HOST)
    job.to = to
    job.from_ = what
    job.size = n
    add_job(<mic_acc_queue *>queue, job)
    return True


cdef public c_bool GOMP_OFFLOAD_openacc_async_dev2dev(int number, void *to, const void *what, size_t n,
                                                     void *queue) noexcept nogil:
    """Queue a copy within the device; libgomp 16 asks for it."""
    cdef mic_acc_job *job = new_job(MIC_JOB_WITHIN)
    job.to = to
    job.from_ = what
    job.size = n
    add_job(<mic_acc_queue *>queue, job)
    return True


cdef public uintptr_t GOMP_OFFLOAD_openacc_get_property(int number, int property) noexcept nogil:
    """Memory and free memory in bytes; name, vendor, driver."""
    cdef mic_device *d = device_of(number)
    if property == GOACC_PROPERTY_MEMORY:
        return d.size
    if property == GOACC_PROPERTY_FREE_MEMORY:
        return d.size - d.small.in_use - d.large.in_use
    if property == GOACC_PROPERTY_NAME:
        return <uintptr_t><const char *>b"intelmic"
    if property == GOACC_PROPERTY_VENDOR:
        return <uintptr_t><const char *>b"gompy"
    if property == GOACC_PROPERTY_DRIVER:
        return <uintptr_t><const char *>b"1"
    return 0
