# Asynchronous queues: copies and frees of mapping operations that go by way of one.  The operation puts its queue into
# the device that it has locked (DeviceDescr.queue).


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
        if queue != dev.queue and not device_order_queues(dev, queue, dev.queue):
            found = gompy_fail(b"ordering of two queues failed")
            break
    pthread_mutex_unlock(&dev.queues_lock)
    return found


cdef int queue_copy(DeviceDescr *dev, uintptr_t dst, const void *src, size_t size) noexcept nogil:
    """Queue a copy to the device that reads the host when the queue comes to it."""
    if not device_queue_host2dev(dev, <void *> dst, src, size, dev.queue):
        return gompy_fail(b"Copying of host object [%p..%p) to dev object [%p..%p) failed",
                          src, <const char *> src + size, <void *> dst, <void *> (dst + size))
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
    device_queue_call(dev, dev.queue, free, kept)
    return 0


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

    For a scalar in a data construct, wait: there GCC maps scalars that should be firstprivate as tofrom, and the
    program goes on to change them (bounds of blocks in a loop over queues).  CUDA's copies to pageable memory wait as
    well.
    """
    cdef HostWrite *write
    if queue_after_writes(dev, <uintptr_t> dst, <uintptr_t> dst + size) < 0:
        return -1
    if size <= SCALAR_SIZE and dev.scalars_wait:
        if not (device_queue_dev2host(dev, dst, <void *> src, size, dev.queue)
                and device_wait_queue(dev, dev.queue)):
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
    if not device_queue_dev2host(dev, dst, <void *> src, size, dev.queue):
        return gompy_fail(b"Copying of dev object [%p..%p) to host object [%p..%p) failed",
                          <void *> src, <void *> (src + size), dst, <char *> dst + size)
    device_queue_call(dev, dev.queue, host_write_done, write)
    return 0


cdef struct QueuedFree:
    DeviceDescr *dev
    void *ptr


cdef void free_queued(void *data) noexcept nogil:
    """In the queue: free device memory."""
    cdef QueuedFree *job = <QueuedFree *> data
    if not device_free(job.dev, job.ptr):
        gompy_fatal(b"error in freeing device memory block at %p", job.ptr)
    free(job)


cdef int queue_free(DeviceDescr *dev, void *ptr) noexcept nogil:
    cdef QueuedFree *job = <QueuedFree *> malloc(sizeof(QueuedFree))
    if job == NULL:
        return gompy_fail(b"Out of memory allocating %lu bytes", <unsigned long> sizeof(QueuedFree))
    job.dev = dev
    job.ptr = ptr
    device_queue_call(dev, dev.queue, free_queued, job)
    return 0


cdef bint end_queues(DeviceDescr *dev) noexcept nogil:
    """Let the queues of a device run empty, and end them."""
    cdef int i
    cdef bint good = True
    for i in range(dev.num_queues):
        if dev.queues[i] != NULL:
            good = device_end_queue(dev, dev.queues[i]) and good
    free(dev.queues)
    dev.queues = NULL
    dev.num_queues = 0
    return good


cdef bint synchronize_queues(DeviceDescr *dev, void *then) noexcept nogil:
    """Wait for all queues of a device, or have another queue wait for them."""
    cdef int i
    cdef bint good = True
    pthread_mutex_lock(&dev.queues_lock)
    for i in range(dev.num_queues):
        if dev.queues[i] == NULL:
            continue
        if then == NULL:
            good = device_wait_queue(dev, dev.queues[i]) and good
        elif then != dev.queues[i]:
            good = device_order_queues(dev, dev.queues[i], then) and good
    pthread_mutex_unlock(&dev.queues_lock)
    return good


ctypedef int (*free_memory_fn)(DeviceDescr *, void *) noexcept nogil

cdef extern from *:
    free_memory_fn apart_free_memory "gompy_apart"(free_memory_fn) noexcept nogil


cdef int free_failed(void *ptr) noexcept nogil:
    return gompy_fail(b"error in freeing device memory block at %p", ptr)


cdef int rare_free(DeviceDescr *dev, void *ptr) noexcept nogil:
    """free_device_memory by a queue, or told."""
    if dev.queue != NULL:
        return queue_free(dev, ptr)
    return 0 if device_free(dev, ptr) else free_failed(ptr)


cdef int free_device_memory(DeviceDescr *dev, void *ptr) noexcept nogil:
    """Give device memory back, when the queue of the mapping operation comes to it.  -1 with a failure text."""
    if dev.queue != NULL or has_hooks(HOOK_FREE):
        return apart_free_memory(rare_free)(dev, ptr)
    return 0 if untold_free(dev, ptr) else free_failed(ptr)
