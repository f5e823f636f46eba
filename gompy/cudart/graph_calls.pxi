# Graphs: what is not handed to the driver as it is (PASSED in gompy/abi/cudart_calls.py), and copies of cuboids, which
# nodes and calls describe in one way.

cdef int current_context(void **to) noexcept nogil:
    """The context that nodes are of; cudaErrorNotSupported if the driver has no graphs."""
    cdef int r = enter_device()
    if r == CUDA_SUCCESS and driver_graphs.add_fill == NULL:
        r = cudaErrorNotSupported
    return driver.context_current(to) if r == CUDA_SUCCESS else r


cdef int describe_cuboid(const cuboid *p, CUDA_MEMCPY3D *to) noexcept nogil:
    """The driver's record.  Where an array takes part the width is in its elements, and so are places in arrays."""
    cdef size_t element = 1, of_element = 1, to_element = 1
    if p == NULL:
        return cudaErrorInvalidValue
    memset(to, 0, sizeof(CUDA_MEMCPY3D))
    if not sides_of(p.kind, &to.dstMemoryType, &to.srcMemoryType):
        return cudaErrorInvalidMemcpyDirection
    to.srcHost, to.srcDevice = p.from_memory.ptr, <CUdeviceptr> p.from_memory.ptr
    to.srcXInBytes, to.srcY, to.srcZ = p.from_place.x, p.from_place.y, p.from_place.z
    to.srcPitch, to.srcHeight = p.from_memory.pitch, p.from_memory.ysize
    to.dstHost, to.dstDevice = p.to.ptr, <CUdeviceptr> p.to.ptr
    to.dstXInBytes, to.dstY, to.dstZ = p.to_place.x, p.to_place.y, p.to_place.z
    to.dstPitch, to.dstHeight = p.to.pitch, p.to.ysize
    to.WidthInBytes, to.Height, to.Depth = p.size.width, p.size.height, p.size.depth
    if p.from_array != NULL:
        if not element_bytes(p.from_array, &of_element):
            return cudaErrorInvalidResourceHandle
        to.srcMemoryType, to.srcArray, element = CU_MEMORYTYPE_ARRAY, p.from_array, of_element
        to.srcXInBytes *= element
    if p.to_array != NULL:
        if not element_bytes(p.to_array, &to_element):
            return cudaErrorInvalidResourceHandle
        to.dstMemoryType, to.dstArray, element = CU_MEMORYTYPE_ARRAY, p.to_array, to_element
        to.dstXInBytes *= element
    to.WidthInBytes *= element
    return CUDA_SUCCESS


cdef int describe_line(void *to, const void *origin, size_t size, int kind, CUDA_MEMCPY3D *c) noexcept nogil:
    """A copy of consecutive bytes as a cuboid."""
    memset(c, 0, sizeof(CUDA_MEMCPY3D))
    if not sides_of(kind, &c.dstMemoryType, &c.srcMemoryType):
        return cudaErrorInvalidMemcpyDirection
    c.srcHost, c.srcDevice = origin, <CUdeviceptr> origin
    c.dstHost, c.dstDevice = to, <CUdeviceptr> to
    c.WidthInBytes, c.Height, c.Depth = size, 1, 1
    return CUDA_SUCCESS


cdef public int cudaMemcpy3D(const cuboid *p) noexcept nogil:
    """A copy of a cuboid."""
    cdef CUDA_MEMCPY3D c
    cdef void *context = NULL
    cdef int r = current_context(&context)
    if r == CUDA_SUCCESS:
        r = describe_cuboid(p, &c)
    return note_error(driver_graphs.copy_now(&c) if r == CUDA_SUCCESS else r)


cdef public int cudaMemcpy3DAsync(const cuboid *p, void *stream) noexcept nogil:
    """The same in a stream."""
    cdef CUDA_MEMCPY3D c
    cdef void *context = NULL
    cdef int r = current_context(&context)
    if r == CUDA_SUCCESS:
        r = describe_cuboid(p, &c)
    return note_error(driver_graphs.copy_later(&c, stream) if r == CUDA_SUCCESS else r)


