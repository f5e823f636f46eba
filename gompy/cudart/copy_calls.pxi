# Copies and fills.

cdef int copy_bytes(void *to, const void *origin, size_t size, int kind) noexcept nogil:
    """cudaMemcpy, by the kind."""
    if kind < cudaMemcpyHostToHost or kind > cudaMemcpyDefault:
        return cudaErrorInvalidMemcpyDirection
    if size == 0:
        return CUDA_SUCCESS
    if kind == cudaMemcpyHostToDevice:
        return driver.copy_in(<CUdeviceptr> to, origin, size)
    if kind == cudaMemcpyDeviceToHost:
        return driver.copy_out(to, <CUdeviceptr> origin, size)
    if kind == cudaMemcpyDeviceToDevice:
        return driver.copy_inside(<CUdeviceptr> to, <CUdeviceptr> origin, size)
    return driver.copy(<CUdeviceptr> to, <CUdeviceptr> origin, size)


cdef int copy_later(void *to, const void *origin, size_t size, int kind, void *stream) noexcept nogil:
    """cudaMemcpyAsync, by the kind."""
    if kind < cudaMemcpyHostToHost or kind > cudaMemcpyDefault:
        return cudaErrorInvalidMemcpyDirection
    if size == 0:
        return CUDA_SUCCESS
    if kind == cudaMemcpyHostToDevice:
        return driver.copy_in_async(<CUdeviceptr> to, origin, size, stream)
    if kind == cudaMemcpyDeviceToHost:
        return driver.copy_out_async(to, <CUdeviceptr> origin, size, stream)
    if kind == cudaMemcpyDeviceToDevice:
        return driver.copy_inside_async(<CUdeviceptr> to, <CUdeviceptr> origin, size, stream)
    return driver.copy_async(<CUdeviceptr> to, <CUdeviceptr> origin, size, stream)


cdef public int cudaMemcpy(void *to, const void *origin, size_t size, int kind) noexcept nogil:
    """A copy, done when the call returns."""
    cdef int r = enter_device()
    return note_error(copy_bytes(to, origin, size, kind) if r == CUDA_SUCCESS else r)


cdef public int cudaMemcpyAsync(void *to, const void *origin, size_t size, int kind, void *stream) noexcept nogil:
    """A copy in a stream."""
    cdef int r = enter_device()
    return note_error(copy_later(to, origin, size, kind, stream) if r == CUDA_SUCCESS else r)


cdef int two_contexts(int one, int other, void **to, void **origin) noexcept nogil:
    """The contexts of two devices."""
    cdef int r = enter_device()
    if r == CUDA_SUCCESS:
        r = primary_context(one, to)
    return primary_context(other, origin) if r == CUDA_SUCCESS else r


cdef public int cudaMemcpyPeer(void *to, int to_device, const void *origin, int from_device,
                               size_t size) noexcept nogil:
    """A copy between devices."""
    cdef void *one = NULL
    cdef void *other = NULL
    cdef int r = two_contexts(to_device, from_device, &one, &other)
    if r == CUDA_SUCCESS and size:
        r = driver.copy_peer(<CUdeviceptr> to, one, <CUdeviceptr> origin, other, size)
    return note_error(r)


cdef public int cudaMemcpyPeerAsync(void *to, int to_device, const void *origin, int from_device, size_t size,
                                    void *stream) noexcept nogil:
    """The same in a stream."""
    cdef void *one = NULL
    cdef void *other = NULL
    cdef int r = two_contexts(to_device, from_device, &one, &other)
    if r == CUDA_SUCCESS and size:
        r = driver.copy_peer_async(<CUdeviceptr> to, one, <CUdeviceptr> origin, other, size, stream)
    return note_error(r)


cdef bint sides_of(int kind, unsigned *to, unsigned *origin) noexcept nogil:
    """The driver's words for both sides of a copy; False: there is no such kind."""
    if kind < cudaMemcpyHostToHost or kind > cudaMemcpyDefault:
        return False
    to[0] = origin[0] = CU_MEMORYTYPE_UNIFIED
    if kind == cudaMemcpyHostToDevice or kind == cudaMemcpyHostToHost:
        origin[0] = CU_MEMORYTYPE_HOST
    elif kind != cudaMemcpyDefault:
        origin[0] = CU_MEMORYTYPE_DEVICE
    if kind == cudaMemcpyDeviceToHost or kind == cudaMemcpyHostToHost:
        to[0] = CU_MEMORYTYPE_HOST
    elif kind != cudaMemcpyDefault:
        to[0] = CU_MEMORYTYPE_DEVICE
    return True


