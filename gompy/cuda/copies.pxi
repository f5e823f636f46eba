# Copying and filling memory.
#
# As the API promises ("API synchronization behavior"): copies without Async return when they are done.  Async copies
# between device memory and pinned host memory return at once; from pageable host memory they return when the source has
# been read (up to 64 KiB: into the operation), to pageable host memory when they are done.

cdef enum:
    STAGED = 65536


cdef bint is_pinned(const void *p, size_t size) noexcept nogil:
    """Whether host memory is page-locked: by cuMemHostAlloc, or registered."""
    cdef block *n
    cdef host_range *r
    cdef bint pinned
    pthread_mutex_lock(&memory_lock)
    n = block_at(<uint64_t>p, NULL, NULL)
    r = registered_at(<uint64_t>p)
    pinned = n != NULL or (r != NULL and size <= r.start + r.size - <uint64_t>p)
    pthread_mutex_unlock(&memory_lock)
    return pinned


cdef int pin_side(const void *p, size_t extent, unsigned kind, block **pinned) noexcept nogil:
    """One side of a copy: device memory, pinned and registered host memory too, must be one block's, which stays until
    the copy is done; a host address must not be null, nor the memory end behind the last address.  With memory_lock
    held."""
    cdef size_t end = 0
    if p == NULL or not fits_sum(<size_t>p, extent, &end):
        return CUDA_ERROR_INVALID_VALUE
    if kind == CU_MEMORYTYPE_DEVICE or gpu_of(<uint64_t>p) != NULL:
        return pin_or_registered(<uint64_t>p, extent, pinned)
    return CUDA_SUCCESS


cdef int pin_sides(copy_shape *shape, unsigned to_kind, unsigned of_kind, block **pins, size_t *extents) noexcept nogil:
    """Check both sides of a copy that is not empty, and keep their memory.  Both arrays: where it goes, where it comes
    from."""
    cdef int r
    pins[0] = pins[1] = NULL
    extents[0] = extents[1] = 0
    if not fits_extent(shape.width, shape.height, shape.depth, shape.to_pitch, shape.to_slice, &extents[0]):
        return CUDA_ERROR_INVALID_VALUE
    if not fits_extent(shape.width, shape.height, shape.depth, shape.of_pitch, shape.of_slice, &extents[1]):
        return CUDA_ERROR_INVALID_VALUE
    pthread_mutex_lock(&memory_lock)
    r = pin_side(shape.to, extents[0], to_kind, &pins[0])
    if r == CUDA_SUCCESS:
        r = pin_side(shape.of, extents[1], of_kind, &pins[1])
    pthread_mutex_unlock(&memory_lock)
    if r != CUDA_SUCCESS:
        unpin_block(pins[0])
    return r


cdef void count_copy(const copy_shape *shape) noexcept nogil:
    """For GOMPY_CUDA_STATS: what goes in and out of devices."""
    cdef gpu *to_gpu = gpu_of(<uint64_t>shape.to)
    cdef gpu *of_gpu = gpu_of(<uint64_t>shape.of)
    cdef size_t bytes = shape.width * shape.height * shape.depth
    if to_gpu != NULL and of_gpu == NULL:
        add64(&to_gpu.copied_in, bytes, RELAXED)
    elif of_gpu != NULL and to_gpu == NULL:
        add64(&of_gpu.copied_out, bytes, RELAXED)


