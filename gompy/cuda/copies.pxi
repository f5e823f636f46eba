# Copying and filling memory.
#
# As the API promises ("API synchronization behavior"): copies without Async return when they are done.  Async copies
# between device memory and pinned host memory return at once; from pageable host memory they return when the source has
# been read (up to 64 KiB: into the operation), to pageable host memory when they are done.

cdef enum:
    STAGED = 65536


cdef void copy_bytes(copy_shape *c) noexcept nogil:
    """Copy lines and slices; ranges may overlap within a line."""
    cdef size_t y, z
    if c.height == 1 and c.depth == 1 and not checking:
        memmove(c.to, c.of, c.width)
        return
    for z in range(c.depth):
        for y in range(c.height):
            memmove(c.to + z * c.to_slice + y * c.to_pitch, c.of + z * c.of_slice + y * c.of_pitch, c.width)
            if checking:
                mark_copied(<uint64_t>(c.to + z * c.to_slice + y * c.to_pitch), <uint64_t>(c.of + z * c.of_slice + y * c.of_pitch), c.width)


cdef void fill_bytes(fill_shape *f) noexcept nogil:
    """Fill lines with units of 1, 2 or 4 bytes."""
    cdef size_t x, y
    cdef uint16_t *two
    cdef uint32_t *four
    for y in range(f.height):
        mark(<uint64_t>(f.to + y * f.pitch), f.count * f.unit, SHADOW_WRITTEN)
        if f.unit == 1:
            memset(f.to + y * f.pitch, f.value & 0xff, f.count)
        elif f.unit == 2:
            two = <uint16_t *>(f.to + y * f.pitch)
            for x in range(f.count):
                two[x] = <uint16_t>f.value
        else:
            four = <uint32_t *>(f.to + y * f.pitch)
            for x in range(f.count):
                four[x] = f.value


cdef bint is_pinned(const void *p, size_t size) noexcept nogil:
    """Whether host memory is page-locked: by cuMemHostAlloc, or registered."""
    cdef block *n
    cdef host_range *r
    cdef bint pinned
    pthread_mutex_lock(&memory_lock)
    n = block_at(<uint64_t>p, NULL, NULL)
    r = registered_at(<uint64_t>p)
    pinned = n != NULL or (r != NULL and <uint64_t>p + size <= r.start + r.size)
    pthread_mutex_unlock(&memory_lock)
    return pinned


cdef int check_side(const void *p, size_t extent, unsigned kind) noexcept nogil:
    """One side of a copy: device memory must be one block's, a host address not null, unified either."""
    if p == NULL:
        return CUDA_ERROR_INVALID_VALUE
    if kind == MEMORY_DEVICE or (kind == MEMORY_UNIFIED and gpu_of(<uint64_t>p) != NULL):
        return check_device_range(<uint64_t>p, extent)
    return CUDA_SUCCESS


cdef inline size_t extent_of(size_t width, size_t height, size_t depth, size_t pitch, size_t slice) noexcept nogil:
    """Bytes from the first to the last of a shape."""
    return (depth - 1) * slice + (height - 1) * pitch + width


