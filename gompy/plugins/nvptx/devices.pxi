# Devices and their contexts.

cdef enum:
    MAX_DEVICES = 64
    WARP = 32
    DIMS = 3  # gang, worker, vector

cdef struct Launch:
    # How mkoffload describes a function (GCC: struct targ_fn_launch).
    const char *name
    uint16_t dim[DIMS]

cdef struct Function:
    # A loaded function: what the runtime's table refers to, with all that a launch needs to know of it.
    CUfunction handle
    const Launch *launch
    int registers
    int max_threads
    int occupancy_limit  # the last question to the driver's occupancy calculator, and its answer; 0: not asked yet
    int occupancy_grid
    int occupancy_block

cdef struct LoadedImage:
    const void *target_data
    CUmodule module
    Function *functions
    LoadedImage *next

cdef struct Block:
    # Device memory: in use (table of the device), or kept for the next allocation of its size.
    CUdeviceptr address
    size_t size
    Block *next  # in the hash chain
    Block *before  # of those kept, in the chain
    Block *older  # of those kept, by time of release
    Block *newer

cdef struct Device:
    int number
    int users  # GOMP_OFFLOAD_init_device less GOMP_OFFLOAD_fini_device: two runtimes may share the plugin
    CUdevice handle
    CUcontext context
    bint context_is_ours
    int sms
    int registers_per_block
    int registers_per_sm
    int max_threads
    int max_threads_per_sm
    int clock_khz
    int default_dims[DIMS]
    char name[256]
    pthread_mutex_t image_lock
    LoadedImage *images
    pthread_mutex_t memory_lock
    Block **live  # hash by address
    size_t live_mask
    size_t num_live
    Block *kept[256]  # hash by size
    Block *oldest
    Block *newest
    size_t kept_bytes
    size_t num_kept
    pthread_mutex_t launch_lock  # one OpenMP region at a time: they share the stacks
    CUdeviceptr stacks
    size_t stacks_size

cdef bint region_failed  # a region has ended in an error, and the program ends
cdef Device *devices[MAX_DEVICES]
cdef pthread_mutex_t devices_lock


cdef Device *device_of(int n) noexcept nogil:
    """The device of that number; NULL after a message if it is not in use."""
    if n < 0 or n >= MAX_DEVICES or devices[n] == NULL:
        GOMP_PLUGIN_error(b"device %d not found", n)
        return NULL
    return devices[n]


cdef bint enter(Device *d) noexcept nogil:
    """Make a device's context the calling thread's; false after a message.

    In a callback of the driver nothing may be asked, and nothing has to be.
    """
    cdef CUcontext current = NULL
    cdef CUresult rc = cuda.ctx_current(&current)
    if rc == CUDA_SUCCESS and current == d.context:
        return True
    if rc == CUDA_ERROR_NOT_PERMITTED:
        return True
    if failed(rc, b"cuCtxGetCurrent"):
        return False
    if cuda.ctx_set != NULL:
        return not failed(cuda.ctx_set(d.context), b"cuCtxSetCurrent")
    if current != NULL and failed(cuda.ctx_pop(&current), b"cuCtxPopCurrent"):
        return False
    return not failed(cuda.ctx_push(d.context), b"cuCtxPushCurrent")


cdef bint ask(Device *d, int *answer, int attribute) noexcept nogil:
    return not failed(cuda.device_attribute(answer, attribute, d.handle), b"cuDeviceGetAttribute")


cdef bint read_attributes(Device *d) noexcept nogil:
    """All that launches need to know, asked once."""
    cdef int warp = 0
    cdef CUresult rc
    if not (ask(d, &d.clock_khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE)
            and ask(d, &d.sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
            and ask(d, &d.registers_per_block, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK)
            and ask(d, &warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE)
            and ask(d, &d.max_threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
            and ask(d, &d.max_threads_per_sm, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)):
        return False
    rc = cuda.device_attribute(&d.registers_per_sm, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, d.handle)
    if rc == CUDA_ERROR_INVALID_VALUE:
        d.registers_per_sm = d.registers_per_block  # a driver before CUDA 6
    elif failed(rc, b"cuDeviceGetAttribute"):
        return False
    if warp != WARP:
        GOMP_PLUGIN_error(b"Only warp size 32 is supported")
        return False
    return not failed(cuda.device_name(d.name, sizeof(d.name), d.handle), b"cuDeviceGetName")


cdef bint open_context(Device *d) noexcept nogil:
    """Take the calling thread's context of that device, if it has one: the program may use CUDA itself."""
    cdef CUcontext current = NULL
    cdef CUdevice of
    cdef CUresult rc = cuda.ctx_device(&of)
    if rc == CUDA_SUCCESS and of == d.handle and cuda.ctx_current(&current) == CUDA_SUCCESS and current != NULL:
        d.context = current
        return True
    if rc != CUDA_SUCCESS and rc != CUDA_ERROR_INVALID_CONTEXT and failed(rc, b"cuCtxGetDevice"):
        return False
    d.context_is_ours = True
    return not failed(cuda.ctx_create(&d.context, 0, d.handle), b"cuCtxCreate")


cdef Device *open_device(int n) noexcept nogil:
    """A device that is ready; NULL after a message."""
    cdef Device *d = <Device *> calloc(1, sizeof(Device))
    cdef int version = 0
    if d == NULL:
        GOMP_PLUGIN_error(b"device %d (nvptx): out of memory", n)
        return NULL
    d.number = n
    pthread_mutex_init(&d.image_lock, NULL)
    pthread_mutex_init(&d.memory_lock, NULL)
    pthread_mutex_init(&d.launch_lock, NULL)
    if (failed(cuda.driver_version(&version), b"cuDriverGetVersion")
            or failed(cuda.device_get(&d.handle, n), b"cuDeviceGet")
            or not open_context(d) or not read_attributes(d) or not enter(d)):
        free(d)
        return NULL
    snprintf(driver_version_text, sizeof(driver_version_text), b"CUDA Driver %u.%u", <unsigned> version // 1000,
             <unsigned> version % 1000 // 10)
    announce_emulation()
    return d


cdef bint close_device(Device *d) noexcept nogil:
    """Give everything back to the driver; false after a message.

    After a failure on the device the driver repeats its error at every call, and threads that have met it wait for the
    program's end where they are: all is left to that.
    """
    cdef LoadedImage *image
    cdef bint good
    if region_failed:
        return True
    good = enter(d)
    if good:
        release_kept(d, 0)
        if d.stacks:
            good = gone(cuda.mem_free(d.stacks), b"cuMemFree")
        if d.context_is_ours:
            good = gone(cuda.ctx_destroy(d.context), b"cuCtxDestroy") and good
    forget_memory(d)
    while d.images != NULL:
        image = d.images
        d.images = image.next
        free(image.functions)
        free(image)
    pthread_mutex_destroy(&d.image_lock)
    pthread_mutex_destroy(&d.memory_lock)
    pthread_mutex_destroy(&d.launch_lock)
    free(d)
    return good


cdef bint gone(CUresult rc, const char *what) noexcept nogil:
    """Whether something could be given back.

    A driver that is being taken down has done so itself; after a failure on the device every call repeats its error,
    and it has been told.
    """
    return rc == CUDA_ERROR_DEINITIALIZED or region_failed or not failed(rc, what)


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