cdef int copy_between(const peer_cuboid *p, void *stream, bint later) noexcept nogil:
    """A copy of a cuboid between devices."""
    cdef CUDA_MEMCPY3D c
    cdef cuboid of
    cdef void *one = NULL
    cdef void *other = NULL
    cdef int r = cudaErrorInvalidValue if p == NULL else two_contexts(p.to_device, p.from_device, &one, &other)
    if r == CUDA_SUCCESS and driver_graphs.copy_peer_now == NULL:
        r = cudaErrorNotSupported
    if r == CUDA_SUCCESS:
        of.from_array, of.from_place, of.from_memory = p.from_array, p.from_place, p.from_memory
        of.to_array, of.to_place, of.to, of.size = p.to_array, p.to_place, p.to, p.size
        of.kind = cudaMemcpyDeviceToDevice
        r = describe_cuboid(&of, &c)
    if r == CUDA_SUCCESS:
        c.reserved0, c.reserved1 = other, one
        r = driver_graphs.copy_peer_later(&c, stream) if later else driver_graphs.copy_peer_now(&c)
    return note_error(r)


cdef public int cudaMemcpy3DPeer(const peer_cuboid *p) noexcept nogil:
    """A copy of a cuboid between devices."""
    return copy_between(p, NULL, False)


cdef public int cudaMemcpy3DPeerAsync(const peer_cuboid *p, void *stream) noexcept nogil:
    """The same in a stream."""
    return copy_between(p, stream, True)


cdef int describe_kernel(const kernel_node *p, kernel_node *to) noexcept nogil:
    """With the driver's function in the place of the kernel's address."""
    cdef void *context = NULL
    cdef int r = current_context(&context)
    if r == CUDA_SUCCESS and p == NULL:
        r = cudaErrorInvalidValue
    if r != CUDA_SUCCESS:
        return r
    to[0] = p[0]
    return load_function(p.function, &to.function)


cdef public int cudaGraphAddKernelNode(void **to, void *graph, const void *before, size_t count,
                                       const kernel_node *p) noexcept nogil:
    """A launch."""
    cdef kernel_node k
    cdef int r = describe_kernel(p, &k)
    return note_error(driver_graphs.add_kernel(to, graph, before, count, &k) if r == CUDA_SUCCESS else r)


cdef public int cudaGraphKernelNodeSetParams(void *node, const kernel_node *p) noexcept nogil:
    """Another launch."""
    cdef kernel_node k
    cdef int r = describe_kernel(p, &k)
    return note_error(driver_graphs.set_kernel(node, &k) if r == CUDA_SUCCESS else r)


cdef public int cudaGraphExecKernelNodeSetParams(void *graph, void *node, const kernel_node *p) noexcept nogil:
    """Another launch, in an executable graph."""
    cdef kernel_node k
    cdef int r = describe_kernel(p, &k)
    return note_error(driver_graphs.exec_kernel(graph, node, &k) if r == CUDA_SUCCESS else r)


cdef public int cudaGraphKernelNodeGetParams(void *node, kernel_node *to) noexcept nogil:
    """A launch, with the kernel's address; the driver's function if it is none of this library's."""
    cdef void *context = NULL
    cdef const void *host
    cdef int r = current_context(&context)
    if r == CUDA_SUCCESS:
        r = driver_graphs.get_kernel(node, to)
    if r == CUDA_SUCCESS:
        host = host_of_function(to.function)
        if host != NULL:
            to.function = <void *> host
    return note_error(r)


cdef int add_copy(void **to, void *graph, const void *before, size_t count, const CUDA_MEMCPY3D *c,
                  int r) noexcept nogil:
    """A node of a copy, if it was described well."""
    cdef void *context = NULL
    if r == CUDA_SUCCESS:
        r = current_context(&context)
    return note_error(driver_graphs.add_copy(to, graph, before, count, c, context) if r == CUDA_SUCCESS else r)


