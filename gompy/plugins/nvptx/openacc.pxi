# OpenACC: launches, queues, the program's own CUDA streams, properties.

cdef extern from *:
    """
    #define GOMPY_HAS(function) ((function) != 0)
    """
    bint has_thread "GOMPY_HAS"(void *(*)() noexcept nogil) nogil
    bint has_dims "GOMPY_HAS"(int (*)(unsigned) noexcept nogil) nogil

cdef enum:
    GANG = 0
    WORKER = 1
    VECTOR = 2
    MOST_WIDE_WORKERS = 15  # with a vector of more than one warp: the hardware has 16 barriers a block

cdef struct ThreadData:
    # What GOMP_PLUGIN_acc_thread gives back.
    Device *device

cdef struct Slot:
    # Room for the arguments of one launch in a queue: the host's side may be written again when ``read`` has happened,
    # the device's side when the next launch is made, for that waits for this one.
    void **host
    CUdeviceptr device
    size_t size
    CUevent read
    Slot *next  # of the ring, in the order of use

cdef struct Queue:
    CUstream stream
    bint stream_is_ours
    Device *device
    Slot *oldest
    Slot *newest

cdef struct Callback:
    void (*function)(void *) noexcept nogil
    void *data

cdef int environment_dims[DIMS]  # GOMP_OPENACC_DIM, by the runtime
cdef bint environment_dims_read


cdef Device *thread_device() noexcept nogil:
    """The device that the calling thread's OpenACC constructs go to, or NULL."""
    cdef ThreadData *data = NULL
    if has_thread(GOMP_PLUGIN_acc_thread):
        data = <ThreadData *> GOMP_PLUGIN_acc_thread()
    return data.device if data != NULL else NULL


cdef void read_default_dims(Device *d) noexcept nogil:
    """GOMP_OPENACC_DIM, and what a device gets where that says nothing; once a device."""
    global environment_dims_read
    cdef int *dims = d.default_dims
    cdef int gangs, workers, i
    pthread_mutex_lock(&devices_lock)
    if not environment_dims_read:
        for i in range(DIMS):
            environment_dims[i] = GOMP_PLUGIN_acc_default_dim(i) if has_dims(GOMP_PLUGIN_acc_default_dim) else 0
        environment_dims_read = True
    if not dims[GANG]:
        GOMP_PLUGIN_debug(0, b" warp_size=%d, block_size=%d, dev_size=%d, cpu_size=%d\n", <int> WARP, d.max_threads,
                          d.sms, d.max_threads_per_sm)
        gangs = d.max_threads_per_sm // d.max_threads * d.sms if d.max_threads else 0
        workers = d.max_threads // WARP
        dims[WORKER] = environment_dims[WORKER]
        if dims[WORKER] < 1 or (dims[WORKER] > workers and gangs):
            dims[WORKER] = workers
        dims[VECTOR] = environment_dims[VECTOR]
        if dims[VECTOR] < 1 or (dims[VECTOR] != WARP and gangs):
            dims[VECTOR] = WARP
        dims[GANG] = environment_dims[GANG]
        if dims[GANG] < 1:
            dims[GANG] = gangs if gangs else 1024
        GOMP_PLUGIN_debug(0, b" default dimensions [%d,%d,%d]\n", dims[GANG], dims[WORKER], dims[VECTOR])
    pthread_mutex_unlock(&devices_lock)