cdef int copy_now_or_later(stream *s, copy_shape *shape, unsigned to_kind, unsigned of_kind, bint later) noexcept nogil:
    """Check both sides, then copy in the stream's order."""
    cdef op here
    cdef op *o
    cdef gpu *to_gpu
    cdef gpu *of_gpu
    cdef size_t bytes = shape.width * shape.height * shape.depth
    cdef int r
    if bytes == 0:
        return CUDA_SUCCESS
    r = check_side(shape.to, extent_of(shape.width, shape.height, shape.depth, shape.to_pitch, shape.to_slice), to_kind)
    if r == CUDA_SUCCESS:
        r = check_side(shape.of, extent_of(shape.width, shape.height, shape.depth, shape.of_pitch, shape.of_slice), of_kind)
    if r != CUDA_SUCCESS:
        return r
    to_gpu = gpu_of(<uint64_t>shape.to)
    of_gpu = gpu_of(<uint64_t>shape.of)
    if to_gpu != NULL and of_gpu == NULL:
        count_up(&to_gpu.copied_in, bytes, RELAXED)
    elif of_gpu != NULL and to_gpu == NULL:
        count_up(&of_gpu.copied_out, bytes, RELAXED)
    if to_gpu == NULL and not is_pinned(shape.to, shape.width):
        later = False
    if later and of_gpu == NULL and not is_pinned(shape.of, shape.width):
        if bytes <= STAGED:
            o = new_op(COPY_OP, bytes)
            if o == NULL:
                return CUDA_ERROR_OUT_OF_MEMORY
            o.copy = shape[0]
            o.copy.to = <char *>(o + 1)
            o.copy.to_pitch = shape.width
            o.copy.to_slice = shape.width * shape.height
            copy_bytes(&o.copy)
            o.copy.of = o.copy.to
            o.copy.of_pitch = o.copy.to_pitch
            o.copy.of_slice = o.copy.to_slice
            o.copy.to, o.copy.to_pitch, o.copy.to_slice = shape.to, shape.to_pitch, shape.to_slice
            return submit(s, o)
        later = False
    if later:
        o = new_op(COPY_OP, 0)
        if o == NULL:
            return CUDA_ERROR_OUT_OF_MEMORY
        o.copy = shape[0]
        return submit(s, o)
    memset(&here, 0, sizeof(here))
    here.kind = COPY_OP
    here.copy = shape[0]
    return submit_and_wait(s, &here)


cdef int copy_line(void *queue, void *to, const void *of, size_t size, unsigned to_kind, unsigned of_kind, bint later) noexcept nogil:
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
    return copy_line(NULL, <void *>to, of, size, MEMORY_DEVICE, MEMORY_HOST, False)


cdef public int cuMemcpyDtoH_v2(void *to, CUdeviceptr of, size_t size) noexcept nogil:
    """Device to host."""
    return copy_line(NULL, to, <void *>of, size, MEMORY_HOST, MEMORY_DEVICE, False)


cdef public int cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr of, size_t size) noexcept nogil:
    """Device to device."""
    return copy_line(NULL, <void *>to, <void *>of, size, MEMORY_DEVICE, MEMORY_DEVICE, False)


cdef public int cuMemcpy(CUdeviceptr to, CUdeviceptr of, size_t size) noexcept nogil:
    """The addresses tell which side is the device's."""
    return copy_line(NULL, <void *>to, <void *>of, size, MEMORY_UNIFIED, MEMORY_UNIFIED, False)


cdef public int cuMemcpyPeer(CUdeviceptr to, void *to_context, CUdeviceptr of, void *of_context, size_t size) noexcept nogil:
    """From one context's device to another's."""
    if not is_handle(CONTEXT, to_context) or not is_handle(CONTEXT, of_context):
        return CUDA_ERROR_INVALID_CONTEXT
    return copy_line(NULL, <void *>to, <void *>of, size, MEMORY_DEVICE, MEMORY_DEVICE, False)


cdef public int cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *of, size_t size, void *queue) noexcept nogil:
    """Host to device, in a stream's order."""
    return copy_line(queue, <void *>to, of, size, MEMORY_DEVICE, MEMORY_HOST, True)


cdef public int cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr of, size_t size, void *queue) noexcept nogil:
    """Device to host, in a stream's order."""
    return copy_line(queue, to, <void *>of, size, MEMORY_HOST, MEMORY_DEVICE, True)


cdef public int cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr of, size_t size, void *queue) noexcept nogil:
    """Device to device, in a stream's order.  Without a current context: in the default stream of the memory's context."""
    cdef context *c
    if size and top_context(&c) == CUDA_ERROR_INVALID_CONTEXT and queue == NULL:
        c = context_of_memory(to)
        if c != NULL:
            queue = c.default_stream
    return copy_line(queue, <void *>to, <void *>of, size, MEMORY_DEVICE, MEMORY_DEVICE, True)


cdef public int cuMemcpyAsync(CUdeviceptr to, CUdeviceptr of, size_t size, void *queue) noexcept nogil:
    """The addresses tell which side is the device's; in a stream's order."""
    return copy_line(queue, <void *>to, <void *>of, size, MEMORY_UNIFIED, MEMORY_UNIFIED, True)


