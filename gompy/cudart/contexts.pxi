# The device of a thread and its primary context.

cdef void *device_contexts[32]  # MAX_DEVICES; retained once, and never released
cdef int device_numbers[32]  # the driver's


cdef int primary_context(int device, void **to) noexcept nogil:
    """A device's primary context."""
    cdef int r = CUDA_SUCCESS
    if device < 0 or device >= driver_devices:
        return cudaErrorInvalidDevice
    pthread_mutex_lock(&runtime_lock)
    if device_contexts[device] == NULL:
        r = driver.device_get(&device_numbers[device], device)
        if r == CUDA_SUCCESS:
            r = driver.primary_retain(&device_contexts[device], device_numbers[device])
    to[0] = device_contexts[device]
    pthread_mutex_unlock(&runtime_lock)
    return r


cdef uint64_t managed_changes  # counts what loads and forgets code with managed variables; 0: there has been none
cdef void (*load_managed_code)(void *context) noexcept nogil  # into a context that is current; set with the first of it


cdef void note_managed() noexcept nogil:
    """Have each thread look again (load_managed).  With runtime_lock held."""
    global managed_changes
    managed_changes += 1


cdef int enter_device() noexcept nogil:
    """What each call about a device's things begins with: a context is current, the thread's device's if there is
    none."""
    cdef void *context = NULL
    cdef int r = enter_runtime()
    if r == CUDA_SUCCESS:
        r = driver.context_current(&context)
    if r == CUDA_SUCCESS and context == NULL:
        r = primary_context(runtime_thread.device, &context)
        if r == CUDA_SUCCESS:
            r = driver.context_set(context)
    if r == CUDA_SUCCESS and managed_changes and (runtime_thread.managed_seen != managed_changes
                                                  or runtime_thread.managed_in != context):
        load_managed_code(context)
    return r


cdef public int gompy_enter_device() noexcept nogil:
    """The same, for calls that are handed to the driver as they are (driver_calls.h)."""
    return enter_device()


cdef public int gompy_note_error(int error) noexcept nogil:
    """What such a call returns."""
    return note_error(error)


cdef int current_device(int *to) noexcept nogil:
    """The device whose context is current: the thread's, or another if the program uses the driver, too."""
    cdef int r = enter_device()
    return driver.context_device(to) if r == CUDA_SUCCESS else r


cdef int driver_number(int device, int *to) noexcept nogil:
    """The driver's number of a device."""
    cdef int r = enter_runtime()
    if r != CUDA_SUCCESS:
        return r
    if device < 0 or device >= driver_devices:
        return cudaErrorInvalidDevice
    return driver.device_get(to, device)