cdef int describe_rows(CUDA_MEMCPY2D *c, void *to, size_t to_pitch, const void *origin, size_t from_pitch, size_t width,
                       size_t height, int kind) noexcept nogil:
    """The driver's record of a copy of rows."""
    memset(c, 0, sizeof(CUDA_MEMCPY2D))
    if not sides_of(kind, &c.dstMemoryType, &c.srcMemoryType):
        return cudaErrorInvalidMemcpyDirection
    c.srcHost = origin
    c.srcDevice = <CUdeviceptr> origin
    c.dstHost = to
    c.dstDevice = <CUdeviceptr> to
    c.srcPitch, c.dstPitch, c.WidthInBytes, c.Height = from_pitch, to_pitch, width, height
    return CUDA_SUCCESS


cdef int note_rows_error(int r, size_t to_pitch, size_t from_pitch, size_t width) noexcept nogil:
    """The result of a copy of rows: rows that overlap are an error of their own, which the driver does not have."""
    if r == cudaErrorInvalidValue and (width > to_pitch or width > from_pitch):
        r = cudaErrorInvalidPitchValue
    return note_error(r)


cdef public int cudaMemcpy2D(void *to, size_t to_pitch, const void *origin, size_t from_pitch, size_t width,
                             size_t height, int kind) noexcept nogil:
    """A copy of rows."""
    cdef CUDA_MEMCPY2D c
    cdef int r = enter_device()
    if r == CUDA_SUCCESS:
        r = describe_rows(&c, to, to_pitch, origin, from_pitch, width, height, kind)
    if r == CUDA_SUCCESS and width and height:
        r = driver.copy_rows(&c)
    return note_rows_error(r, to_pitch, from_pitch, width)


cdef public int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *origin, size_t from_pitch, size_t width,
                                  size_t height, int kind, void *stream) noexcept nogil:
    """The same in a stream."""
    cdef CUDA_MEMCPY2D c
    cdef int r = enter_device()
    if r == CUDA_SUCCESS:
        r = describe_rows(&c, to, to_pitch, origin, from_pitch, width, height, kind)
    if r == CUDA_SUCCESS and width and height:
        r = driver.copy_rows_async(&c, stream)
    return note_rows_error(r, to_pitch, from_pitch, width)


cdef int symbol_place(const void *host, size_t offset, size_t size, CUdeviceptr *to) noexcept nogil:
    """The address of a part of a variable."""
    cdef size_t whole = 0
    cdef int r = load_variable(host, to, &whole)
    if r == CUDA_SUCCESS:
        if offset > whole or size > whole - offset:
            return cudaErrorInvalidValue
        to[0] += offset
    return r


cdef public int cudaMemcpyToSymbol(const void *host, const void *origin, size_t size, size_t offset,
                                   int kind) noexcept nogil:
    """A copy to a variable."""
    cdef CUdeviceptr at = 0
    cdef int r = symbol_place(host, offset, size, &at)
    if r == CUDA_SUCCESS and kind == cudaMemcpyDeviceToHost:
        r = cudaErrorInvalidMemcpyDirection
    return note_error(copy_bytes(<void *> at, origin, size, kind) if r == CUDA_SUCCESS else r)


cdef public int cudaMemcpyToSymbolAsync(const void *host, const void *origin, size_t size, size_t offset, int kind,
                                        void *stream) noexcept nogil:
    """The same in a stream."""
    cdef CUdeviceptr at = 0
    cdef int r = symbol_place(host, offset, size, &at)
    if r == CUDA_SUCCESS and kind == cudaMemcpyDeviceToHost:
        r = cudaErrorInvalidMemcpyDirection
    return note_error(copy_later(<void *> at, origin, size, kind, stream) if r == CUDA_SUCCESS else r)


