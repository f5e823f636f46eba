# Asynchronous queues (libgomp: oacc-async.c): queue 0 of a device is acc_async_noval's, queue n + 1 that of async (n).
# A mapping operation that has a queue puts it into the device that it has locked (DeviceDescr.queue): then copies and
# frees of copy.pxi and unmap.pxi go there.


cdef enum:
    CAPTURED_SIZE = 65536
    SCALAR_SIZE = 32  # complex (16) is the largest


cdef bint host_write_pending(DeviceDescr *dev, void *queue, uintptr_t start, uintptr_t end) noexcept nogil:
    """Whether a queue has still to copy something into a host range."""
    cdef HostWrite *write
    pthread_mutex_lock(&dev.writes_lock)
    write = dev.writes
    while write != NULL and not (write.queue == queue and write.start < end and start < write.end):
        write = write.next
    pthread_mutex_unlock(&dev.writes_lock)
    return write != NULL


cdef int queue_after_writes(DeviceDescr *dev, uintptr_t start, uintptr_t end) noexcept nogil:
    """Have the operation's queue wait for all others that have still to copy something into a host range.

    1 if any queue has, this one or others; -1 with a failure text.  With pageable memory CUDA's copies to the host are
    done when they return, and programs use the same data from several queues (GCC's deep-copy-10.c).
    """
    cdef void *queue
    cdef int i
    cdef int found = 0
    if dev.writes == NULL:
        return 0
    pthread_mutex_lock(&dev.queues_lock)
    for i in range(dev.num_queues):
        queue = dev.queues[i]
        if queue == NULL or not host_write_pending(dev, queue, start, end):
            continue
        found = 1
        if queue != dev.queue and not dev.ops.acc_async_serialize(queue, dev.queue):
            found = gompy_fail(b"ordering of two queues failed")
            break
    pthread_mutex_unlock(&dev.queues_lock)
    return found


cdef int queue_to_device(DeviceDescr *dev, uintptr_t dst, const void *src, size_t size) noexcept nogil:
    """Queue a copy to the device.

    GCC does not tell firstprivate from copyin, and what is firstprivate may be gone when the queue comes to it: what is
    not large is read now, unless a queue has yet to write it.  (A program may not change it before it has waited.)
    """
    cdef int pending = queue_after_writes(dev, <uintptr_t> src, <uintptr_t> src + size)
    if pending < 0:
        return -1
    if size <= CAPTURED_SIZE and not pending:
        return queue_value(dev, dst, src, size)
    return queue_copy(dev, dst, src, size)


cdef int queue_copy(DeviceDescr *dev, uintptr_t dst, const void *src, size_t size) noexcept nogil:
    """Queue a copy to the device that reads the host when the queue comes to it."""
    if not dev.ops.acc_async_host2dev(dev.target_id, <void *> dst, src, size, dev.queue):
        return gompy_fail(b"Copying of host object [%p..%p) to dev object [%p..%p) failed",
                          src, <const char *> src + size, <void *> dst, <void *> (dst + size))
    return 0


cdef void host_write_done(void *data) noexcept nogil:
    """In the queue: a copy to the host has been made."""
    cdef HostWrite *write = <HostWrite *> data
    cdef HostWrite **at = &write.dev.writes
    pthread_mutex_lock(&write.dev.writes_lock)
    while at[0] != NULL and at[0] != write:
        at = &at[0].next
    if at[0] != NULL:
        at[0] = write.next
    pthread_mutex_unlock(&write.dev.writes_lock)
    free(write)