cdef public int cudaGraphAddMemcpyNode(void **to, void *graph, const void *before, size_t count,
                                       const cuboid *p) noexcept nogil:
    """A copy."""
    cdef CUDA_MEMCPY3D c
    return add_copy(to, graph, before, count, &c, describe_cuboid(p, &c))


cdef public int cudaGraphAddMemcpyNode1D(void **to, void *graph, const void *before, size_t count, void *target,
                                         const void *origin, size_t size, int kind) noexcept nogil:
    """A copy of consecutive bytes."""
    cdef CUDA_MEMCPY3D c
    return add_copy(to, graph, before, count, &c, describe_line(target, origin, size, kind, &c))


cdef public int cudaGraphAddMemcpyNodeToSymbol(void **to, void *graph, const void *before, size_t count,
                                               const void *host, const void *origin, size_t size, size_t offset,
                                               int kind) noexcept nogil:
    """A copy to a variable."""
    cdef CUDA_MEMCPY3D c
    cdef CUdeviceptr at = 0
    cdef int r = symbol_place(host, offset, size, &at)
    if r == CUDA_SUCCESS:
        r = describe_line(<void *> at, origin, size, kind, &c)
    return add_copy(to, graph, before, count, &c, r)


cdef public int cudaGraphAddMemcpyNodeFromSymbol(void **to, void *graph, const void *before, size_t count,
                                                 void *target, const void *host, size_t size, size_t offset,
                                                 int kind) noexcept nogil:
    """A copy of a variable."""
    cdef CUDA_MEMCPY3D c
    cdef CUdeviceptr at = 0
    cdef int r = symbol_place(host, offset, size, &at)
    if r == CUDA_SUCCESS:
        r = describe_line(target, <void *> at, size, kind, &c)
    return add_copy(to, graph, before, count, &c, r)


cdef int set_copy(void *graph, void *node, const CUDA_MEMCPY3D *c, int r) noexcept nogil:
    """Another copy: in an executable graph, or in none (NULL)."""
    cdef void *context = NULL
    if r == CUDA_SUCCESS:
        r = current_context(&context)
    if r == CUDA_SUCCESS and graph == NULL:
        r = driver_graphs.set_copy(node, c)
    elif r == CUDA_SUCCESS:
        r = driver_graphs.exec_copy(graph, node, c, context)
    return note_error(r)


cdef public int cudaGraphMemcpyNodeSetParams(void *node, const cuboid *p) noexcept nogil:
    """Another copy."""
    cdef CUDA_MEMCPY3D c
    return set_copy(NULL, node, &c, describe_cuboid(p, &c))


cdef public int cudaGraphMemcpyNodeSetParams1D(void *node, void *target, const void *origin, size_t size,
                                               int kind) noexcept nogil:
    """A copy of other bytes."""
    cdef CUDA_MEMCPY3D c
    return set_copy(NULL, node, &c, describe_line(target, origin, size, kind, &c))


cdef public int cudaGraphExecMemcpyNodeSetParams(void *graph, void *node, const cuboid *p) noexcept nogil:
    """Another copy, in an executable graph."""
    cdef CUDA_MEMCPY3D c
    cdef int r = describe_cuboid(p, &c)
    return set_copy(graph, node, &c, r if graph != NULL else cudaErrorInvalidValue)


cdef public int cudaGraphExecMemcpyNodeSetParams1D(void *graph, void *node, void *target, const void *origin,
                                                   size_t size, int kind) noexcept nogil:
    """A copy of other bytes, in an executable graph."""
    cdef CUDA_MEMCPY3D c
    cdef int r = describe_line(target, origin, size, kind, &c)
    return set_copy(graph, node, &c, r if graph != NULL else cudaErrorInvalidValue)