cdef int copy_now_or_later(stream *s, copy_shape *shape, unsigned to_kind, unsigned of_kind, bint later) noexcept nogil:
    """Check both sides, then copy in the stream's order."""
    cdef op here
    cdef op *o
    cdef gpu *to_gpu
    cdef gpu *of_gpu
    cdef block *pins[2]
    cdef size_t extents[2]
    cdef size_t bytes
    cdef int r
    if shape.width == 0 or shape.height == 0 or shape.depth == 0:
        return CUDA_SUCCESS
    r = pin_sides(shape, to_kind, of_kind, pins, extents)
    if r != CUDA_SUCCESS:
        tell_refused_copy(shape, to_kind, of_kind, extents)
        return r
    bytes = shape.width * shape.height * shape.depth  # lines do not overlap: less than the extents, which fit
    to_gpu = gpu_of(<uint64_t>shape.to)
    of_gpu = gpu_of(<uint64_t>shape.of)
    if not later and s != s.of.default_stream:
        r = refuse_unsafe()
        if r != CUDA_SUCCESS:
            unpin_block(pins[0])
            unpin_block(pins[1])
            return r
    if later and s.captured != NULL:
        o = new_op(COPY_OP, 0)
        if o == NULL:
            unpin_block(pins[0])
            unpin_block(pins[1])
            return CUDA_ERROR_OUT_OF_MEMORY
        o.pins[0], o.pins[1] = pins[0], pins[1]
        o.copy = shape[0]
        return submit_op(s, o)
    if not is_there(shape.to, extents[0], True, shape) or not is_there(shape.of, extents[1], False, shape):
        unpin_block(pins[0])
        unpin_block(pins[1])
        return CUDA_ERROR_INVALID_VALUE
    count_copy(shape)
    settle_sides(pins, to_gpu, of_gpu, later)
    if to_gpu == NULL and not is_pinned(shape.to, extents[0]):
        later = False
    if later and of_gpu == NULL and not is_pinned(shape.of, extents[1]):
        if bytes <= STAGED:
            o = new_op(COPY_OP, bytes)
            if o == NULL:
                unpin_block(pins[0])
                unpin_block(pins[1])
                return CUDA_ERROR_OUT_OF_MEMORY
            o.pins[0], o.pins[1] = pins[0], pins[1]
            o.copy = shape[0]
            o.copy.to = <char *>(o + 1)
            o.copy.to_pitch = shape.width
            o.copy.to_slice = shape.width * shape.height
            copy_bytes(&o.copy)
            o.copy.of = o.copy.to
            o.copy.of_pitch = o.copy.to_pitch
            o.copy.of_slice = o.copy.to_slice
            o.copy.to, o.copy.to_pitch, o.copy.to_slice = shape.to, shape.to_pitch, shape.to_slice
            return submit_op(s, o)
        later = False
    if later:
        o = new_op(COPY_OP, 0)
        if o == NULL:
            unpin_block(pins[0])
            unpin_block(pins[1])
            return CUDA_ERROR_OUT_OF_MEMORY
        o.pins[0], o.pins[1] = pins[0], pins[1]
        o.copy = shape[0]
        return submit_op(s, o)
    memset(&here, 0, sizeof(here))
    here.kind = COPY_OP
    here.pins[0], here.pins[1] = pins[0], pins[1]
    here.copy = shape[0]
    return submit_and_wait(s, &here)


cdef int copy_line(void *queue, void *to, const void *of, size_t size, unsigned to_kind, unsigned of_kind,
                   bint later) noexcept nogil:
    """A copy of consecutive bytes."""
    cdef copy_shape shape
    cdef stream *s = NULL
    cdef int r = enter_stream(queue, &s)
    if r != CUDA_SUCCESS:
        return r
    memset(&shape, 0, sizeof(shape))
    shape.to, shape.of, shape.width = <char *>to, <const char *>of, size
    shape.height = shape.depth = 1
    return copy_now_or_later(s, &shape, to_kind, of_kind, later)


cdef public int cuMemcpyHtoD_v2(CUdeviceptr to, const void *of, size_t size) noexcept nogil:
    """Host to device."""
    return copy_line(NULL, <void *>to, of, size, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, False)


cdef public int cuMemcpyDtoH_v2(void *to, CUdeviceptr of, size_t size) noexcept nogil:
    """Device to host."""
    return copy_line(NULL, to, <void *>of, size, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE, False)


cdef public int cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr of, size_t size) noexcept nogil:
    """Device to device."""
    return copy_line(NULL, <void *>to, <void *>of, size, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE, False)