cdef int queue_to_host(DeviceDescr *dev, void *dst, uintptr_t src, size_t size) noexcept nogil:
    """Queue a copy to the host, and note it (host_write_pending).

    For a scalar in a data construct, wait: there GCC maps scalars that should be firstprivate as tofrom, and the program
    goes on to change them (bounds of blocks in a loop over queues).  CUDA's copies to pageable memory wait as well.
    """
    cdef HostWrite *write
    if queue_after_writes(dev, <uintptr_t> dst, <uintptr_t> dst + size) < 0:
        return -1
    if size <= SCALAR_SIZE and acc_active_thread().mapped_data != NULL:
        if not (dev.ops.acc_async_dev2host(dev.target_id, dst, <void *> src, size, dev.queue)
                and dev.ops.acc_async_synchronize(dev.queue)):
            return gompy_fail(b"Copying of dev object [%p..%p) to host object [%p..%p) failed",
                              <void *> src, <void *> (src + size), dst, <char *> dst + size)
        return 0
    write = <HostWrite *> malloc(sizeof(HostWrite))
    if write == NULL:
        return gompy_fail(b"Out of memory allocating %lu bytes", <unsigned long> sizeof(HostWrite))
    write.dev = dev
    write.queue = dev.queue
    write.start = <uintptr_t> dst
    write.end = <uintptr_t> dst + size
    pthread_mutex_lock(&dev.writes_lock)
    write.next = dev.writes
    dev.writes = write
    pthread_mutex_unlock(&dev.writes_lock)
    if not dev.ops.acc_async_dev2host(dev.target_id, dst, <void *> src, size, dev.queue):
        return gompy_fail(b"Copying of dev object [%p..%p) to host object [%p..%p) failed",
                          <void *> src, <void *> (src + size), dst, <char *> dst + size)
    dev.ops.acc_async_queue_callback(dev.queue, host_write_done, write)
    return 0


cdef int queue_value(DeviceDescr *dev, uintptr_t dst, const void *value, size_t size) noexcept nogil:
    """Copy what is in host memory now to the device when the queue comes to it."""
    cdef void *kept = malloc(size)
    if kept == NULL:
        return gompy_fail(b"Out of memory allocating %lu bytes", <unsigned long> size)
    begin_copy(dev, True, value, size)
    memcpy(kept, value, size)
    end_copy(dev, True)
    if queue_copy(dev, dst, kept, size):
        return -1
    dev.ops.acc_async_queue_callback(dev.queue, free, kept)
    return 0


cdef struct QueuedFree:
    DeviceDescr *dev
    void *ptr


cdef void free_queued(void *data) noexcept nogil:
    """In the queue: free device memory."""
    cdef QueuedFree *job = <QueuedFree *> data
    if not job.dev.ops.free(job.dev.target_id, job.ptr):
        gompy_fatal(b"error in freeing device memory block at %p", job.ptr)
    free(job)


cdef int queue_free(DeviceDescr *dev, void *ptr) noexcept nogil:
    cdef QueuedFree *job = <QueuedFree *> malloc(sizeof(QueuedFree))
    if job == NULL:
        return gompy_fail(b"Out of memory allocating %lu bytes", <unsigned long> sizeof(QueuedFree))
    job.dev = dev
    job.ptr = ptr
    dev.ops.acc_async_queue_callback(dev.queue, free_queued, job)
    return 0


# --- the queues of a device --------------------------------------------------------------------------------------------------

cdef void *acc_queue(GoaccThread *thr, bint create, int number) noexcept nogil:
    """The queue of an async argument; NULL: synchronous, or not created yet."""
    cdef DeviceDescr *dev = thr.dev
    cdef void **queues
    cdef void *queue = NULL
    cdef int index
    if number < ACC_ASYNC_SYNC:
        gompy_fatal(b"invalid async-argument: %d", number)
    if number == ACC_ASYNC_SYNC or dev.ops.acc_async_construct == NULL:
        return NULL
    index = number + 1
    pthread_mutex_lock(&dev.queues_lock)
    if create and index >= dev.num_queues:
        queues = <void **> realloc(dev.queues, (index + 1) * sizeof(void *))
        if queues == NULL:
            pthread_mutex_unlock(&dev.queues_lock)
            gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> ((index + 1) * sizeof(void *)))
        memset(&queues[dev.num_queues], 0, (index + 1 - dev.num_queues) * sizeof(void *))
        dev.queues = queues
        dev.num_queues = index + 1
    if index < dev.num_queues:
        if create and dev.queues[index] == NULL:
            dev.queues[index] = dev.ops.acc_async_construct(dev.target_id)
            if dev.queues[index] == NULL:
                pthread_mutex_unlock(&dev.queues_lock)
                gompy_fatal(b"async %d creation failed", index)
        queue = dev.queues[index]
    pthread_mutex_unlock(&dev.queues_lock)
    return queue