cdef public int cudaGraphMemcpyNodeGetParams(void *node, cuboid *to) noexcept nogil:
    """A copy; cudaMemcpyDefault where the addresses tell what it is."""
    cdef CUDA_MEMCPY3D c
    cdef void *context = NULL
    cdef bint in_host, out_host
    cdef int r = current_context(&context)
    if r == CUDA_SUCCESS and to == NULL:
        r = cudaErrorInvalidValue
    if r == CUDA_SUCCESS:
        r = driver_graphs.get_copy(node, &c)
    if r != CUDA_SUCCESS:
        return note_error(r)
    in_host, out_host = c.srcMemoryType == CU_MEMORYTYPE_HOST, c.dstMemoryType == CU_MEMORYTYPE_HOST
    memset(to, 0, sizeof(cuboid))
    to.from_memory.ptr = <void *> c.srcHost if in_host else <void *> c.srcDevice
    to.from_memory.pitch, to.from_memory.ysize, to.from_memory.xsize = c.srcPitch, c.srcHeight, c.srcPitch
    to.from_place.x, to.from_place.y, to.from_place.z = c.srcXInBytes, c.srcY, c.srcZ
    to.to.ptr = c.dstHost if out_host else <void *> c.dstDevice
    to.to.pitch, to.to.ysize, to.to.xsize = c.dstPitch, c.dstHeight, c.dstPitch
    to.to_place.x, to.to_place.y, to.to_place.z = c.dstXInBytes, c.dstY, c.dstZ
    to.size.width, to.size.height, to.size.depth = c.WidthInBytes, c.Height, c.Depth
    if c.srcMemoryType == CU_MEMORYTYPE_UNIFIED or c.dstMemoryType == CU_MEMORYTYPE_UNIFIED:
        to.kind = cudaMemcpyDefault
    elif in_host:
        to.kind = cudaMemcpyHostToHost if out_host else cudaMemcpyHostToDevice
    else:
        to.kind = cudaMemcpyDeviceToHost if out_host else cudaMemcpyDeviceToDevice
    return CUDA_SUCCESS


cdef public int cudaGraphAddMemsetNode(void **to, void *graph, const void *before, size_t count,
                                       const void *p) noexcept nogil:
    """A fill: the driver's record."""
    cdef void *context = NULL
    cdef int r = current_context(&context)
    return note_error(driver_graphs.add_fill(to, graph, before, count, p, context) if r == CUDA_SUCCESS else r)


cdef public int cudaGraphExecMemsetNodeSetParams(void *graph, void *node, const void *p) noexcept nogil:
    """Another fill, in an executable graph."""
    cdef void *context = NULL
    cdef int r = current_context(&context)
    return note_error(driver_graphs.exec_fill(graph, node, p, context) if r == CUDA_SUCCESS else r)


cdef public int cudaGraphAddNode(void **to, void *graph, const void *before, size_t count, any_node *p) noexcept nogil:
    """A node of any kind: kernels, copies and fills are the runtime's, the others the driver's."""
    cdef int r = enter_device()
    if r == CUDA_SUCCESS and p == NULL:
        r = cudaErrorInvalidValue
    if r == CUDA_SUCCESS and driver_graphs.add_any == NULL:
        r = cudaErrorNotSupported
    if r != CUDA_SUCCESS:
        return note_error(r)
    if p.kind == cudaGraphNodeTypeKernel:
        return cudaGraphAddKernelNode(to, graph, before, count, &p.kernel)
    if p.kind == cudaGraphNodeTypeMemcpy:
        return cudaGraphAddMemcpyNode(to, graph, before, count, &p.copy.copy)
    if p.kind == cudaGraphNodeTypeMemset:
        return cudaGraphAddMemsetNode(to, graph, before, count, p.fill)
    return note_error(driver_graphs.add_any(to, graph, before, count, p))


cdef public int cudaGraphConditionalHandleCreate(uint64_t *to, void *graph, unsigned first,
                                                 unsigned flags) noexcept nogil:
    """A word for a conditional node, which kernels set."""
    cdef void *context = NULL
    cdef int r = current_context(&context)
    if r == CUDA_SUCCESS and driver_graphs.condition == NULL:
        r = cudaErrorNotSupported
    return note_error(driver_graphs.condition(to, graph, context, first, flags) if r == CUDA_SUCCESS else r)