cdef public int cudaMemcpyFromSymbol(void *to, const void *host, size_t size, size_t offset, int kind) noexcept nogil:
    """A copy of a variable."""
    cdef CUdeviceptr at = 0
    cdef int r = symbol_place(host, offset, size, &at)
    if r == CUDA_SUCCESS and kind == cudaMemcpyHostToDevice:
        r = cudaErrorInvalidMemcpyDirection
    return note_error(copy_bytes(to, <void *> at, size, kind) if r == CUDA_SUCCESS else r)


cdef public int cudaMemcpyFromSymbolAsync(void *to, const void *host, size_t size, size_t offset, int kind,
                                          void *stream) noexcept nogil:
    """The same in a stream."""
    cdef CUdeviceptr at = 0
    cdef int r = symbol_place(host, offset, size, &at)
    if r == CUDA_SUCCESS and kind == cudaMemcpyHostToDevice:
        r = cudaErrorInvalidMemcpyDirection
    return note_error(copy_later(to, <void *> at, size, kind, stream) if r == CUDA_SUCCESS else r)


cdef public int cudaGetSymbolAddress(void **to, const void *host) noexcept nogil:
    """A variable's address on the device."""
    cdef size_t size = 0
    return note_error(load_variable(host, <CUdeviceptr *> to, &size))


cdef public int cudaGetSymbolSize(size_t *to, const void *host) noexcept nogil:
    """A variable's size."""
    cdef CUdeviceptr at = 0
    return note_error(load_variable(host, &at, to))


cdef public int cudaMemset(void *device, int value, size_t size) noexcept nogil:
    """Fill bytes."""
    cdef int r = enter_device()
    if r == CUDA_SUCCESS and size:
        r = driver.fill(<CUdeviceptr> device, <unsigned char> value, size)
    return note_error(r)


cdef public int cudaMemsetAsync(void *device, int value, size_t size, void *stream) noexcept nogil:
    """The same in a stream."""
    cdef int r = enter_device()
    if r == CUDA_SUCCESS and size:
        r = driver.fill_async(<CUdeviceptr> device, <unsigned char> value, size, stream)
    return note_error(r)


cdef public int cudaMemset2D(void *device, size_t pitch, int value, size_t width, size_t height) noexcept nogil:
    """Fill rows."""
    cdef int r = enter_device()
    if r == CUDA_SUCCESS and width and height:
        r = driver.fill_rows(<CUdeviceptr> device, pitch, <unsigned char> value, width, height)
    return note_error(r)


cdef public int cudaMemset2DAsync(void *device, size_t pitch, int value, size_t width, size_t height,
                                  void *stream) noexcept nogil:
    """The same in a stream."""
    cdef int r = enter_device()
    if r == CUDA_SUCCESS and width and height:
        r = driver.fill_rows_async(<CUdeviceptr> device, pitch, <unsigned char> value, width, height, stream)
    return note_error(r)


cdef int fill_box(const pitched_ptr *to, int value, const extent *size, bint waits, void *stream) noexcept nogil:
    """Fill rows of layers: those of a layer follow each other, and ``ysize`` rows later the next layer begins."""
    cdef CUdeviceptr at = <CUdeviceptr> to.ptr
    cdef size_t height = size.height, depth = size.depth, layer
    cdef int r = enter_device()
    if size.width == 0 or height == 0 or depth == 0 or r != CUDA_SUCCESS:
        return r
    if size.width > to.pitch or (depth > 1 and height > to.ysize):
        return cudaErrorInvalidValue
    if height == to.ysize:  # without a gap
        height, depth = height * depth, 1
    for layer in range(depth):
        if r == CUDA_SUCCESS and waits:
            r = driver.fill_rows(at, to.pitch, <unsigned char> value, size.width, height)
        elif r == CUDA_SUCCESS:
            r = driver.fill_rows_async(at, to.pitch, <unsigned char> value, size.width, height, stream)
        at += to.pitch * to.ysize
    return r


cdef public int cudaMemset3D(pitched_ptr to, int value, extent size) noexcept nogil:
    """Fill a box of pitched memory."""
    return note_error(fill_box(&to, value, &size, True, NULL))


cdef public int cudaMemset3DAsync(pitched_ptr to, int value, extent size, void *stream) noexcept nogil:
    """The same in a stream."""
    return note_error(fill_box(&to, value, &size, False, stream))