cdef bint acc_end_queues(DeviceDescr *dev) noexcept nogil:
    """Let the queues of a device run empty, and end them."""
    cdef int i
    cdef bint good = True
    for i in range(dev.num_queues):
        if dev.queues[i] != NULL:
            good = dev.ops.acc_async_destruct(dev.queues[i]) and good
    free(dev.queues)
    dev.queues = NULL
    dev.num_queues = 0
    return good


cdef bint acc_synchronize_all(DeviceDescr *dev, void *then) noexcept nogil:
    """Wait for all queues of a device, or have another queue wait for them."""
    cdef int i
    cdef bint good = True
    pthread_mutex_lock(&dev.queues_lock)
    for i in range(dev.num_queues):
        if dev.queues[i] == NULL:
            continue
        if then == NULL:
            good = dev.ops.acc_async_synchronize(dev.queues[i]) and good
        elif then != dev.queues[i]:
            good = dev.ops.acc_async_serialize(dev.queues[i], then) and good
    pthread_mutex_unlock(&dev.queues_lock)
    return good


cdef void acc_wait_words(int queue, int count, gompy_words_t *words) noexcept nogil:
    """A wait clause: `queue` (or the thread, if that is acc_async_sync) waits for each of `count` queues."""
    cdef int i, other
    for i in range(count):
        other = gompy_next_word(words)
        if other == ACC_ASYNC_NOVAL:
            if queue == ACC_ASYNC_SYNC:
                acc_wait_all()
            else:
                acc_wait_all_async(queue)
            break
        if acc_async_test(other):
            continue
        if queue == ACC_ASYNC_SYNC:
            acc_wait(other)
        elif other != queue:
            acc_wait_async(other, queue)


cdef void acc_wait_directive "gompy_acc_wait_directive"(int queue, int count, gompy_words_t *words) noexcept nogil:
    """`#pragma acc wait`."""
    cdef ProfScope scope
    acc_lazy_initialize()
    prof_call(&scope, acc_thread(), queue)
    if count:
        acc_wait_words(queue, count, words)
    elif queue == ACC_ASYNC_SYNC:
        acc_wait_all()
    else:
        acc_wait_all_async(queue)
    prof_end(&scope)


# --- the API -------------------------------------------------------------------------------------------------------------------

cdef public int acc_async_test(int number) noexcept nogil:
    """1 if a queue is empty."""
    cdef GoaccThread *thr = acc_active_thread()
    cdef void *queue = acc_queue(thr, False, number)
    cdef ProfScope scope
    cdef int result
    if queue == NULL:
        return 1
    prof_call(&scope, thr, number)
    result = thr.dev.ops.acc_async_test(queue)
    prof_end(&scope)
    return result


cdef public int acc_async_test_all() noexcept nogil:
    """1 if all queues are empty."""
    cdef GoaccThread *thr = acc_active_thread()
    cdef ProfScope scope
    cdef int result = 1
    cdef int i
    prof_call(&scope, thr, ACC_ASYNC_SYNC)
    pthread_mutex_lock(&thr.dev.queues_lock)
    for i in range(thr.dev.num_queues):
        if thr.dev.queues[i] != NULL and not thr.dev.ops.acc_async_test(thr.dev.queues[i]):
            result = 0
            break
    pthread_mutex_unlock(&thr.dev.queues_lock)
    prof_end(&scope)
    return result


