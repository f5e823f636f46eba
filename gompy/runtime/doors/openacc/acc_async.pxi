# Queues by their numbers (libgomp: oacc-async.c): queue 0 of a device is acc_async_noval's, queue n + 1 that of async
# (n).


# --- the queues of a device
# --------------------------------------------------------------------------------------------------

cdef void *acc_queue(GoaccThread *thr, bint create, int number) noexcept nogil:
    """The queue of an async argument; NULL: synchronous, or not created yet."""
    cdef DeviceDescr *dev = thr.dev
    cdef void **queues
    cdef void *queue = NULL
    cdef int index
    if number < ACC_ASYNC_SYNC:
        gompy_fatal(b"invalid async-argument: %d", number)
    if number == ACC_ASYNC_SYNC or not device_has_queues(dev):
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
            dev.queues[index] = device_new_queue(dev)
            if dev.queues[index] == NULL:
                pthread_mutex_unlock(&dev.queues_lock)
                gompy_fatal(b"async %d creation failed", index)
        queue = dev.queues[index]
    pthread_mutex_unlock(&dev.queues_lock)
    return queue


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
        if not gompy_checking and acc_async_test(other):  # a check wants to know of the wait
            continue
        if queue == ACC_ASYNC_SYNC:
            acc_wait(other)
        elif other != queue:
            acc_wait_async(other, queue)


cdef void acc_wait_directive "gompy_acc_wait_directive"(int queue, int count, gompy_words_t *words) noexcept nogil:
    """`#pragma acc wait`."""
    cdef ProfScope scope
    acc_lazy_initialize()
    prof_call(&scope, acc_thread(), queue, b"acc wait", words.where)
    if count:
        acc_wait_words(queue, count, words)
    elif queue == ACC_ASYNC_SYNC:
        acc_wait_all()
    else:
        acc_wait_all_async(queue)
    prof_end(&scope)


# --- the API
# -------------------------------------------------------------------------------------------------------------------

cdef public int acc_async_test(int number) noexcept nogil:
    """1 if a queue is empty."""
    cdef GoaccThread *thr = acc_active_thread()
    cdef void *queue = acc_queue(thr, False, number)
    cdef ProfScope scope
    cdef int result
    if queue == NULL:
        return 1
    prof_call(&scope, thr, number, b"acc_async_test", call_site())
    result = device_queue_empty(thr.dev, queue)
    if result:
        check_queue_empty(thr.dev, queue)
    prof_end(&scope)
    return result


cdef public int acc_async_test_all() noexcept nogil:
    """1 if all queues are empty."""
    cdef GoaccThread *thr = acc_active_thread()
    cdef ProfScope scope
    cdef int result = 1
    cdef int i
    prof_call(&scope, thr, ACC_ASYNC_SYNC, b"acc_async_test_all", call_site())
    pthread_mutex_lock(&thr.dev.queues_lock)
    for i in range(thr.dev.num_queues):
        if thr.dev.queues[i] != NULL and not device_queue_empty(thr.dev, thr.dev.queues[i]):
            result = 0
            break
    for i in range(thr.dev.num_queues if result else 0):
        if thr.dev.queues[i] != NULL:
            check_queue_empty(thr.dev, thr.dev.queues[i])
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
    prof_call(&scope, thr, number, b"acc_wait", call_site())
    if not device_wait_queue(thr.dev, queue):
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
    prof_call(&scope, thr, then, b"acc_wait_async", call_site())
    waiting = acc_queue(thr, True, then)
    if waiting == NULL:
        if not device_wait_queue(thr.dev, queue):
            gompy_fatal(b"wait on %d failed", number)
    elif waiting != queue and not device_order_queues(thr.dev, queue, waiting):
        gompy_fatal(b"ordering of async ids %d and %d failed", number, then)
    prof_end(&scope)


cdef public void acc_wait_all() noexcept nogil:
    """Wait for all queues."""
    cdef GoaccThread *thr = acc_active_thread()
    cdef ProfScope scope
    prof_call(&scope, thr, ACC_ASYNC_SYNC, b"acc_wait_all", call_site())
    if not synchronize_queues(thr.dev, NULL):
        gompy_fatal(b"wait all failed")
    prof_end(&scope)


cdef public void acc_async_wait_all() noexcept nogil:
    """OpenACC 1.0's name."""
    acc_wait_all()


cdef public void acc_wait_all_async(int number) noexcept nogil:
    """Have a queue wait for what all others hold now."""
    cdef GoaccThread *thr = acc_active_thread()
    cdef ProfScope scope
    prof_call(&scope, thr, number, b"acc_wait_all_async", call_site())
    if not synchronize_queues(thr.dev, acc_queue(thr, True, number)):
        gompy_fatal(b"wait all async(%d) failed", number)
    prof_end(&scope)


# --- CUDA's objects: only a plugin for NVIDIA devices has them
# -----------------------------------------------------------

cdef public void *acc_get_current_cuda_device() noexcept nogil:
    cdef GoaccThread *thr = acc_thread()
    if thr == NULL or thr.dev == NULL:
        return NULL
    return device_cuda_device(thr.dev)


cdef public void *acc_get_current_cuda_context() noexcept nogil:
    cdef GoaccThread *thr = acc_thread()
    if thr == NULL or thr.dev == NULL:
        return NULL
    check_streams_shared()
    return device_cuda_context(thr.dev)


cdef public void *acc_get_cuda_stream(int number) noexcept nogil:
    cdef GoaccThread *thr = acc_thread()
    cdef void *queue
    if number < ACC_ASYNC_SYNC or thr == NULL or thr.dev == NULL or not device_has_streams(thr.dev):
        return NULL
    queue = acc_queue(thr, False, number)
    check_streams_shared()
    return device_stream(thr.dev, queue) if queue != NULL else NULL


cdef public int acc_set_cuda_stream(int number, void *stream) noexcept nogil:
    cdef void *queue
    cdef GoaccThread *thr
    if number < ACC_ASYNC_SYNC or stream == NULL:
        return 0
    acc_lazy_initialize()
    thr = acc_thread()
    if not device_has_streams(thr.dev):
        return -1
    queue = acc_queue(thr, True, number)
    if queue == NULL:
        # acc_async_sync has no queue.  libgomp's text.
        gompy_debug(b'Refusing request to set CUDA stream associated with "acc_async_sync"\n')
        return 0
    check_streams_shared()
    return device_set_stream(thr.dev, queue, stream)