cdef public int cuMemcpy(CUdeviceptr to, CUdeviceptr of, size_t size) noexcept nogil:
    """The addresses tell which side is the device's."""
    return copy_line(NULL, <void *>to, <void *>of, size, CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED, False)


cdef public int cuMemcpyPeer(CUdeviceptr to, void *to_context, CUdeviceptr of, void *of_context,
                             size_t size) noexcept nogil:
    """From one context's device to another's."""
    if not is_handle(CONTEXT, to_context) or not is_handle(CONTEXT, of_context):
        return CUDA_ERROR_INVALID_CONTEXT
    return copy_line(NULL, <void *>to, <void *>of, size, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE, False)


cdef public int cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *of, size_t size, void *queue) noexcept nogil:
    """Host to device, in a stream's order."""
    return copy_line(queue, <void *>to, of, size, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, True)


cdef public int cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr of, size_t size, void *queue) noexcept nogil:
    """Device to host, in a stream's order."""
    return copy_line(queue, to, <void *>of, size, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE, True)


cdef public int cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr of, size_t size, void *queue) noexcept nogil:
    """Device to device, in a stream's order.  Without a current context: in the default stream of the memory's
    context."""
    cdef context *c
    if size and top_context(&c) == CUDA_ERROR_INVALID_CONTEXT and queue == NULL:
        c = context_of_memory(to)
        if c != NULL:
            queue = c.default_stream
    return copy_line(queue, <void *>to, <void *>of, size, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE, True)


cdef public int cuMemcpyAsync(CUdeviceptr to, CUdeviceptr of, size_t size, void *queue) noexcept nogil:
    """The addresses tell which side is the device's; in a stream's order."""
    return copy_line(queue, <void *>to, <void *>of, size, CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED, True)


cdef public int cuMemcpyPeerAsync(CUdeviceptr to, void *to_context, CUdeviceptr of, void *of_context, size_t size,
                                  void *queue) noexcept nogil:
    """From one context's device to another's, in a stream's order."""
    if not is_handle(CONTEXT, to_context) or not is_handle(CONTEXT, of_context):
        return CUDA_ERROR_INVALID_CONTEXT
    return copy_line(queue, <void *>to, <void *>of, size, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE, True)


cdef bint pitch_of(size_t pitch, size_t x, size_t width, size_t *to) noexcept nogil:
    """The bytes from a line to the next, 0 for lines without a gap; False for what a device cannot do."""
    cdef size_t least = 0
    if not fits_sum(x, width, &least) or (pitch and pitch < least):
        return False
    to[0] = pitch if pitch else least
    return pitch <= MAX_PITCH


cdef bint slice_of(size_t height, size_t y, size_t lines, size_t pitch, size_t *to) noexcept nogil:
    """The bytes from a slice to the next, which has so many lines, 0 for no more than are copied."""
    cdef size_t least = 0
    if not fits_sum(y, lines, &least) or (height and height < least):
        return False
    return fits_product(pitch, height if height else least, to)


cdef int open_array(void *p, unsigned *kind, CUdeviceptr *address, size_t *pitch, size_t *rows, size_t x, size_t y,
                    size_t z, size_t width, size_t height, size_t depth) noexcept nogil:
    """A side of a copy that is part of an array: from here on rows of device memory."""
    cdef array *a = <array *>p
    if kind[0] != CU_MEMORYTYPE_ARRAY:
        return CUDA_SUCCESS
    if not is_handle(ARRAY, p):
        return CUDA_ERROR_INVALID_HANDLE
    if not has_part(a, x, y, z, width, height, depth):
        return CUDA_ERROR_INVALID_VALUE
    kind[0], address[0], pitch[0], rows[0] = CU_MEMORYTYPE_DEVICE, a.address, a.pitch, rows_of(a)
    return CUDA_SUCCESS


