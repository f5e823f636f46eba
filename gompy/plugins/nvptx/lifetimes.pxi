# The first and the last use of a device.

cdef enum:
    SHARED_POOL = 8192  # bytes


cdef bint is_size(const char *text, size_t *bytes) noexcept nogil:
    """Whether a text is a number of bytes up to INT32_MAX, which `bytes` has then."""
    cdef char *end = NULL
    bytes[0] = strtoul(text, &end, 10)
    return end != text and not end[0] and text[0] != c'-' and bytes[0] <= INT32_MAX


cdef void read_stack(Device *d) noexcept nogil:
    """GOMP_NVPTX_NATIVE_GPU_THREAD_STACK_SIZE, as in later plugins of GCC; 0: as the driver has it."""
    cdef const char *text = secure_getenv(b"GOMP_NVPTX_NATIVE_GPU_THREAD_STACK_SIZE")
    cdef size_t bytes = 0
    if text != NULL and text[0]:
        d.stack_chosen = is_size(text, &bytes)
        if not d.stack_chosen:
            GOMP_PLUGIN_error(b"GOMP_NVPTX_NATIVE_GPU_THREAD_STACK_SIZE=%s: not a number of bytes up to %d; using the "
                              b"driver's own", text, INT32_MAX)
            bytes = 0
    set_stack(d, bytes)


cdef void read_shared_pool(Device *d) noexcept nogil:
    """GOMP_NVPTX_LOWLAT_POOL."""
    cdef const char *text = secure_getenv(b"GOMP_NVPTX_LOWLAT_POOL")
    cdef size_t bytes = SHARED_POOL
    if text != NULL and not is_size(text, &bytes):
        GOMP_PLUGIN_error(b"GOMP_NVPTX_LOWLAT_POOL=%s: not a number of bytes up to %d; using %d", text, INT32_MAX,
                          SHARED_POOL)
        bytes = SHARED_POOL
    d.shared_pool = <unsigned> bytes


cdef Device *open_device(int n) noexcept nogil:
    """A device that is ready; NULL after a message."""
    cdef Device *d = <Device *> calloc(1, sizeof(Device))
    cdef int version = 0
    if d == NULL:
        GOMP_PLUGIN_error(b"device %d (nvptx): out of memory", n)
        return NULL
    d.number = n
    pthread_mutex_init(&d.image_lock, NULL)
    gompy_quick_init(&d.memory_lock)
    gompy_quick_init(&d.launch_lock)
    pthread_mutex_init(&d.free_lock, NULL)
    if (call_failed(cuda.driver_version(&version), b"cuDriverGetVersion")
            or call_failed(cuda.device_get(&d.handle, n), b"cuDeviceGet")
            or not open_context(d) or not read_attributes(d) or not enter_context(d)):
        free(d)
        return NULL
    read_stack(d)
    read_shared_pool(d)
    snprintf(driver_version_text, sizeof(driver_version_text), b"CUDA Driver %u.%u", <unsigned> version // 1000,
             <unsigned> version % 1000 // 10)
    announce_emulation()
    return d


cdef bint close_device(Device *d) noexcept nogil:
    """Give everything back to the driver; false after a message.

    When a context is lost the program ends: all is left to that, for other threads may be anywhere in the driver, or
    wait for the end, and it would but repeat its error.  So it does when a region still runs, which another thread has
    launched: it may never end, or wait for the host's function that has ended the program.
    """
    cdef LoadedImage *image
    cdef CUcontext current = NULL
    cdef bint down, good
    if context_lost or d.calling or not gompy_quick_try(&d.launch_lock):
        return True
    gompy_quick_release(&d.launch_lock)
    down = cuda.ctx_current(&current) == CUDA_ERROR_DEINITIALIZED
    good = down or enter_context(d)
    if good and not down:
        image = d.images
        while image != NULL:
            good = destroy_variables(d, image) and good
            image = image.next
        release_kept(d, 0)
        if d.stacks:
            good = given_back(cuda.mem_free(d.stacks), b"cuMemFree") and good
        close_mailbox(d)
        if d.context_kind == CONTEXT_OWN:
            good = given_back(cuda.ctx_destroy(d.context), b"cuCtxDestroy") and good
        else:
            leave_context(d)
    forget_memory(d)
    while d.images != NULL:
        image = d.images
        d.images = image.next
        free(image.functions)
        free(image)
    pthread_mutex_destroy(&d.image_lock)
    pthread_mutex_destroy(&d.free_lock)
    free(d)
    return good


cdef void leave_context(Device *d) noexcept nogil:
    """Take what is ours out of a context that may live on."""
    cdef LoadedImage *image = d.images
    cdef CUcontext current = NULL
    cdef Block *b
    cdef size_t i
    while image != NULL and not context_lost:
        given_back(cuda.module_unload(image.module), b"cuModuleUnload")
        image = image.next
    if d.live != NULL and not context_lost:
        for i in range(d.live_mask + 1):
            b = d.live[i]
            while b != NULL:
                given_back(cuda.mem_free(b.address), b"cuMemFree")
                b = b.next
    if d.context_kind == CONTEXT_PRIMARY:
        if cuda.ctx_set != NULL and cuda.ctx_current(&current) == CUDA_SUCCESS and current == d.context:
            cuda.ctx_set(NULL)
        given_back(cuda.primary_release(d.handle), b"cuDevicePrimaryCtxRelease")


cdef bint init_device(int n) noexcept nogil:
    """First use of a device by a runtime."""
    cdef bint good = True
    if n < 0 or n >= count_devices() or n >= MAX_DEVICES:
        GOMP_PLUGIN_error(b"device %d (nvptx) does not exist", n)
        return False
    if driver_process != getpid():
        GOMP_PLUGIN_error(b"device %d (nvptx): not usable in a forked child of a program that has used devices", n)
        return False
    pthread_mutex_lock(&devices_lock)
    if devices[n] == NULL:
        devices[n] = open_device(n)
        good = devices[n] != NULL
    if good:
        devices[n].users += 1
    pthread_mutex_unlock(&devices_lock)
    return good


cdef bint fini_device(int n) noexcept nogil:
    """Last use of a device by a runtime.  In a forked child the device is the parent's and is left alone."""
    cdef bint good = True
    if n < 0 or n >= MAX_DEVICES or driver_process != getpid():
        return True
    pthread_mutex_lock(&devices_lock)
    if devices[n] != NULL:
        devices[n].users -= 1
        if devices[n].users == 0:
            good = close_device(devices[n])
            devices[n] = NULL
    pthread_mutex_unlock(&devices_lock)
    return good