cdef public int cuMemcpyPeerAsync(CUdeviceptr to, void *to_context, CUdeviceptr of, void *of_context, size_t size, void *queue) noexcept nogil:
    """From one context's device to another's, in a stream's order."""
    if not is_handle(CONTEXT, to_context) or not is_handle(CONTEXT, of_context):
        return CUDA_ERROR_INVALID_CONTEXT
    return copy_line(queue, <void *>to, <void *>of, size, MEMORY_DEVICE, MEMORY_DEVICE, True)


cdef int copy_2d(void *queue, const CUDA_MEMCPY2D *p, bint later) noexcept nogil:
    """A rectangle; arrays (textures' memory) are not implemented."""
    cdef copy_shape shape
    cdef stream *s = NULL
    cdef int r = enter_stream(queue, &s)
    if r != CUDA_SUCCESS:
        return r
    if p == NULL or not 1 <= p.srcMemoryType <= 4 or not 1 <= p.dstMemoryType <= 4:
        return CUDA_ERROR_INVALID_VALUE
    if p.srcMemoryType == MEMORY_ARRAY or p.dstMemoryType == MEMORY_ARRAY:
        return CUDA_ERROR_NOT_SUPPORTED
    memset(&shape, 0, sizeof(shape))
    shape.width, shape.height, shape.depth = p.WidthInBytes, p.Height, 1
    shape.of_pitch = p.srcPitch if p.srcPitch else p.srcXInBytes + p.WidthInBytes
    shape.to_pitch = p.dstPitch if p.dstPitch else p.dstXInBytes + p.WidthInBytes
    if shape.of_pitch < p.srcXInBytes + p.WidthInBytes or shape.to_pitch < p.dstXInBytes + p.WidthInBytes:
        return CUDA_ERROR_INVALID_VALUE
    shape.of = <const char *>(p.srcHost if p.srcMemoryType == MEMORY_HOST else <void *>p.srcDevice)
    shape.to = <char *>(p.dstHost if p.dstMemoryType == MEMORY_HOST else <void *>p.dstDevice)
    if shape.of == NULL or shape.to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    shape.of += p.srcY * shape.of_pitch + p.srcXInBytes
    shape.to += p.dstY * shape.to_pitch + p.dstXInBytes
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


cdef int copy_3d(void *queue, const CUDA_MEMCPY3D *p, bint later) noexcept nogil:
    """A cuboid; arrays (textures' memory) are not implemented."""
    cdef copy_shape shape
    cdef size_t of_height, to_height
    cdef stream *s = NULL
    cdef int r = enter_stream(queue, &s)
    if r != CUDA_SUCCESS:
        return r
    if p == NULL or not 1 <= p.srcMemoryType <= 4 or not 1 <= p.dstMemoryType <= 4 or p.srcLOD or p.dstLOD:
        return CUDA_ERROR_INVALID_VALUE
    if p.srcMemoryType == MEMORY_ARRAY or p.dstMemoryType == MEMORY_ARRAY:
        return CUDA_ERROR_NOT_SUPPORTED
    memset(&shape, 0, sizeof(shape))
    shape.width, shape.height, shape.depth = p.WidthInBytes, p.Height, p.Depth
    shape.of_pitch = p.srcPitch if p.srcPitch else p.srcXInBytes + p.WidthInBytes
    shape.to_pitch = p.dstPitch if p.dstPitch else p.dstXInBytes + p.WidthInBytes
    of_height = p.srcHeight if p.srcHeight else p.srcY + p.Height
    to_height = p.dstHeight if p.dstHeight else p.dstY + p.Height
    if shape.of_pitch < p.srcXInBytes + p.WidthInBytes or shape.to_pitch < p.dstXInBytes + p.WidthInBytes:
        return CUDA_ERROR_INVALID_VALUE
    if of_height < p.srcY + p.Height or to_height < p.dstY + p.Height:
        return CUDA_ERROR_INVALID_VALUE
    shape.of_slice = shape.of_pitch * of_height
    shape.to_slice = shape.to_pitch * to_height
    shape.of = <const char *>(p.srcHost if p.srcMemoryType == MEMORY_HOST else <void *>p.srcDevice)
    shape.to = <char *>(p.dstHost if p.dstMemoryType == MEMORY_HOST else <void *>p.dstDevice)
    if shape.of == NULL or shape.to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    shape.of += p.srcZ * shape.of_slice + p.srcY * shape.of_pitch + p.srcXInBytes
    shape.to += p.dstZ * shape.to_slice + p.dstY * shape.to_pitch + p.dstXInBytes
    return copy_now_or_later(s, &shape, p.dstMemoryType, p.srcMemoryType, later)


