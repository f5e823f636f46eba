# cython: language_level=3, cdivision=True, boundscheck=False, wraparound=False, initializedcheck=False
"""libgomp-plugin-nvptx.so.1: NVIDIA GPUs over the CUDA driver interface, or the emulated GPU in their place.

Exports the GOMP_OFFLOAD_* functions of GCC's nvptx plugin (libgomp-plugin.h of GCC 12 to 16: versions 1 to 3),
OpenMP and OpenACC.  docs/nvptx.md describes it for users.
"""

include "libc.pxi"
include "driver.pxi"
include "devices.pxi"
include "memory.pxi"
include "reverse.pxi"
include "constructors.pxi"
include "lifetimes.pxi"
include "images.pxi"
include "launch.pxi"
include "kernels.pxi"
include "openacc.pxi"
include "interop.pxi"
include "../interop.pxi"

cdef enum:
    FULFILLED = GOMP_REQUIRES_UNIFIED_ADDRESS | GOMP_REQUIRES_REVERSE_OFFLOAD


cdef public unsigned GOMP_OFFLOAD_version() noexcept nogil:
    """The interface's version."""
    return gompy_answer_version()


cdef public const char *GOMP_OFFLOAD_get_name() noexcept nogil:
    return b"nvptx"


cdef public unsigned GOMP_OFFLOAD_get_caps() noexcept nogil:
    return GOMP_OFFLOAD_CAP_OPENMP_400 | GOMP_OFFLOAD_CAP_OPENACC_200


cdef public int GOMP_OFFLOAD_get_type() noexcept nogil:
    return GOMP_DEVICE_NVIDIA_PTX


cdef public int GOMP_OFFLOAD_get_num_devices(unsigned required) noexcept nogil:
    """-1 if the devices do not fulfil what the program requires."""
    return gompy_answer_count(required, FULFILLED, count_devices())


cdef public unsigned gompy_fulfils() noexcept nogil:
    """What of `omp requires` they fulfil, for libgompy, which tells more than a number can.

    Not part of GCC's interface.
    """
    return FULFILLED


cdef public c_bool gompy_sets_icvs(int n) noexcept nogil:
    """Whether regions of an image may set ICVs of the device.  Not part of GCC's interface."""
    cdef LoadedImage *image = devices[n].images
    while image != NULL and not image.sets_icvs:
        image = image.next
    return image != NULL


cdef public const char *GOMP_OFFLOAD_get_uid(int n) noexcept nogil:
    """GPU- and the driver's UUID, as NVIDIA's tools write it; NULL if it has none.  The caller's to free."""
    return device_uid(n)


cdef public c_bool GOMP_OFFLOAD_init_device(int n) noexcept nogil:
    return init_device(n)


cdef public c_bool GOMP_OFFLOAD_fini_device(int n) noexcept nogil:
    return fini_device(n)


cdef public int GOMP_OFFLOAD_load_image(int n, unsigned version, const void *target_data,
                                        AddrPair **table, uint64_t **reverse, const uint64_t *indirect) noexcept nogil:
    """The last two are of GOMP_VERSION 2 and 3: a libgomp 12 does not give them, nor an image that has such
    functions."""
    return load_image(n, version, <const TargetData *> target_data, table, reverse, indirect)


cdef public c_bool GOMP_OFFLOAD_unload_image(int n, unsigned version, const void *target_data) noexcept nogil:
    return unload_image(n, version, <const TargetData *> target_data)


cdef void *block_taken(CUdeviceptr address, size_t size) noexcept nogil:
    """What is allocated, told to OpenACC's profiling; 0: nothing is."""
    cdef GoaccThread *thread
    if address:
        thread = profiled()
        if thread != NULL:
            profile_data(thread, acc_device_api_cuda, acc_ev_alloc, address, NULL, size)
    return <void *> <uintptr_t> address


cdef public void *GOMP_OFFLOAD_alloc(int n, size_t size) noexcept nogil:
    cdef Device *d = device_of(n)
    return block_taken(take_block(d, size), size) if d != NULL and enter_context(d) else NULL


cdef public void *gompy_alloc_words(int n, size_t size) noexcept nogil:
    """With GOMPY_CHECK: device memory for argument words alone; NULL: ask GOMP_OFFLOAD_alloc.

    Not part of GCC's interface.
    """
    cdef Device *d = device_of(n)
    return block_taken(take_words(d, size), size) if d != NULL and enter_context(d) else NULL


cdef public c_bool GOMP_OFFLOAD_free(int n, void *address) noexcept nogil:
    cdef Device *d = device_of(n)
    cdef GoaccThread *thread
    if d == NULL or not give_block(d, <CUdeviceptr> <uintptr_t> address):
        return False
    thread = profiled()
    if thread != NULL:
        profile_data(thread, acc_device_api_cuda, acc_ev_free, <uintptr_t> address, NULL, <size_t> -1)
    return True


