# Reverse offload: a region has the host run a function, and waits (`target device(ancestor: 1)`, GCC 13 and later).
#
# The image's libgomp writes what is to be called into memory of the host's that the device sees, the function last,
# and waits for that word to be 0 (config/nvptx/target.c, GOMP_target_ext).  The thread that waits for the region looks
# at it too.  Such a region has a stream of its own, which nothing waits for: while it runs, copies in the default
# stream go on.

from gompy.native.atomics cimport ACQUIRE, RELEASE, load64

cdef extern from * nogil:
    """
    #include <sched.h>
    #include <time.h>
    /* The device whose region this thread runs a function of the host's for.  */
    static __thread void *region_served GOMPY_QUICK_TLS;
    static void wait_a_moment (unsigned turn)
    {
      struct timespec time = { 0, turn < 1000 ? 1000 : 50000 };
      if (turn < 100)
        sched_yield ();
      else
        nanosleep (&time, NULL);
    }
    """
    void *region_served
    void wait_a_moment(unsigned turn)
    void store64 "__atomic_store_n"(uint64_t *p, uint64_t v, int order)


cdef bint read_ancestors(LoadedImage *loaded, unsigned count, uint64_t **table) noexcept nogil:
    """The device addresses of the functions that stand for the host's, in the order of the image's, 0 for the others;
    NULL if there are none.  False after a message."""
    cdef CUdeviceptr address = 0
    cdef size_t size = 0
    cdef CUresult rc = cuda.module_global(&address, &size, loaded.module, b"$offload_func_table")
    table[0] = NULL
    if rc == CUDA_ERROR_NOT_FOUND:
        return True
    if call_failed(rc, b"cuModuleGetGlobal"):
        return False
    if size != count * sizeof(uint64_t):
        GOMP_PLUGIN_error(b"nvptx: the image's table of functions for the host has %lu bytes for %u functions",
                          <unsigned long> size, count)
        return False
    table[0] = <uint64_t *> GOMP_PLUGIN_malloc(size)
    return not call_failed(cuda.device_to_host(table[0], address, size), b"cuMemcpyDtoH")


cdef bint open_mailbox(Device *d) noexcept nogil:
    """What regions with calls need, once a device; false after a message.  The runtime loads one image at a time."""
    cdef void *memory = NULL
    if d.calls != NULL:
        return True
    if cuda.host_alloc == NULL:
        GOMP_PLUGIN_error(b"nvptx: the driver has no cuMemHostAlloc")
        return False
    if (d.call_stream == NULL and call_failed(cuda.stream_create(&d.call_stream, CU_STREAM_NON_BLOCKING),
                                              b"cuStreamCreate")
            or d.call_ready == NULL and call_failed(cuda.event_create(&d.call_ready, CU_EVENT_DISABLE_TIMING),
                                                    b"cuEventCreate")
            or call_failed(cuda.host_alloc(&memory, sizeof(HostCall), CU_MEMHOSTALLOC_DEVICEMAP), b"cuMemHostAlloc")):
        return False
    memset(memory, 0, sizeof(HostCall))
    d.calls = <HostCall *> memory
    return True


cdef bint connect_calls(Device *d, LoadedImage *loaded, unsigned count, uint64_t **table) noexcept nogil:
    """Let an image's regions call the host, if it has any that do; false after a message."""
    cdef CUdeviceptr address = 0, mailbox
    cdef size_t size = 0
    cdef CUresult rc
    if not read_ancestors(loaded, count, table):
        return False
    if table[0] == NULL:
        return True
    rc = cuda.module_global(&address, &size, loaded.module, b"__gomp_rev_offload_var")
    if rc == CUDA_ERROR_NOT_FOUND:
        return True  # no region of the device calls
    if call_failed(rc, b"cuModuleGetGlobal") or not open_mailbox(d):
        return False
    mailbox = <CUdeviceptr> <uintptr_t> d.calls  # pinned memory has one address for both
    loaded.calls_host = True
    return not call_failed(cuda.host_to_device(address, &mailbox, sizeof(mailbox)), b"cuMemcpyHtoD")


cdef void close_mailbox(Device *d) noexcept nogil:
    """The context may live on."""
    if d.call_stream != NULL:
        given_back(cuda.stream_destroy(d.call_stream), b"cuStreamDestroy")
    if d.call_ready != NULL:
        given_back(cuda.event_destroy(d.call_ready), b"cuEventDestroy")
    if d.calls != NULL and cuda.host_free != NULL:
        given_back(cuda.host_free(d.calls), b"cuMemFreeHost")


cdef void begin_calls(Device *d, bint begin) noexcept nogil:
    """A region that may call begins or ends.  Meanwhile the driver's freeing, which waits for all work, is left
    alone: who frees may hold what the region's call waits for."""
    pthread_mutex_lock(&d.free_lock)
    d.calling = begin
    pthread_mutex_unlock(&d.free_lock)


cdef void serve_call(Device *d) noexcept nogil:
    """Run the function of the host that a region calls, and let the region go on."""
    global region_served
    cdef HostCall *c = d.calls
    cdef uint64_t function = load64(&c.function, ACQUIRE)
    region_served = d
    if gompy_newer_runtime():  # libgomp; with a device's number there, and no way to copy but the usual one
        GOMP_PLUGIN_target_rev(function, c.mapnum, c.addresses, c.sizes, c.kinds, c.device, NULL, NULL, NULL)
    elif <void *> gompy_target_rev != NULL:
        gompy_target_rev(GOMP_DEVICE_NVIDIA_PTX, d.number, function, c.mapnum, c.addresses, c.sizes, c.kinds)
    else:
        GOMP_PLUGIN_fatal(b"device %d (nvptx): a region calls the host, which this runtime cannot serve", d.number)
    region_served = NULL
    # A copy from pageable memory may still be under way when the driver returns.
    if not enter_context(d):
        GOMP_PLUGIN_fatal(b"device %d cannot go on with a region", d.number)
    must_succeed(cuda.stream_synchronize(NULL), b"cuStreamSynchronize")
    store64(&c.function, 0, RELEASE)


cdef CUresult wait_and_serve(Device *d) noexcept nogil:
    """Until the region in the stream for such regions is done."""
    cdef CUresult rc = CUDA_ERROR_NOT_READY
    cdef unsigned turn = 0
    while rc == CUDA_ERROR_NOT_READY:
        if load64(&d.calls.function, ACQUIRE):
            serve_call(d)
            turn = 0
        else:
            wait_a_moment(turn)
            turn += turn < 1000
        rc = cuda.stream_query(d.call_stream)
    return rc
