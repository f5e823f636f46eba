# CUDA's launches by clang's -foffload-via-llvm (LLVM 20: offload/libomptarget/KernelLanguage/API.cpp): the sizes
# between <<< and >>> are kept until the stub of the kernel takes them, which launches it on the first GPU.

cdef extern from *:
    """
    struct tgt_dim3 { unsigned x, y, z; };
    struct tgt_sizes { struct tgt_dim3 grid, block; size_t shared; void *stream; };
    static __thread struct tgt_sizes tgt_sizes;
    """
    ctypedef struct TgtDim3 "struct tgt_dim3":
        unsigned x
        unsigned y
        unsigned z
    ctypedef struct TgtSizes "struct tgt_sizes":
        TgtDim3 grid
        TgtDim3 block
        size_t shared
        void *stream
    TgtSizes tgt_sizes

cdef struct TgtCudaWords:
    # A kernel's parameters, laid out as the device wants them.
    size_t size
    void *data
    void **each

cdef enum:
    NOT_LAUNCHED = 1


cdef public unsigned tgt_push_sizes "gompy_llvm___llvmPushCallConfiguration"(
        TgtDim3 grid, TgtDim3 block, size_t shared, void *stream) noexcept nogil:
    """Keep what stands between <<< and >>>.  0: the kernel's stub is to be called."""
    tgt_sizes.grid = grid
    tgt_sizes.block = block
    tgt_sizes.shared = shared
    tgt_sizes.stream = stream
    return 0


cdef public unsigned tgt_pop_sizes "gompy_llvm___llvmPopCallConfiguration"(
        TgtDim3 *grid, TgtDim3 *block, size_t *shared, void **stream) noexcept nogil:
    """Give it back."""
    grid[0] = tgt_sizes.grid
    block[0] = tgt_sizes.block
    shared[0] = tgt_sizes.shared
    stream[0] = tgt_sizes.stream
    return 0


cdef void set_sizes(KernelLaunch *shape, const TgtDim3 *grid, const TgtDim3 *block) noexcept nogil:
    shape.grid[0] = max(grid.x, 1)
    shape.grid[1] = max(grid.y, 1)
    shape.grid[2] = max(grid.z, 1)
    shape.block[0] = max(block.x, 1)
    shape.block[1] = max(block.y, 1)
    shape.block[2] = max(block.z, 1)
    shape.teams = <int> shape.grid[0]
    shape.threads = <int> shape.block[0]


cdef DeviceDescr *first_gpu() noexcept nogil:
    """The first GPU, ready for use; NULL: there is none.  LLVM takes device 0, which may be of another kind."""
    cdef int i
    for i in range(get_num_devices()):
        if devices[i].type == GOMP_DEVICE_NVIDIA_PTX:
            return tgt_device(i, NULL)
    return NULL


cdef public unsigned tgt_launch_cuda "gompy_llvm_llvmLaunchKernel"(
        const void *stub, TgtDim3 grid, TgtDim3 block, TgtCudaWords *words, size_t shared,
        void *stream) noexcept nogil:
    """Launch a CUDA kernel and wait for its end.  0; 1, after a line, if it has not run: the host has no version of it.
    """
    cdef Construct construct
    cdef TgtLaunch l
    cdef DeviceDescr *dev = first_gpu()
    cdef uintptr_t kernel = find_function(dev, <uintptr_t> stub) if dev != NULL else 0
    if kernel == 0:
        gompy_note(b"a CUDA kernel has not run: %s",
                   <const char *> (b"there is no GPU" if dev == NULL else b"no image for the GPU has it"))
        return NOT_LAUNCHED
    memset(&l, 0, sizeof(l))
    l.dev = dev
    set_sizes(&l.shape, &grid, &block)
    l.shape.shared = <unsigned> shared
    l.shape.size = words.size
    l.shape.words = <const uint64_t *> words.data
    enter_construct(&construct, b"CUDA kernel", call_site(), stub, dev)
    construct.teams = l.shape.grid[0]
    run_shaped(&l, kernel, stub, NULL)
    leave_construct(&construct, dev)
    return 0