cdef int copy_2d(void *queue, const CUDA_MEMCPY2D *given, bint later) noexcept nogil:
    """A rectangle."""
    cdef copy_shape shape
    cdef CUDA_MEMCPY2D own
    cdef CUDA_MEMCPY2D *p = &own
    cdef size_t rows = 0
    cdef stream *s = NULL
    cdef int r = enter_stream(queue, &s)
    if r != CUDA_SUCCESS:
        return r
    if given == NULL:
        return CUDA_ERROR_INVALID_VALUE
    own = given[0]
    if not 1 <= p.srcMemoryType <= 4 or not 1 <= p.dstMemoryType <= 4:
        return CUDA_ERROR_INVALID_VALUE
    r = open_array(p.srcArray, &p.srcMemoryType, &p.srcDevice, &p.srcPitch, &rows, p.srcXInBytes, p.srcY, 0,
                   p.WidthInBytes, p.Height, 1)
    if r == CUDA_SUCCESS:
        r = open_array(p.dstArray, &p.dstMemoryType, &p.dstDevice, &p.dstPitch, &rows, p.dstXInBytes, p.dstY, 0,
                       p.WidthInBytes, p.Height, 1)
    if r != CUDA_SUCCESS:
        return r
    memset(&shape, 0, sizeof(shape))
    shape.width, shape.height, shape.depth = p.WidthInBytes, p.Height, 1
    if not pitch_of(p.srcPitch, p.srcXInBytes, p.WidthInBytes, &shape.of_pitch):
        return CUDA_ERROR_INVALID_VALUE
    if not pitch_of(p.dstPitch, p.dstXInBytes, p.WidthInBytes, &shape.to_pitch):
        return CUDA_ERROR_INVALID_VALUE
    shape.of = <const char *>(p.srcHost if p.srcMemoryType == CU_MEMORYTYPE_HOST else <void *>p.srcDevice)
    shape.to = <char *>(p.dstHost if p.dstMemoryType == CU_MEMORYTYPE_HOST else <void *>p.dstDevice)
    if shape.of == NULL or shape.to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    if not fits_place(shape.of, p.srcXInBytes, p.srcY, shape.of_pitch, 0, 0, <size_t *>&shape.of):
        return CUDA_ERROR_INVALID_VALUE
    if not fits_place(shape.to, p.dstXInBytes, p.dstY, shape.to_pitch, 0, 0, <size_t *>&shape.to):
        return CUDA_ERROR_INVALID_VALUE
    return copy_now_or_later(s, &shape, p.dstMemoryType, p.srcMemoryType, later)


cdef public int cuMemcpy2D_v2(const CUDA_MEMCPY2D *p) noexcept nogil:
    """A rectangle."""
    return copy_2d(NULL, p, False)


cdef public int cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *p) noexcept nogil:
    """A rectangle of any pitch."""
    return copy_2d(NULL, p, False)


cdef public int cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *p, void *queue) noexcept nogil:
    """A rectangle, in a stream's order."""
    return copy_2d(queue, p, True)


