# Devices and their contexts.

cdef enum:
    MAX_DEVICES = 64
    WARP = 32
    DIMS = 3  # gang, worker, vector
    STACK_SIZE = 128 * 1024  # a warp, as GCC's plugin has it

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
    int mode  # KERNEL_*: by clang
    size_t reduces  # bytes of the buffer that clang 18's and later reductions over teams want, or 0
    CUdeviceptr environment  # what they find it by, and the buffer; 0 before the first launch
    unsigned shared  # bytes of dynamic shared memory of an OpenMP region
    bint calls_host  # regions of its image may call the host
    bint *builds_map  # of its image
    int registers
    int max_threads
    int fit_asked[2]  # the last launch's teams and threads as the program has them, and as they were chosen;
    int fit_chosen[2]  # no threads: there was none
    int occupancy_limit  # the last question to the driver's occupancy calculator, and its answer; 0: not asked yet
    int occupancy_grid
    int occupancy_block

cdef struct LoadedImage:
    const void *target_data
    CUmodule module
    Function *functions
    const char *destructors  # the kernel to run before the image goes, or NULL
    CUdeviceptr indirect  # the map of indirect functions, or 0
    bint builds_map  # the first region makes a hash table of that, while other teams look into it already
    bint calls_host
    bint sets_icvs  # its code may call omp_set_num_teams or omp_set_teams_thread_limit
    LoadedImage *next

cdef struct Block:
    # Device memory: in use (table of the device), or kept for the next allocation of its size.
    CUdeviceptr address
    size_t size
    Block *next  # in the hash chain
    Block *before  # of those kept, in the chain
    Block *older  # of those kept, by time of release
    Block *newer
    bint words  # of argument words alone, with GOMPY_CHECK

cdef struct HostCall:
    # GCC: struct rev_offload (config/nvptx/libgomp-nvptx.h).
    uint64_t function  # 0: nothing to do
    uint64_t mapnum
    uint64_t addresses
    uint64_t sizes
    uint64_t kinds
    int device  # the runtime's number

cdef struct Device:
    int number
    int users  # GOMP_OFFLOAD_init_device less GOMP_OFFLOAD_fini_device: two runtimes may share the plugin
    CUdevice handle
    CUcontext context
    int context_kind
    bint limits_told  # of LIBOMPTARGET_INFO
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
    unsigned shared_pool  # bytes of shared memory that a team's allocator has, in code of GCC 14 and later
    char name[256]
    pthread_mutex_t image_lock
    LoadedImage *images
    gompy_quick_lock memory_lock
    Block **live  # hash by address
    size_t live_mask
    size_t num_live
    Block *kept[256]  # hash by size
    Block *words  # those of argument words that are free, with GOMPY_CHECK
    Block *oldest
    Block *newest
    size_t kept_bytes
    size_t num_kept
    gompy_quick_lock launch_lock  # one OpenMP region at a time: they share the stacks
    CUdeviceptr stacks
    size_t stacks_size
    size_t warp_stack  # bytes a warp that its images need; 0: STACK_SIZE will do
    HostCall *calls  # what a region has the host run; NULL: no image has such regions
    CUstream call_stream  # of these regions: nothing waits for it
    CUevent call_ready
    bint calling  # such a region runs
    pthread_mutex_t free_lock  # guards that, and is held while the driver frees

cdef Device *devices[MAX_DEVICES]
cdef pthread_mutex_t devices_lock


cdef Device *no_device(int n) noexcept nogil:
    GOMP_PLUGIN_error(b"device %d not found", n)
    return NULL


cdef inline Device *device_of(int n) noexcept nogil:
    """The device of that number; NULL after a message if it is not in use."""
    return devices[n] if <unsigned> n < MAX_DEVICES and devices[n] != NULL else no_device(n)


cdef bint change_context(Device *d, CUresult rc, CUcontext current) noexcept nogil:
    """enter_context where the driver has answered that there is another one, or nothing."""
    if rc == CUDA_ERROR_NOT_PERMITTED:
        return True
    if call_failed(rc, b"cuCtxGetCurrent"):
        return False
    if cuda.ctx_set != NULL:
        return not call_failed(cuda.ctx_set(d.context), b"cuCtxSetCurrent")
    if current != NULL and call_failed(cuda.ctx_pop(&current), b"cuCtxPopCurrent"):
        return False
    return not call_failed(cuda.ctx_push(d.context), b"cuCtxPushCurrent")


cdef inline bint enter_context(Device *d) noexcept nogil:
    """Make a device's context the calling thread's; false after a message.

    In a callback of the driver nothing may be asked, and nothing has to be.
    """
    cdef CUcontext current = NULL
    cdef CUresult rc
    if in_callback:
        return True
    rc = cuda.ctx_current(&current)
    return (rc == CUDA_SUCCESS and current == d.context) or change_context(d, rc, current)