cdef public void *gompy_alloc_common(int n, size_t size, int managed) noexcept nogil:
    """Memory that the host and the GPU reach at the same address: page-locked, or managed by the driver.

    Not part of GCC's interface.
    """
    cdef Device *d = device_of(n)
    cdef CUdeviceptr address = 0
    cdef void *memory = NULL
    if d == NULL or not enter_context(d) or (cuda.mem_managed == NULL if managed else cuda.host_alloc == NULL):
        return NULL
    if managed:
        if call_failed(cuda.mem_managed(&address, max(size, <size_t> 1), CU_MEM_ATTACH_GLOBAL), b"cuMemAllocManaged"):
            return NULL
        return <void *> <uintptr_t> address
    if call_failed(cuda.host_alloc(&memory, max(size, <size_t> 1),
                                   CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP), b"cuMemHostAlloc"):
        return NULL
    return memory


cdef public c_bool gompy_free_common(int n, void *address, int managed) noexcept nogil:
    """Give it back.  Not part of GCC's interface."""
    cdef Device *d = device_of(n)
    if d == NULL or not enter_context(d):
        return False
    if managed:
        return not call_failed(free_now(d, <CUdeviceptr> <uintptr_t> address), b"cuMemFree")
    return not call_failed(cuda.host_free(address), b"cuMemFreeHost")


cdef public c_bool GOMP_OFFLOAD_host2dev(int n, void *target, const void *source, size_t size) noexcept nogil:
    return host_to_device(n, <CUdeviceptr> <uintptr_t> target, source, size, NULL, True)


cdef public c_bool GOMP_OFFLOAD_dev2host(int n, void *target, const void *source, size_t size) noexcept nogil:
    return device_to_host(n, target, <CUdeviceptr> <uintptr_t> source, size, NULL, True)


cdef public c_bool GOMP_OFFLOAD_dev2dev(int n, void *target, const void *source, size_t size) noexcept nogil:
    return device_to_device(n, <CUdeviceptr> <uintptr_t> target, <CUdeviceptr> <uintptr_t> source, size, NULL)


cdef public c_bool GOMP_OFFLOAD_memset(int n, void *target, int value, size_t size) noexcept nogil:
    """libgomp 16 asks for it."""
    return fill_device(n, <CUdeviceptr> <uintptr_t> target, value, size)


cdef public int GOMP_OFFLOAD_is_accessible_ptr(int n, const void *p, size_t size) noexcept nogil:
    """1 if a range lies in a block of the device's memory.  Of GCC 16."""
    return is_device_memory(n, <CUdeviceptr> <uintptr_t> p, size)


cdef public size_t gompy_guard_step(int n) noexcept nogil:
    """The size and alignment of what gompy_guard can close: bytes of the emulated driver's memory, if GOMPY_CHECK asks
    for it, else 0.  Not part of GCC's interface."""
    return 1 if cuda.close_gap != NULL and cuda.close_gap(0, 0) == CUDA_SUCCESS else 0


cdef public c_bool gompy_guard(int n, uintptr_t start, size_t size) noexcept nogil:
    """Close a part of a block until it is freed.  Not part of GCC's interface."""
    return cuda.close_gap != NULL and cuda.close_gap(start, size) == CUDA_SUCCESS


cdef public c_bool gompy_mark_stale(int n, uintptr_t start, unsigned char *stale, size_t size) noexcept nogil:
    """Have regions that read bytes told of which the host has changed its own copy.  False: the driver cannot.

    Not part of GCC's interface.
    """
    return cuda.mark_stale != NULL and cuda.stale_left != NULL and enter_context(devices[n]) and \
        cuda.mark_stale(start, stale, size) == CUDA_SUCCESS


cdef public c_bool gompy_stale_left(int n, uintptr_t start, unsigned char *stale, size_t size) noexcept nogil:
    """Clear those of the bytes that a region has written since.  Not part of GCC's interface."""
    return cuda.stale_left(start, stale, size) == CUDA_SUCCESS


cdef public c_bool gompy_find_unset(int n, uintptr_t start, unsigned char *unset, size_t size) noexcept nogil:
    """Mark those bytes of the device's memory that nothing has written.  False: the driver does not know.

    Not part of GCC's interface.
    """
    return cuda.find_unset != NULL and cuda.find_unset(start, unset, size) == CUDA_SUCCESS


cdef public c_bool gompy_hold_memory(int n, int on) noexcept nogil:
    """A construct of the program's begins, or ends: between them the driver need not close the memory to the program.

    Whether regions have the program's own memory in copies alone.  Not part of GCC's interface.
    """
    return cuda.hold_gate != NULL and cuda.hold_gate(on) == CUDA_SUCCESS


cdef public c_bool gompy_use_memory(int n, uintptr_t start, size_t size,
                                    void (*use)(const void *, size_t, void *) noexcept nogil,
                                    void *data) noexcept nogil:
    """Call a function with the device's memory.  False, without an effect: it cannot be had.

    Not part of GCC's interface.
    """
    return cuda.use_memory != NULL and cuda.use_memory(start, size, use, data) == CUDA_SUCCESS