cdef int describe_copy(const CUDA_MEMCPY3D *given, copy_shape *to) noexcept nogil:
    """A cuboid."""
    cdef copy_shape shape
    cdef CUDA_MEMCPY3D own
    cdef CUDA_MEMCPY3D *p = &own
    cdef int r
    if given == NULL:
        return CUDA_ERROR_INVALID_VALUE
    own = given[0]
    if not 1 <= p.srcMemoryType <= 4 or not 1 <= p.dstMemoryType <= 4 or p.srcLOD or p.dstLOD:
        return CUDA_ERROR_INVALID_VALUE
    r = open_array(p.srcArray, &p.srcMemoryType, &p.srcDevice, &p.srcPitch, &p.srcHeight, p.srcXInBytes, p.srcY,
                   p.srcZ, p.WidthInBytes, p.Height, p.Depth)
    if r == CUDA_SUCCESS:
        r = open_array(p.dstArray, &p.dstMemoryType, &p.dstDevice, &p.dstPitch, &p.dstHeight, p.dstXInBytes, p.dstY,
                       p.dstZ, p.WidthInBytes, p.Height, p.Depth)
    if r != CUDA_SUCCESS:
        return r
    memset(&shape, 0, sizeof(shape))
    shape.width, shape.height, shape.depth = p.WidthInBytes, p.Height, p.Depth
    if not pitch_of(p.srcPitch, p.srcXInBytes, p.WidthInBytes, &shape.of_pitch):
        return CUDA_ERROR_INVALID_VALUE
    if not pitch_of(p.dstPitch, p.dstXInBytes, p.WidthInBytes, &shape.to_pitch):
        return CUDA_ERROR_INVALID_VALUE
    if not slice_of(p.srcHeight, p.srcY, p.Height, shape.of_pitch, &shape.of_slice):
        return CUDA_ERROR_INVALID_VALUE
    if not slice_of(p.dstHeight, p.dstY, p.Height, shape.to_pitch, &shape.to_slice):
        return CUDA_ERROR_INVALID_VALUE
    shape.of = <const char *>(p.srcHost if p.srcMemoryType == CU_MEMORYTYPE_HOST else <void *>p.srcDevice)
    shape.to = <char *>(p.dstHost if p.dstMemoryType == CU_MEMORYTYPE_HOST else <void *>p.dstDevice)
    if shape.of == NULL or shape.to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    if not fits_place(shape.of, p.srcXInBytes, p.srcY, shape.of_pitch, p.srcZ, shape.of_slice, <size_t *>&shape.of):
        return CUDA_ERROR_INVALID_VALUE
    if not fits_place(shape.to, p.dstXInBytes, p.dstY, shape.to_pitch, p.dstZ, shape.to_slice, <size_t *>&shape.to):
        return CUDA_ERROR_INVALID_VALUE
    to[0] = shape
    return CUDA_SUCCESS


cdef int copy_3d(void *queue, const CUDA_MEMCPY3D *p, bint later) noexcept nogil:
    """A cuboid, now or in a stream's order."""
    cdef copy_shape shape
    cdef stream *s = NULL
    cdef int r = enter_stream(queue, &s)
    if r == CUDA_SUCCESS:
        r = describe_copy(p, &shape)
    return r if r != CUDA_SUCCESS else copy_now_or_later(s, &shape, p.dstMemoryType, p.srcMemoryType, later)


cdef public int cuMemcpy3D_v2(const CUDA_MEMCPY3D *p) noexcept nogil:
    """A cuboid."""
    return copy_3d(NULL, p, False)


cdef public int cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *p, void *queue) noexcept nogil:
    """A cuboid, in a stream's order."""
    return copy_3d(queue, p, True)


cdef int copy_peer_3d(void *queue, const CUDA_MEMCPY3D *p, bint later) noexcept nogil:
    """A cuboid from one context's device to another's: CUDA_MEMCPY3D_PEER has the contexts in the reserved words."""
    if p != NULL and p.srcMemoryType in (CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_ARRAY):
        if not is_handle(CONTEXT, p.reserved0):
            return CUDA_ERROR_INVALID_CONTEXT
    if p != NULL and p.dstMemoryType in (CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_ARRAY):
        if not is_handle(CONTEXT, p.reserved1):
            return CUDA_ERROR_INVALID_CONTEXT
    return copy_3d(queue, p, later)


cdef public int cuMemcpy3DPeer(const CUDA_MEMCPY3D *p) noexcept nogil:
    """A cuboid between devices."""
    return copy_peer_3d(NULL, p, False)


cdef public int cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D *p, void *queue) noexcept nogil:
    """A cuboid between devices, in a stream's order."""
    return copy_peer_3d(queue, p, True)


cdef int describe_fill(CUdeviceptr to, size_t pitch, uint32_t value, uint32_t unit, size_t width, size_t height,
                       fill_shape *shape, size_t *extent) noexcept nogil:
    """What is filled, and how many bytes it reaches over: 0 for nothing."""
    cdef size_t line = 0
    extent[0] = 0
    if to % unit != 0 or not fits_product(width, unit, &line) or pitch > MAX_PITCH:
        return CUDA_ERROR_INVALID_VALUE
    if height > 1 and (pitch < line or pitch % unit != 0):
        return CUDA_ERROR_INVALID_VALUE
    shape.to, shape.value, shape.unit = <char *>to, value, unit
    shape.count, shape.height, shape.pitch = width, height, pitch
    if width and height and not fits_extent(line, height, 1, pitch, 0, extent):
        return CUDA_ERROR_INVALID_VALUE
    return CUDA_SUCCESS


