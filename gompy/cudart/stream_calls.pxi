# Streams and events: the driver's handles.

cdef public int cudaStreamCreateWithPriority(void **to, unsigned flags, int priority) noexcept nogil:
    """A stream."""
    cdef int r = enter_device()
    return note_error(driver.stream_create(to, flags, priority) if r == CUDA_SUCCESS else r)


cdef public int cudaStreamCreateWithFlags(void **to, unsigned flags) noexcept nogil:
    """A stream."""
    return cudaStreamCreateWithPriority(to, flags, 0)


cdef public int cudaStreamCreate(void **to) noexcept nogil:
    """A stream that waits for the default one."""
    return cudaStreamCreateWithPriority(to, 0, 0)


cdef public int cudaStreamDestroy(void *stream) noexcept nogil:
    """It goes when its work is done."""
    cdef int r = enter_device()
    return note_error(driver.stream_destroy(stream) if r == CUDA_SUCCESS else r)


cdef public int cudaStreamQuery(void *stream) noexcept nogil:
    """Whether its work is done."""
    cdef int r = enter_device()
    return note_error(driver.stream_query(stream) if r == CUDA_SUCCESS else r)


cdef public int cudaStreamSynchronize(void *stream) noexcept nogil:
    """Wait for its work."""
    cdef int r = enter_device()
    return note_error(driver.stream_wait(stream) if r == CUDA_SUCCESS else r)


cdef public int cudaStreamWaitEvent(void *stream, void *event, unsigned flags) noexcept nogil:
    """Have it wait for an event."""
    cdef int r = enter_device()
    return note_error(driver.stream_wait_event(stream, event, flags) if r == CUDA_SUCCESS else r)


cdef public int cudaStreamAddCallback(void *stream, driver_callback callback, void *data,
                                      unsigned flags) noexcept nogil:
    """Have it call the host; results have the driver's numbers."""
    cdef int r = enter_device()
    return note_error(driver.stream_callback(stream, callback, data, flags) if r == CUDA_SUCCESS else r)


cdef public int cudaLaunchHostFunc(void *stream, host_function function, void *data) noexcept nogil:
    """Have it call the host."""
    cdef int r = enter_device()
    return note_error(driver.stream_host(stream, function, data) if r == CUDA_SUCCESS else r)


cdef public int cudaStreamGetFlags(void *stream, unsigned *flags) noexcept nogil:
    """What it was made with."""
    cdef int r = enter_device()
    return note_error(driver.stream_flags(stream, flags) if r == CUDA_SUCCESS else r)


cdef public int cudaStreamGetPriority(void *stream, int *priority) noexcept nogil:
    """What it was made with."""
    cdef int r = enter_device()
    return note_error(driver.stream_priority(stream, priority) if r == CUDA_SUCCESS else r)


cdef public int cudaStreamAttachMemAsync(void *stream, void *device, size_t size, unsigned flags) noexcept nogil:
    """Managed memory is used in one stream only."""
    cdef int r = enter_device()
    return note_error(driver.stream_attach(stream, <CUdeviceptr> device, size, flags) if r == CUDA_SUCCESS else r)


cdef public int cudaEventCreateWithFlags(void **to, unsigned flags) noexcept nogil:
    """An event."""
    cdef int r = enter_device()
    return note_error(driver.event_create(to, flags) if r == CUDA_SUCCESS else r)


cdef public int cudaEventCreate(void **to) noexcept nogil:
    """An event that has a time."""
    return cudaEventCreateWithFlags(to, cudaEventDefault)


cdef public int cudaEventDestroy(void *event) noexcept nogil:
    """It goes."""
    cdef int r = enter_device()
    return note_error(driver.event_destroy(event) if r == CUDA_SUCCESS else r)


cdef public int cudaEventRecord(void *event, void *stream) noexcept nogil:
    """Put it into a stream."""
    cdef int r = enter_device()
    return note_error(driver.event_record(event, stream) if r == CUDA_SUCCESS else r)


cdef public int cudaEventQuery(void *event) noexcept nogil:
    """Whether it was passed."""
    cdef int r = enter_device()
    return note_error(driver.event_query(event) if r == CUDA_SUCCESS else r)


cdef public int cudaEventSynchronize(void *event) noexcept nogil:
    """Wait until it is passed."""
    cdef int r = enter_device()
    return note_error(driver.event_wait(event) if r == CUDA_SUCCESS else r)


cdef public int cudaEventElapsedTime(float *milliseconds, void *start, void *end) noexcept nogil:
    """The time between two."""
    cdef int r = enter_device()
    return note_error(driver.event_elapsed(milliseconds, start, end) if r == CUDA_SUCCESS else r)
