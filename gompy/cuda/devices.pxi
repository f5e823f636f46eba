# The emulated GPUs: how many, of which architecture and size, and what they answer about themselves.

cdef enum:
    MAX_GPUS = 16
    CHUNK = 1 << 21                # pages are opened so many bytes at a time
    VIRTUAL_SHIFT = 40             # most addresses for cuMemAddressReserve where the device has less memory: 1 TiB
    HEAP_SPACE_SHIFT = 32          # addresses reserved for the heap of device code: 4 GiB

cdef struct context            # contexts.pxi
cdef struct pool               # pools.pxi

cdef struct gpu:
    int ordinal
    int arch                   # 80: sm_80
    int processors             # SMs
    uint64_t base, window      # all its addresses
    uint64_t bytes             # size of its memory
    uint64_t heap_limit
    bint used                  # there has been a context
    bint heap_begun            # device code has called malloc since the last context began
    area memory
    gompy_kept shared_file     # pages of memory that other processes may open (sharing.pxi)
    uint8_t *shared_pages      # which: a byte for each, or NULL
    area pinned
    area heap
    area virtual               # of cuMemAddressReserve
    block *reservations        # a list by `left`
    area store                 # places in the file of cuMemCreate's memory (physical.pxi)
    gompy_kept store_file
    bint store_begun
    ptx_memory view            # the executor's
    context *primary
    unsigned primary_users
    unsigned primary_flags
    pool *default_pool
    pool *present_pool         # cuDeviceSetMemPool
    uint64_t graph_used_high, graph_reserved_high  # bytes of graphs' memory
    uint64_t launches          # kernels that were run
    uint64_t warnings          # lines about kernels, with GOMPY_CHECK
    uint64_t copied_in, copied_out
    uint64_t check_ns          # that checks have taken, as far as it is measured (looks.pxi)

cdef gpu gpus[MAX_GPUS]
cdef int gpu_count
cdef int visible[MAX_GPUS]
cdef int visible_count
cdef unsigned checking         # GOMPY_CHECK: CHECK_..., 0: none
cdef bint checking_leaks       # GOMPY_CHECK has `leak`
cdef bint looks_rest           # kernels may run without looks at what they access (looks.pxi); as the next:
cdef uint32_t blind_kernels    # those that do; guarded by memory_lock
cdef bint initialised
cdef bint forked
cdef int init_answer
cdef int driver_version         # GOMPY_CUDA_VERSION, after cuInit
cdef uint32_t order_seed        # GOMPY_CUDA_SEED
cdef uint64_t wanted_address    # GOMPY_CUDA_ADDRESS, of the first device; 0: anywhere
cdef int host_processors       # that this process may use
cdef uint32_t streams_made     # so far: a stream's number
cdef uint32_t devices_used       # on which contexts have been made
cdef bint peers_denied         # GOMPY_CUDA_PEERS=0
cdef bint side_by_side         # the devices' windows are one row of addresses


cdef inline bint memory_guarded() noexcept nogil:
    """Whether memory is closed and freed memory kept, for checks of what is accessed: not for races alone."""
    return checking & ~<unsigned>PTX_CHECK_RACE != 0


cdef void note_check_time(gpu *g, uint64_t ns) noexcept nogil:
    """What a device has done for that long was for the checks."""
    add64(&g.check_ns, ns, RELAXED)


cdef inline gpu *visible_device(int number) noexcept nogil:
    """A visible device, or NULL."""
    return &gpus[visible[number]] if 0 <= number < visible_count else NULL


cdef int device_number(gpu *g) noexcept nogil:
    """A device's CUdevice."""
    cdef int i
    for i in range(visible_count):
        if &gpus[visible[i]] == g:
            return i
    return -1


cdef inline uint32_t reader_bit(const gpu *g) noexcept nogil:
    """A device's bit in sets of devices (peers.pxi)."""
    return <uint32_t>1 << g.ordinal


cdef inline int gpu_slot(int ordinal) noexcept nogil:
    """A GPU's place on its PCI bus."""
    return ordinal + 1


cdef void name_gpu(gpu *g, char *to, size_t size) noexcept nogil:
    """A GPU's name, cut to the buffer."""
    snprintf(to, size, b"gompy emulated GPU (sm_%d)", g.arch)


cdef void write_uuid(int ordinal, uint8_t *to) noexcept nogil:
    """16 bytes: "gompy emulated", then the ordinal."""
    memcpy(to, b"gompy emulated", 14)
    to[14] = 0
    to[15] = ordinal


cdef int threads_per_processor(gpu *g) noexcept nogil:
    """MAX_THREADS_PER_MULTIPROCESSOR, by architecture (CUDA programming guide, technical specifications)."""
    if g.arch == 75:
        return 1024
    if g.arch in (86, 87, 89) or g.arch >= 120:
        return 1536
    return 2048


cdef gpu *gpu_of(uint64_t address) noexcept nogil:
    """The device whose window an address lies in, or NULL."""
    cdef int i
    for i in range(gpu_count):
        if address - gpus[i].base < gpus[i].window:
            return &gpus[i]
    return NULL


cdef int device_attribute(gpu *g, int which, int *value) noexcept nogil:
    """cuDeviceGetAttribute for those that differ between devices; the rest is a table (numbers.h)."""
    if which == CU_DEVICE_ATTRIBUTE_CLOCK_RATE:  # kHz
        value[0] = 1000000
    elif which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        value[0] = g.processors
    elif which == CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
        value[0] = gpu_slot(g.ordinal)
    elif which == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
        value[0] = threads_per_processor(g)
    elif which == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
        value[0] = cuda_shared_size(g.arch).processor * 1024
    elif which == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
        value[0] = cuda_shared_size(g.arch).block * 1024
    elif which == CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
        value[0] = cuda_reserved_shared(g.arch)
    elif which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        value[0] = g.arch / 10
    elif which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        value[0] = g.arch % 10
    elif which == CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID:
        value[0] = g.ordinal
    elif not cuda_constant_attribute(which, value):
        if which < 1 or which > LAST_ATTRIBUTE:
            return CUDA_ERROR_INVALID_VALUE
        value[0] = 0
    return CUDA_SUCCESS