cdef int fill_memory(void *queue, CUdeviceptr to, size_t pitch, uint32_t value, uint32_t unit, size_t width,
                     size_t height, bint later) noexcept nogil:
    """Fill device memory, or the host's that is pinned or registered."""
    cdef op here
    cdef op *o
    cdef stream *s = NULL
    cdef block *pinned = NULL
    cdef fill_shape shape
    cdef size_t extent = 0
    cdef int r = enter_stream(queue, &s)
    if r == CUDA_SUCCESS:
        r = describe_fill(to, pitch, value, unit, width, height, &shape, &extent)
    if r == CUDA_SUCCESS and not later and s != s.of.default_stream:
        r = refuse_unsafe()
    if r != CUDA_SUCCESS or extent == 0:
        return r
    pthread_mutex_lock(&memory_lock)
    r = pin_or_registered(to, extent, &pinned)
    pthread_mutex_unlock(&memory_lock)
    if r != CUDA_SUCCESS:
        if checking & PTX_CHECK_MEMORY:
            tell_device_side(<const char *>to, extent, CU_MEMORYTYPE_DEVICE, True, b"fill", extent)
        return r
    o = new_op(FILL_OP, 0) if later else &here
    if o == NULL:
        unpin_block(pinned)
        return CUDA_ERROR_OUT_OF_MEMORY
    if not later:
        memset(o, 0, sizeof(here))
        o.kind = FILL_OP
    o.pins[0] = pinned
    o.fill = shape
    return submit_op(s, o) if later else submit_and_wait(s, o)


cdef public int cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t n) noexcept nogil:
    """Fill with bytes."""
    return fill_memory(NULL, to, 0, value, 1, n, 1, False)


cdef public int cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t n) noexcept nogil:
    """Fill with 16-bit units."""
    return fill_memory(NULL, to, 0, value, 2, n, 1, False)


cdef public int cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t n) noexcept nogil:
    """Fill with 32-bit units."""
    return fill_memory(NULL, to, 0, value, 4, n, 1, False)


cdef public int cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                                size_t height) noexcept nogil:
    """Fill a rectangle with bytes."""
    return fill_memory(NULL, to, pitch, value, 1, width, height, False)


cdef public int cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                                 size_t height) noexcept nogil:
    """Fill a rectangle with 16-bit units."""
    return fill_memory(NULL, to, pitch, value, 2, width, height, False)


cdef public int cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned value, size_t width,
                                 size_t height) noexcept nogil:
    """Fill a rectangle with 32-bit units."""
    return fill_memory(NULL, to, pitch, value, 4, width, height, False)


cdef public int cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, void *queue) noexcept nogil:
    """Fill with bytes, in a stream's order."""
    return fill_memory(queue, to, 0, value, 1, n, 1, True)


cdef public int cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t n, void *queue) noexcept nogil:
    """Fill with 16-bit units, in a stream's order."""
    return fill_memory(queue, to, 0, value, 2, n, 1, True)


cdef public int cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t n, void *queue) noexcept nogil:
    """Fill with 32-bit units, in a stream's order."""
    return fill_memory(queue, to, 0, value, 4, n, 1, True)


cdef public int cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
                                  void *queue) noexcept nogil:
    """Fill a rectangle with bytes, in a stream's order."""
    return fill_memory(queue, to, pitch, value, 1, width, height, True)


cdef public int cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
                                   void *queue) noexcept nogil:
    """Fill a rectangle with 16-bit units, in a stream's order."""
    return fill_memory(queue, to, pitch, value, 2, width, height, True)


cdef public int cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height,
                                   void *queue) noexcept nogil:
    """Fill a rectangle with 32-bit units, in a stream's order."""
    return fill_memory(queue, to, pitch, value, 4, width, height, True)
