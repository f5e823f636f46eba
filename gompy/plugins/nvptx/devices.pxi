# Devices and their contexts.

cdef enum:
    MAX_DEVICES = 64
    WARP = 32
    DIMS = 3  # gang, worker, vector

    # Whose the context is, and how it is given back.
    CONTEXT_OF_PROGRAM = 0
    CONTEXT_PRIMARY = 1
    CONTEXT_OWN = 2

    MOST_STACK = 8192  # bytes of each thread of the device, if nobody says more

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
    int context_kind
    int sms
    int registers_per_block
    int registers_per_sm
    int max_threads
    int max_threads_per_sm
    int clock_khz
    int default_dims[DIMS]
    bint deep  # the driver can't tell how deep the stacks of some functions get
    bint stack_chosen  # by the user
    size_t thread_stack  # bytes a thread; 0 if the driver doesn't say
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
    size_t warp_stack  # bytes a warp that its images need; 0: STACK_SIZE will do

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
    cdef CUresult rc
    if in_callback:
        return True
    rc = cuda.ctx_current(&current)
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
    """The calling thread's context of that device, if it has one (the program may use CUDA itself); else the primary
    one, in which the CUDA runtime and all libraries on it are."""
    cdef CUcontext current = NULL
    cdef CUdevice of
    cdef CUresult rc = cuda.ctx_device(&of)
    if rc == CUDA_SUCCESS and of == d.handle and cuda.ctx_current(&current) == CUDA_SUCCESS and current != NULL:
        d.context = current
        return True
    if rc != CUDA_SUCCESS and rc != CUDA_ERROR_INVALID_CONTEXT and failed(rc, b"cuCtxGetDevice"):
        return False
    if cuda.primary_retain != NULL and cuda.primary_release != NULL:
        d.context_kind = CONTEXT_PRIMARY
        return not failed(cuda.primary_retain(&d.context, d.handle), b"cuDevicePrimaryCtxRetain")
    d.context_kind = CONTEXT_OWN
    return not failed(cuda.ctx_create(&d.context, 0, d.handle), b"cuCtxCreate")


cdef void set_stack(Device *d, size_t bytes) noexcept nogil:
    """How much stack each thread of the device has.  A driver that can't give so much leaves it as it is."""
    if cuda.ctx_set_limit == NULL or cuda.ctx_limit == NULL:
        return
    if bytes and cuda.ctx_set_limit(CU_LIMIT_STACK_SIZE, bytes) == CUDA_SUCCESS:
        GOMP_PLUGIN_debug(0, b"nvptx: %lu bytes of stack for each thread of device %d\n", <unsigned long> bytes,
                          d.number)
    if cuda.ctx_limit(&d.thread_stack, CU_LIMIT_STACK_SIZE) != CUDA_SUCCESS:
        d.thread_stack = 0


cdef void read_stack(Device *d) noexcept nogil:
    """GOMP_NVPTX_NATIVE_GPU_THREAD_STACK_SIZE, as in later plugins of GCC; 0: as the driver has it."""
    cdef const char *text = secure_getenv(b"GOMP_NVPTX_NATIVE_GPU_THREAD_STACK_SIZE")
    cdef char *end = NULL
    cdef size_t bytes = 0
    if text != NULL and text[0]:
        bytes = strtoul(text, &end, 10)
        d.stack_chosen = True
        if end[0] or text[0] == c'-' or bytes > INT32_MAX:
            GOMP_PLUGIN_error(b"Error parsing GOMP_NVPTX_NATIVE_GPU_THREAD_STACK_SIZE")
            bytes = 0
            d.stack_chosen = False
    set_stack(d, bytes)


cdef void deepen_stack(Device *d) noexcept nogil:
    """There is code whose depth the driver's compiler can't tell (recursion, calls by pointers): a 64th of the device's
    memory for the stacks of all threads that it holds, unless the user has chosen."""
    cdef size_t memory = 0
    cdef size_t threads = <size_t> d.sms * d.max_threads_per_sm
    cdef size_t bytes
    if d.deep:
        return
    d.deep = True
    if d.stack_chosen or not d.thread_stack or not threads:
        return
    if cuda.device_memory(&memory, d.handle) != CUDA_SUCCESS:
        return
    bytes = memory // 64 // threads // 256 * 256
    if bytes > MOST_STACK:
        bytes = MOST_STACK
    if bytes > d.thread_stack:
        set_stack(d, bytes)


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
    read_stack(d)
    snprintf(driver_version_text, sizeof(driver_version_text), b"CUDA Driver %u.%u", <unsigned> version // 1000,
             <unsigned> version % 1000 // 10)
    announce_emulation()
    return d


cdef bint close_device(Device *d) noexcept nogil:
    """Give everything back to the driver; false after a message.

    When a context is lost the program ends: all is left to that, for other threads may be anywhere in the driver, or wait
    for the end, and it would but repeat its error.
    """
    cdef LoadedImage *image
    cdef CUcontext current = NULL
    cdef bint down, good
    if context_lost:
        return True
    down = cuda.ctx_current(&current) == CUDA_ERROR_DEINITIALIZED
    good = down or enter(d)
    if good and not down:
        release_kept(d, 0)
        if d.stacks:
            good = gone(cuda.mem_free(d.stacks), b"cuMemFree")
        if d.context_kind == CONTEXT_OWN:
            good = gone(cuda.ctx_destroy(d.context), b"cuCtxDestroy") and good
        else:
            leave_context(d)
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


cdef void leave_context(Device *d) noexcept nogil:
    """Take what is ours out of a context that may live on."""
    cdef LoadedImage *image = d.images
    cdef CUcontext current = NULL
    cdef Block *b
    cdef size_t i
    while image != NULL and not context_lost:
        gone(cuda.module_unload(image.module), b"cuModuleUnload")
        image = image.next
    if d.live != NULL and not context_lost:
        for i in range(d.live_mask + 1):
            b = d.live[i]
            while b != NULL:
                gone(cuda.mem_free(b.address), b"cuMemFree")
                b = b.next
    if d.context_kind == CONTEXT_PRIMARY:
        if cuda.ctx_set != NULL and cuda.ctx_current(&current) == CUDA_SUCCESS and current == d.context:
            cuda.ctx_set(NULL)
        gone(cuda.primary_release(d.handle), b"cuDevicePrimaryCtxRelease")


cdef bint gone(CUresult rc, const char *what) noexcept nogil:
    """Whether something could be given back.

    A driver that is being taken down has done so itself; after a failure on the device every call repeats its error,
    and it has been told.
    """
    return rc == CUDA_ERROR_DEINITIALIZED or context_lost or not failed(rc, what)


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