cdef public void acc_wait(int number) noexcept nogil:
    """Wait for a queue."""
    cdef GoaccThread *thr = acc_active_thread()
    cdef void *queue = acc_queue(thr, False, number)
    cdef ProfScope scope
    if queue == NULL:
        return
    prof_call(&scope, thr, number)
    if not thr.dev.ops.acc_async_synchronize(queue):
        gompy_fatal(b"wait on %d failed", number)
    prof_end(&scope)


cdef public void acc_async_wait(int number) noexcept nogil:
    """OpenACC 1.0's name."""
    acc_wait(number)


cdef public void acc_wait_async(int number, int then) noexcept nogil:
    """Have queue `then` wait for what queue `number` holds now."""
    cdef GoaccThread *thr = acc_active_thread()
    cdef void *queue = acc_queue(thr, False, number)
    cdef void *waiting
    cdef ProfScope scope
    if queue == NULL:
        return
    prof_call(&scope, thr, then)
    waiting = acc_queue(thr, True, then)
    if waiting == NULL:
        if not thr.dev.ops.acc_async_synchronize(queue):
            gompy_fatal(b"wait on %d failed", number)
    elif waiting != queue and not thr.dev.ops.acc_async_serialize(queue, waiting):
        gompy_fatal(b"ordering of async ids %d and %d failed", number, then)
    prof_end(&scope)


cdef public void acc_wait_all() noexcept nogil:
    """Wait for all queues."""
    cdef GoaccThread *thr = acc_active_thread()
    cdef ProfScope scope
    prof_call(&scope, thr, ACC_ASYNC_SYNC)
    if not acc_synchronize_all(thr.dev, NULL):
        gompy_fatal(b"wait all failed")
    prof_end(&scope)


cdef public void acc_async_wait_all() noexcept nogil:
    """OpenACC 1.0's name."""
    acc_wait_all()


cdef public void acc_wait_all_async(int number) noexcept nogil:
    """Have a queue wait for what all others hold now."""
    cdef GoaccThread *thr = acc_active_thread()
    cdef ProfScope scope
    prof_call(&scope, thr, number)
    if not acc_synchronize_all(thr.dev, acc_queue(thr, True, number)):
        gompy_fatal(b"wait all async(%d) failed", number)
    prof_end(&scope)


# --- CUDA's objects: only a plugin for NVIDIA devices has them -----------------------------------------------------------

cdef public void *acc_get_current_cuda_device() noexcept nogil:
    cdef GoaccThread *thr = acc_thread()
    if thr == NULL or thr.dev == NULL or thr.dev.ops.acc_cuda_get_current_device == NULL:
        return NULL
    return thr.dev.ops.acc_cuda_get_current_device()


cdef public void *acc_get_current_cuda_context() noexcept nogil:
    cdef GoaccThread *thr = acc_thread()
    if thr == NULL or thr.dev == NULL or thr.dev.ops.acc_cuda_get_current_context == NULL:
        return NULL
    return thr.dev.ops.acc_cuda_get_current_context()


cdef public void *acc_get_cuda_stream(int number) noexcept nogil:
    cdef GoaccThread *thr = acc_thread()
    cdef void *queue
    if number < ACC_ASYNC_SYNC or thr == NULL or thr.dev == NULL or thr.dev.ops.acc_cuda_get_stream == NULL:
        return NULL
    queue = acc_queue(thr, False, number)
    return thr.dev.ops.acc_cuda_get_stream(queue) if queue != NULL else NULL


cdef public int acc_set_cuda_stream(int number, void *stream) noexcept nogil:
    cdef void *queue
    cdef GoaccThread *thr
    if number < ACC_ASYNC_SYNC or stream == NULL:
        return 0
    acc_lazy_initialize()
    thr = acc_thread()
    if thr.dev.ops.acc_cuda_set_stream == NULL:
        return -1
    queue = acc_queue(thr, True, number)
    if queue == NULL:
        # acc_async_sync has no queue.  libgomp's text.
        gompy_debug(b'Refusing request to set CUDA stream associated with "acc_async_sync"\n')
        return 0
    return thr.dev.ops.acc_cuda_set_stream(queue, stream)