cdef public int cuMemcpy3D_v2(const CUDA_MEMCPY3D *p) noexcept nogil:
    """A cuboid."""
    return copy_3d(NULL, p, False)


cdef public int cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *p, void *queue) noexcept nogil:
    """A cuboid, in a stream's order."""
    return copy_3d(queue, p, True)


cdef int fill(void *queue, CUdeviceptr to, size_t pitch, uint32_t value, uint32_t unit, size_t width, size_t height, bint later) noexcept nogil:
    """Fill device memory."""
    cdef op here
    cdef op *o
    cdef stream *s = NULL
    cdef int r = enter_stream(queue, &s)
    if r != CUDA_SUCCESS:
        return r
    if to % unit != 0 or (height > 1 and (pitch < width * unit or pitch % unit != 0)):
        return CUDA_ERROR_INVALID_VALUE
    if width == 0 or height == 0:
        return CUDA_SUCCESS
    r = check_device_range(to, (height - 1) * pitch + width * unit)
    if r != CUDA_SUCCESS:
        return r
    o = new_op(FILL_OP, 0) if later else &here
    if o == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    if not later:
        memset(o, 0, sizeof(here))
        o.kind = FILL_OP
    o.fill.to, o.fill.value, o.fill.unit = <char *>to, value, unit
    o.fill.count, o.fill.height, o.fill.pitch = width, height, pitch
    return submit(s, o) if later else submit_and_wait(s, o)


cdef public int cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t n) noexcept nogil:
    """Fill with bytes."""
    return fill(NULL, to, 0, value, 1, n, 1, False)


cdef public int cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t n) noexcept nogil:
    """Fill with 16-bit units."""
    return fill(NULL, to, 0, value, 2, n, 1, False)


cdef public int cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t n) noexcept nogil:
    """Fill with 32-bit units."""
    return fill(NULL, to, 0, value, 4, n, 1, False)


cdef public int cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height) noexcept nogil:
    """Fill a rectangle with bytes."""
    return fill(NULL, to, pitch, value, 1, width, height, False)


cdef public int cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height) noexcept nogil:
    """Fill a rectangle with 16-bit units."""
    return fill(NULL, to, pitch, value, 2, width, height, False)


cdef public int cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height) noexcept nogil:
    """Fill a rectangle with 32-bit units."""
    return fill(NULL, to, pitch, value, 4, width, height, False)


cdef public int cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, void *queue) noexcept nogil:
    """Fill with bytes, in a stream's order."""
    return fill(queue, to, 0, value, 1, n, 1, True)


cdef public int cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t n, void *queue) noexcept nogil:
    """Fill with 16-bit units, in a stream's order."""
    return fill(queue, to, 0, value, 2, n, 1, True)


cdef public int cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t n, void *queue) noexcept nogil:
    """Fill with 32-bit units, in a stream's order."""
    return fill(queue, to, 0, value, 4, n, 1, True)


cdef public int cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height, void *queue) noexcept nogil:
    """Fill a rectangle with bytes, in a stream's order."""
    return fill(queue, to, pitch, value, 1, width, height, True)


cdef public int cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height, void *queue) noexcept nogil:
    """Fill a rectangle with 16-bit units, in a stream's order."""
    return fill(queue, to, pitch, value, 2, width, height, True)


cdef public int cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height, void *queue) noexcept nogil:
    """Fill a rectangle with 32-bit units, in a stream's order."""
    return fill(queue, to, pitch, value, 4, width, height, True)