cdef bint ask_attribute(Device *d, int *answer, int attribute) noexcept nogil:
    return not call_failed(cuda.device_attribute(answer, attribute, d.handle), b"cuDeviceGetAttribute")


cdef bint tells_kernels() noexcept nogil:
    """LIBOMPTARGET_INFO with bit 16, which is libomptarget's plugin's to tell."""
    cdef const char *text = secure_getenv(b"LIBOMPTARGET_INFO")
    return text != NULL and strtol(text, NULL, 10) & TGT_INFO_KERNEL != 0


cdef void tell_limits(Device *d) noexcept nogil:
    """The line that libomptarget's plugin for CUDA writes of a device, once."""
    cdef int blocks = 0, threads = 0, warp = 0
    if (not d.limits_told and ask_attribute(d, &blocks, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)
            and ask_attribute(d, &threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
            and ask_attribute(d, &warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE)):
        fprintf(stderr,
                b"CUDA device %d info: Device supports up to %d CUDA blocks and %d threads with a warp size of %d\n",
                d.number, blocks, threads, warp)
    d.limits_told = True


cdef bint read_attributes(Device *d) noexcept nogil:
    """All that launches need to know, asked once."""
    cdef int warp = 0
    cdef CUresult rc
    if not (ask_attribute(d, &d.clock_khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE)
            and ask_attribute(d, &d.sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
            and ask_attribute(d, &d.registers_per_block, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK)
            and ask_attribute(d, &warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE)
            and ask_attribute(d, &d.max_threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
            and ask_attribute(d, &d.max_threads_per_sm, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)):
        return False
    rc = cuda.device_attribute(&d.registers_per_sm, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, d.handle)
    if rc == CUDA_ERROR_INVALID_VALUE:
        d.registers_per_sm = d.registers_per_block  # a driver before CUDA 6
    elif call_failed(rc, b"cuDeviceGetAttribute"):
        return False
    if warp != WARP:
        GOMP_PLUGIN_error(b"Only warp size 32 is supported")
        return False
    return not call_failed(cuda.device_name(d.name, sizeof(d.name), d.handle), b"cuDeviceGetName")


cdef bint open_context(Device *d) noexcept nogil:
    """The calling thread's context of that device, if it has one (the program may use CUDA itself); else the primary
    one, in which the CUDA runtime and all libraries on it are."""
    cdef CUcontext current = NULL
    cdef CUdevice of
    cdef CUresult rc = cuda.ctx_device(&of)
    if rc == CUDA_SUCCESS and of == d.handle and cuda.ctx_current(&current) == CUDA_SUCCESS and current != NULL:
        d.context = current
        return True
    if rc != CUDA_SUCCESS and rc != CUDA_ERROR_INVALID_CONTEXT and call_failed(rc, b"cuCtxGetDevice"):
        return False
    if cuda.primary_retain != NULL and cuda.primary_release != NULL:
        d.context_kind = CONTEXT_PRIMARY
        return not call_failed(cuda.primary_retain(&d.context, d.handle), b"cuDevicePrimaryCtxRetain")
    d.context_kind = CONTEXT_OWN
    return not call_failed(cuda.ctx_create(&d.context, 0, d.handle), b"cuCtxCreate")


cdef void set_stack(Device *d, size_t bytes) noexcept nogil:
    """How much stack each thread of the device has.  A driver that can't give so much leaves it as it is."""
    if cuda.ctx_set_limit == NULL or cuda.ctx_limit == NULL:
        return
    if bytes and cuda.ctx_set_limit(CU_LIMIT_STACK_SIZE, bytes) == CUDA_SUCCESS:
        GOMP_PLUGIN_debug(0, b"nvptx: %lu bytes of stack for each thread of device %d\n", <unsigned long> bytes,
                          d.number)
    if cuda.ctx_limit(&d.thread_stack, CU_LIMIT_STACK_SIZE) != CUDA_SUCCESS:
        d.thread_stack = 0


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


cdef bint given_back(CUresult rc, const char *what) noexcept nogil:
    """Whether something could be given back.

    A driver that is being taken down has done so itself; after a failure on the device every call repeats its error,
    and it has been told.
    """
    return rc == CUDA_ERROR_DEINITIALIZED or context_lost or not call_failed(rc, what)


cdef char *device_uid(int n) noexcept nogil:
    """The driver's name for the card that is its own in the world; NULL if it gives none.  The caller's to free."""
    cdef unsigned char bytes[16]
    cdef Device *d = device_of(n)
    cdef char *text
    cdef size_t used
    cdef int i
    if d == NULL or cuda.device_uuid == NULL or cuda.device_uuid(bytes, d.handle) != CUDA_SUCCESS:
        return NULL
    text = <char *> GOMP_PLUGIN_malloc(48)
    used = snprintf(text, 48, b"GPU-")
    for i in range(16):
        used += snprintf(text + used, 48 - used, b"-%02x" if i in (4, 6, 8, 10) else b"%02x", bytes[i])
    return text