cdef void fill_dims(Device *d, Function *f, unsigned *dims) noexcept nogil:
    """Choose the sizes that neither the compiler nor the program has fixed (0), as GCC 12's plugin does."""
    cdef bint open[DIMS]
    cdef int i, limit, vectors
    for i in range(DIMS):
        open[i] = dims[i] == 0
    read_default_dims(d)
    if cuda.occupancy == NULL:
        for i in range(DIMS):
            if open[i]:
                dims[i] = d.default_dims[i]
        if open[VECTOR] and dims[VECTOR] > <unsigned> (f.max_threads // WARP * WARP):
            dims[VECTOR] = f.max_threads // WARP * WARP
        if open[WORKER] and dims[VECTOR] and dims[WORKER] > f.max_threads // dims[VECTOR]:
            dims[WORKER] = f.max_threads // dims[VECTOR]
        return
    limit = dims[WORKER] * dims[VECTOR]
    if not f.occupancy_block or f.occupancy_limit != limit:
        must_succeed(cuda.occupancy(&f.occupancy_grid, &f.occupancy_block, f.handle, NULL, 0, limit),
                     b"cuOccupancyMaxPotentialBlockSize")
        f.occupancy_limit = limit
        GOMP_PLUGIN_debug(0, b"cuOccupancyMaxPotentialBlockSize: grid = %d, block = %d\n", f.occupancy_grid,
                          f.occupancy_block)
    if open[VECTOR]:
        dims[VECTOR] = WARP
    if open[WORKER]:
        if environment_dims[WORKER]:
            dims[WORKER] = environment_dims[WORKER]
        else:
            vectors = dims[VECTOR]
            dims[WORKER] = f.occupancy_block // vectors if f.occupancy_block > vectors else 1
            if vectors > WARP and dims[WORKER] > MOST_WIDE_WORKERS:
                dims[WORKER] = MOST_WIDE_WORKERS
    if open[GANG]:
        # Twice what the device holds at once, so that no multiprocessor is idle while the last ones end.
        dims[GANG] = environment_dims[GANG] if environment_dims[GANG] else (
            2 * f.occupancy_grid * (f.occupancy_block // WARP))


cdef void check_dims(Function *f, const unsigned *dims) noexcept nogil:
    """The program asks for more than the device has: say what would fit.  Ends the program."""
    cdef char name[TEXT]
    if dims[WORKER] * dims[VECTOR] > <unsigned> f.max_threads:
        readable_name(f.launch.name, name, sizeof(name))
        GOMP_PLUGIN_fatal(
            b"The Nvidia accelerator has insufficient resources to launch '%s' with num_workers = %d and vector_length "
            b"= %d; recompile the program with 'num_workers = x and vector_length = y' on that offloaded region or "
            b"'-fopenacc-dim=:x:y' where x * y <= %d.\n",
            <const char *> name, dims[WORKER], dims[VECTOR], f.max_threads)
    if dims[WORKER] > MOST_WIDE_WORKERS and dims[VECTOR] > WARP:
        readable_name(f.launch.name, name, sizeof(name))
        GOMP_PLUGIN_fatal(
            b"The Nvidia accelerator has insufficient barrier resources to launch '%s' with num_workers = %d and "
            b"vector_length = %d; recompile the program with 'num_workers = x' on that offloaded region or "
            b"'-fopenacc-dim=:x:' where x <= 15; or, recompile the program with 'vector_length = 32' on that offloaded "
            b"region or '-fopenacc-dim=::32'.\n",
            <const char *> name, dims[WORKER], dims[VECTOR])


cdef void launch_construct(Device *d, Function *f, unsigned *dims, CUdeviceptr arguments,
                           CUstream stream) noexcept nogil:
    """Start a compute construct; a failure ends the program."""
    cdef acc_event_info info
    cdef GoaccThread *thread
    cdef void *parameters[1]
    cdef CUresult rc
    cdef int i
    for i in range(DIMS):
        if f.launch.dim[i]:
            dims[i] = f.launch.dim[i]
    if not (dims[GANG] and dims[WORKER] and dims[VECTOR]):
        fill_dims(d, f, dims)
    check_dims(f, dims)
    GOMP_PLUGIN_debug(0, b"  nvptx_exec: kernel %s: launch gangs=%u, workers=%u, vectors=%u\n", f.launch.name,
                      dims[GANG], dims[WORKER], dims[VECTOR])
    thread = profiled()
    if thread != NULL:
        profile_launch(thread, acc_device_api_cuda, &info, f.launch.name, dims)
    parameters[0] = &arguments
    rc = cuda.launch(f.handle, dims[GANG], 1, 1, dims[VECTOR], dims[WORKER], 1, 0, stream, parameters, NULL)
    if rc != CUDA_SUCCESS:
        die_of(rc, b"cuLaunchKernel", f, d)
    if thread != NULL:
        profile_launch(thread, acc_device_api_cuda, &info, NULL, dims)
    GOMP_PLUGIN_debug(0, b"  nvptx_exec: kernel %s: finished\n", f.launch.name)


cdef inline void gather_arguments(void **block, size_t mapnum, void **hosts, void **devs) noexcept nogil:
    """The argument block: what is not mapped is passed as it is."""
    cdef size_t i
    for i in range(mapnum):
        block[i] = devs[i] if devs[i] != NULL else hosts[i]


cdef Device *construct_device() noexcept nogil:
    cdef Device *d = thread_device()
    if d == NULL or not enter_context(d):
        GOMP_PLUGIN_fatal(b"nvptx: the thread has no device")
    return d


cdef void run_construct(Function *f, size_t mapnum, void **hosts, void **devs, unsigned *dims) noexcept nogil:
    """A compute construct without async, to its end."""
    cdef Device *d = construct_device()
    cdef size_t size = mapnum * sizeof(void *)
    cdef void *few[32]
    cdef void **block = few
    cdef CUdeviceptr arguments = 0
    cdef GoaccThread *thread = profiled()
    cdef CUresult rc
    GOMP_PLUGIN_debug(0, b"  GOMP_OFFLOAD_openacc_exec: prepare mappings\n")
    if gompy_newer_runtime():
        arguments = <CUdeviceptr> <uintptr_t> devs
        mapnum = 0
    if mapnum:
        if size > sizeof(few):
            block = <void **> GOMP_PLUGIN_malloc(size)
        gather_arguments(block, mapnum, hosts, devs)
        arguments = take_block(d, size)
        if not arguments:
            GOMP_PLUGIN_fatal(b"nvptx: no room for the arguments of a construct")
        if thread != NULL:
            profile_data(thread, acc_device_api_cuda, acc_ev_alloc, arguments, NULL, size)
            profile_data(thread, acc_device_api_cuda, acc_ev_enqueue_upload_start, arguments, block, size)
        must_succeed(cuda.host_to_device(arguments, block, size), b"cuMemcpyHtoD")
        if thread != NULL:
            profile_data(thread, acc_device_api_cuda, acc_ev_enqueue_upload_end, arguments, block, size)
    launch_construct(d, f, dims, arguments, NULL)
    rc = cuda.stream_synchronize(NULL)
    if rc != CUDA_SUCCESS:
        die_of(rc, b"cuStreamSynchronize", f, d)
    if mapnum:
        give_block(d, arguments)
        if thread != NULL:
            profile_data(thread, acc_device_api_cuda, acc_ev_free, arguments, NULL, <size_t> -1)
        if block != few:
            free(block)


cdef Slot *take_slot(Queue *q, size_t size) noexcept nogil:
    """Room for the arguments of the queue's next launch."""
    cdef Slot *s = q.oldest
    if s != NULL and (s.size < size or cuda.event_query(s.read) != CUDA_SUCCESS):
        s = NULL
    if s == NULL:
        s = <Slot *> GOMP_PLUGIN_malloc(sizeof(Slot))
        s.size = size if size > 256 else 256
        s.host = <void **> GOMP_PLUGIN_malloc(s.size)
        s.device = take_block(q.device, s.size)
        s.next = NULL
        if not s.device:
            GOMP_PLUGIN_fatal(b"nvptx: no room for the arguments of a construct")
        must_succeed(cuda.event_create(&s.read, CU_EVENT_DISABLE_TIMING), b"cuEventCreate")
    else:
        q.oldest = s.next
        if q.oldest == NULL:
            q.newest = NULL
        s.next = NULL
    return s


cdef void put_slot(Queue *q, Slot *s) noexcept nogil:
    """The slot's launch is in the queue: it is the last to be used again."""
    if q.newest != NULL:
        q.newest.next = s
    else:
        q.oldest = s
    q.newest = s


cdef void queue_construct(Queue *q, Function *f, size_t mapnum, void **hosts, void **devs,
                          unsigned *dims) noexcept nogil:
    """A compute construct with async: it is in the queue when this returns."""
    cdef Device *d = construct_device()
    cdef size_t size = mapnum * sizeof(void *)
    cdef GoaccThread *thread = profiled()
    cdef Slot *s = NULL
    cdef CUdeviceptr arguments
    GOMP_PLUGIN_debug(0, b"  GOMP_OFFLOAD_openacc_async_exec: prepare mappings\n")
    if mapnum and not gompy_newer_runtime():
        s = take_slot(q, size)
        gather_arguments(s.host, mapnum, hosts, devs)
        if thread != NULL:
            profile_data(thread, acc_device_api_cuda, acc_ev_alloc, s.device, NULL, size)
            profile_data(thread, acc_device_api_cuda, acc_ev_enqueue_upload_start, s.device, s.host, size)
        must_succeed(cuda.host_to_device_async(s.device, s.host, size, q.stream), b"cuMemcpyHtoDAsync")
        must_succeed(cuda.event_record(s.read, q.stream), b"cuEventRecord")
        if thread != NULL:
            profile_data(thread, acc_device_api_cuda, acc_ev_enqueue_upload_end, s.device, s.host, size)
    arguments = s.device if s != NULL else <CUdeviceptr> <uintptr_t> devs if gompy_newer_runtime() else 0
    launch_construct(d, f, dims, arguments, q.stream)
    if s != NULL:
        put_slot(q, s)


cdef Queue *new_queue(int n) noexcept nogil:
    cdef Device *d = device_of(n)
    cdef CUstream stream = NULL
    cdef Queue *q
    if d == NULL or not enter_context(d) or call_failed(cuda.stream_create(&stream, 0), b"cuStreamCreate"):
        return NULL
    q = <Queue *> GOMP_PLUGIN_malloc(sizeof(Queue))
    memset(q, 0, sizeof(Queue))
    q.stream = stream
    q.stream_is_ours = True
    q.device = d
    return q


cdef bint delete_queue(Queue *q) noexcept nogil:
    cdef bint good = enter_context(q.device)
    cdef Slot *s
    if good and q.oldest != NULL:
        good = given_back(cuda.stream_synchronize(q.stream), b"cuStreamSynchronize")
    while q.oldest != NULL:
        s = q.oldest
        q.oldest = s.next
        given_back(cuda.event_destroy(s.read), b"cuEventDestroy")
        give_block(q.device, s.device)
        free(s.host)
        free(s)
    if q.stream_is_ours:
        good = given_back(cuda.stream_destroy(q.stream), b"cuStreamDestroy") and good
    free(q)
    return good


cdef bint wait_for(Queue *q) noexcept nogil:
    return enter_context(q.device) and not wait_failed(cuda.stream_synchronize(q.stream), b"cuStreamSynchronize")


cdef int set_stream(Queue *q, CUstream stream) noexcept nogil:
    """Let a queue use a stream of the program's own, which stays the program's."""
    if stream == q.stream or not enter_context(q.device):
        return 1
    if q.stream != NULL:
        must_succeed(cuda.stream_synchronize(q.stream), b"cuStreamSynchronize")
        if q.stream_is_ours:
            must_succeed(cuda.stream_destroy(q.stream), b"cuStreamDestroy")
    q.stream = stream
    q.stream_is_ours = False
    return 1


cdef int test_queue(Queue *q) noexcept nogil:
    """1: all done; 0: not yet; -1 after a message."""
    cdef CUresult rc
    if not enter_context(q.device):
        return -1
    rc = cuda.stream_query(q.stream)
    if rc == CUDA_ERROR_NOT_READY:
        return 0
    return -1 if wait_failed(rc, b"cuStreamQuery") else 1


cdef bint serialize_queues(Queue *first, Queue *then) noexcept nogil:
    """What is put into ``then`` from now on waits for what is in ``first``."""
    cdef CUevent event = NULL
    cdef bint good
    if not enter_context(first.device) or call_failed(cuda.event_create(&event, CU_EVENT_DISABLE_TIMING),
                                                      b"cuEventCreate"):
        return False
    good = (not call_failed(cuda.event_record(event, first.stream), b"cuEventRecord")
            and not call_failed(cuda.stream_wait(then.stream, event, 0), b"cuStreamWaitEvent"))
    cuda.event_destroy(event)  # it lives until what waits for it has gone on
    return good


cdef void call_back(CUstream stream, CUresult rc, void *data) noexcept nogil:
    """The driver has come to a callback in a queue."""
    cdef Callback *callback = <Callback *> data
    global in_callback
    must_succeed(rc, b"cuda_callback_wrapper")
    in_callback = True
    callback.function(callback.data)
    in_callback = False
    free(callback)


cdef void queue_callback(Queue *q, void (*function)(void *) noexcept nogil, void *data) noexcept nogil:
    cdef Callback *callback = <Callback *> GOMP_PLUGIN_malloc(sizeof(Callback))
    enter_context(q.device)
    callback.function = function
    callback.data = data
    must_succeed(cuda.stream_callback(q.stream, call_back, callback, 0), b"cuStreamAddCallback")


cdef size_t device_property(int n, int property) noexcept nogil:
    """A property of a device in use; 0 where there is none."""
    cdef Device *d
    cdef size_t free_bytes = 0
    cdef size_t total = 0
    if n < 0 or n >= MAX_DEVICES or devices[n] == NULL:
        return 0
    d = devices[n]
    if property == GOACC_PROPERTY_MEMORY:
        return 0 if call_failed(cuda.device_memory(&total, d.handle), b"cuDeviceTotalMem") else total
    if property == GOACC_PROPERTY_FREE_MEMORY:
        if not enter_context(d) or call_failed(cuda.mem_info(&free_bytes, &total), b"cuMemGetInfo"):
            return 0
        return free_bytes + d.kept_bytes  # what is kept goes back when it is needed
    if property == GOACC_PROPERTY_NAME:
        return <size_t> <uintptr_t> <char *> d.name
    if property == GOACC_PROPERTY_VENDOR:
        return <size_t> <uintptr_t> <const char *> b"Nvidia"
    if property == GOACC_PROPERTY_DRIVER:
        return <size_t> <uintptr_t> <char *> driver_version_text
    return 0