cdef public uint64_t gompy_check_spent(int n) noexcept nogil:
    """Nanoseconds that checks have taken of the device's time, as far as the driver knows.

    Not part of GCC's interface.
    """
    cdef uint64_t spent = 0
    if cuda.looks_time == NULL or cuda.looks_time(&spent, devices[n].handle) != CUDA_SUCCESS:
        return 0
    return spent


cdef public void gompy_check_less(int n, int less) noexcept nogil:
    """There is no time for kernels to look at what they access, but for new ones, or there is again.

    Not part of GCC's interface.
    """
    if cuda.rest_looks != NULL:
        cuda.rest_looks(less)


cdef public void GOMP_OFFLOAD_run(int n, void *function, void *variables, void **args) noexcept nogil:
    """Of a kernel by clang the variables are a KernelLaunch."""
    if (<Function *> function).mode:
        run_clang_kernel(n, <Function *> function, <const KernelLaunch *> variables)
    else:
        run_region(n, <Function *> function, variables, args)


cdef public void GOMP_OFFLOAD_openacc_exec(void *function, size_t mapnum, void **hosts, void **devs, unsigned *dims,
                                           void *mapping) noexcept nogil:
    run_construct(<Function *> function, mapnum, hosts, devs, dims)


cdef public void GOMP_OFFLOAD_openacc_async_exec(void *function, size_t mapnum, void **hosts, void **devs,
                                                 unsigned *dims, void *mapping, void *queue) noexcept nogil:
    queue_construct(<Queue *> queue, <Function *> function, mapnum, hosts, devs, dims)


cdef public void *GOMP_OFFLOAD_openacc_create_thread_data(int n) noexcept nogil:
    """A thread begins to use a device.  A context that the program has made current stays so for its own calls."""
    cdef Device *d = device_of(n)
    cdef ThreadData *data = <ThreadData *> GOMP_PLUGIN_malloc(sizeof(ThreadData))
    cdef CUcontext current = NULL
    data.device = d
    if d != NULL:
        must_succeed(cuda.ctx_current(&current), b"cuCtxGetCurrent")
        if current == NULL:
            enter_context(d)
    return data


cdef public void GOMP_OFFLOAD_openacc_destroy_thread_data(void *data) noexcept nogil:
    free(data)


cdef public void *GOMP_OFFLOAD_openacc_cuda_get_current_device() noexcept nogil:
    """A pointer to the CUdevice, as GCC's plugin gives it."""
    cdef Device *d = thread_device()
    return &d.handle if d != NULL else NULL


cdef public void *GOMP_OFFLOAD_openacc_cuda_get_current_context() noexcept nogil:
    cdef Device *d = thread_device()
    return d.context if d != NULL else NULL


cdef public void *GOMP_OFFLOAD_openacc_cuda_get_stream(void *queue) noexcept nogil:
    return (<Queue *> queue).stream


cdef public int GOMP_OFFLOAD_openacc_cuda_set_stream(void *queue, void *stream) noexcept nogil:
    return set_stream(<Queue *> queue, stream)


cdef public void *GOMP_OFFLOAD_openacc_async_construct(int n) noexcept nogil:
    return new_queue(n)


cdef public c_bool GOMP_OFFLOAD_openacc_async_destruct(void *queue) noexcept nogil:
    return delete_queue(<Queue *> queue)


cdef public int GOMP_OFFLOAD_openacc_async_test(void *queue) noexcept nogil:
    return test_queue(<Queue *> queue)


cdef public c_bool GOMP_OFFLOAD_openacc_async_synchronize(void *queue) noexcept nogil:
    return wait_for(<Queue *> queue)


cdef public c_bool GOMP_OFFLOAD_openacc_async_serialize(void *first, void *then) noexcept nogil:
    return serialize_queues(<Queue *> first, <Queue *> then)


cdef public void GOMP_OFFLOAD_openacc_async_queue_callback(void *queue, void (*function)(void *) noexcept nogil,
                                                           void *data) noexcept nogil:
    queue_callback(<Queue *> queue, function, data)


cdef public c_bool GOMP_OFFLOAD_openacc_async_dev2dev(int n, void *target, const void *source, size_t size,
                                                      void *queue) noexcept nogil:
    """libgomp 16 asks for it."""
    return device_to_device(n, <CUdeviceptr> <uintptr_t> target, <CUdeviceptr> <uintptr_t> source, size,
                            (<Queue *> queue).stream)


cdef public c_bool GOMP_OFFLOAD_openacc_async_host2dev(int n, void *target, const void *source, size_t size,
                                                       void *queue) noexcept nogil:
    return host_to_device(n, <CUdeviceptr> <uintptr_t> target, source, size, (<Queue *> queue).stream, False)


cdef public c_bool GOMP_OFFLOAD_openacc_async_dev2host(int n, void *target, const void *source, size_t size,
                                                       void *queue) noexcept nogil:
    return device_to_host(n, target, <CUdeviceptr> <uintptr_t> source, size, (<Queue *> queue).stream, False)


cdef public size_t GOMP_OFFLOAD_openacc_get_property(int n, int property) noexcept nogil:
    """A union of a size and a pointer."""
    return device_property(n, property)
