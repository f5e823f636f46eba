# Arrays, surfaces of them, and memory of other processes.

cdef enum:
    CU_MEMORYTYPE_ARRAY = 3
    CU_TRSA_OVERRIDE_FORMAT = 1


cdef int have_arrays(void **call) noexcept nogil:
    """What these calls begin with: a driver, which is loaded now at the latest, need not have what they want."""
    cdef int r = enter_device()
    return cudaErrorNotSupported if r == CUDA_SUCCESS and call[0] == NULL else r


cdef unsigned format_bits(unsigned format) noexcept nogil:
    """Of a component."""
    return 8 if format in (1, 8) else 16 if format in (2, 9, 16) else 32


cdef bint element_bytes(void *array, size_t *to) noexcept nogil:
    """The bytes of an array's element; False: it is no array."""
    cdef CUDA_ARRAY3D_DESCRIPTOR shape
    if driver_arrays.describe == NULL or driver_arrays.describe(&shape, array) != CUDA_SUCCESS:
        return False
    to[0] = format_bits(shape.Format) / 8 * shape.NumChannels
    return True


cdef int describe_array(void **to, const channel_format *f, size_t width, size_t height, size_t depth, unsigned flags,
                        CUDA_ARRAY3D_DESCRIPTOR *shape) noexcept nogil:
    """An array in the driver's words; the flags are the driver's."""
    if to == NULL or f == NULL:
        return cudaErrorInvalidValue
    memset(shape, 0, sizeof(CUDA_ARRAY3D_DESCRIPTOR))
    shape.Width, shape.Height, shape.Depth, shape.Flags = width, height, depth, flags
    return format_of(f, &shape.Format, &shape.NumChannels)


cdef int make_array(void **to, const channel_format *f, size_t width, size_t height, size_t depth,
                    unsigned flags) noexcept nogil:
    """An array."""
    cdef CUDA_ARRAY3D_DESCRIPTOR shape
    cdef int r = have_arrays(<void **> &driver_arrays.create)
    if r == CUDA_SUCCESS:
        r = describe_array(to, f, width, height, depth, flags, &shape)
    return note_error(driver_arrays.create(to, &shape) if r == CUDA_SUCCESS else r)


cdef public int cudaMallocArray(void **to, const channel_format *f, size_t width, size_t height,
                                unsigned flags) noexcept nogil:
    """Of one dimension (height 0) or two."""
    return make_array(to, f, width, height, 0, flags)


cdef public int cudaMalloc3DArray(void **to, const channel_format *f, extent size, unsigned flags) noexcept nogil:
    """Of up to three dimensions; layers count as the depth."""
    return make_array(to, f, size.width, size.height, size.depth, flags)


cdef public int cudaFreeArray(void *array) noexcept nogil:
    """NULL is none."""
    cdef int r = have_arrays(<void **> &driver_arrays.destroy)
    return note_error(driver_arrays.destroy(array) if r == CUDA_SUCCESS and array != NULL else r)


cdef public int cudaMallocMipmappedArray(void **to, const channel_format *f, extent size, unsigned levels,
                                         unsigned flags) noexcept nogil:
    """Of levels, each half as large as the one before."""
    cdef CUDA_ARRAY3D_DESCRIPTOR shape
    cdef int r = have_arrays(<void **> &driver_arrays.mipmap_create)
    if r == CUDA_SUCCESS:
        r = describe_array(to, f, size.width, size.height, size.depth, flags, &shape)
    return note_error(driver_arrays.mipmap_create(to, &shape, levels) if r == CUDA_SUCCESS else r)


cdef public int cudaGetMipmappedArrayLevel(void **to, const void *mipmap, unsigned level) noexcept nogil:
    """A level's array, which goes with the others."""
    cdef int r = have_arrays(<void **> &driver_arrays.mipmap_level)
    return note_error(driver_arrays.mipmap_level(to, <void *> mipmap, level) if r == CUDA_SUCCESS else r)


cdef public int cudaFreeMipmappedArray(void *mipmap) noexcept nogil:
    """NULL is none."""
    cdef int r = have_arrays(<void **> &driver_arrays.mipmap_destroy)
    return note_error(driver_arrays.mipmap_destroy(mipmap) if r == CUDA_SUCCESS and mipmap != NULL else r)


cdef public int cudaArrayGetInfo(channel_format *f, extent *size, unsigned *flags, void *array) noexcept nogil:
    """As it was made; what is NULL is not told."""
    cdef CUDA_ARRAY3D_DESCRIPTOR shape
    cdef int bits
    cdef int r = have_arrays(<void **> &driver_arrays.describe)
    if r == CUDA_SUCCESS:
        r = driver_arrays.describe(&shape, array)
    if r != CUDA_SUCCESS:
        return note_error(r)
    if f != NULL:
        bits = format_bits(shape.Format)
        f.x = bits
        f.y = bits if shape.NumChannels > 1 else 0
        f.z = f.w = bits if shape.NumChannels > 2 else 0
        f.kind = cudaChannelFormatKindFloat
        if shape.Format < 16:
            f.kind = cudaChannelFormatKindSigned if shape.Format >= 8 else cudaChannelFormatKindUnsigned
    if size != NULL:
        size.width, size.height, size.depth = shape.Width, shape.Height, shape.Depth
    if flags != NULL:
        flags[0] = shape.Flags
    return note_error(CUDA_SUCCESS)


cdef public int cudaGetChannelDesc(channel_format *f, void *array) noexcept nogil:
    """What an element is."""
    return cudaArrayGetInfo(f, NULL, NULL, array) if f != NULL else note_error(cudaErrorInvalidValue)


cdef int describe_part(CUDA_MEMCPY3D *c, void *to_array, const void *of_array, size_t x, size_t y, const void *memory,
                       size_t pitch, size_t width, size_t height, int kind) noexcept nogil:
    """A copy of rows between an array (one of the two) and memory; x and width in bytes."""
    memset(c, 0, sizeof(CUDA_MEMCPY3D))
    if not sides_of(kind, &c.dstMemoryType, &c.srcMemoryType):
        return cudaErrorInvalidMemcpyDirection
    c.WidthInBytes, c.Height, c.Depth = width, height, 1
    if to_array != NULL:
        c.dstMemoryType, c.dstArray, c.dstXInBytes, c.dstY = CU_MEMORYTYPE_ARRAY, to_array, x, y
        c.srcHost, c.srcDevice, c.srcPitch = memory, <CUdeviceptr> memory, pitch
    else:
        c.srcMemoryType, c.srcArray, c.srcXInBytes, c.srcY = CU_MEMORYTYPE_ARRAY, <void *> of_array, x, y
        c.dstHost, c.dstDevice, c.dstPitch = <void *> memory, <CUdeviceptr> memory, pitch
    return CUDA_SUCCESS


cdef int copy_part(void *to_array, const void *of_array, size_t x, size_t y, const void *memory, size_t pitch,
                   size_t width, size_t height, int kind, bint later, void *stream) noexcept nogil:
    """Do it, now or in a stream."""
    cdef CUDA_MEMCPY3D c
    cdef int r = have_arrays(<void **> &driver_graphs.copy_now)
    if r == CUDA_SUCCESS and to_array == NULL and of_array == NULL:
        r = cudaErrorInvalidResourceHandle
    if r == CUDA_SUCCESS:
        r = describe_part(&c, to_array, of_array, x, y, memory, pitch, width, height, kind)
    if r == CUDA_SUCCESS and width and height:
        r = driver_graphs.copy_later(&c, stream) if later else driver_graphs.copy_now(&c)
    return note_error(r)


cdef int copy_line(void *to_array, const void *of_array, size_t x, size_t y, const void *memory, size_t size,
                   int kind) noexcept nogil:
    """Consecutive bytes, which may run over several of the array's rows, each whole."""
    cdef CUDA_ARRAY3D_DESCRIPTOR shape
    cdef size_t element = 1, row, part
    cdef void *array = to_array if to_array != NULL else <void *> of_array
    cdef int r = have_arrays(<void **> &driver_arrays.describe)
    if r == CUDA_SUCCESS:
        r = driver_arrays.describe(&shape, array)
    if r != CUDA_SUCCESS or not element_bytes(array, &element):
        return note_error(r)
    row = shape.Width * element
    while size and r == CUDA_SUCCESS:
        if x == 0 and size >= row:
            part = size / row
            r = copy_part(to_array, of_array, 0, y, memory, row, row, part, kind, False, NULL)
            y += part
            part *= row
        else:
            part = row - x if x < row and size > row - x else size
            r = copy_part(to_array, of_array, x, y, memory, row, part, 1, kind, False, NULL)
            x, y = 0, y + 1
        memory = <const char *> memory + part
        size -= part
    return r


cdef public int cudaMemcpyToArray(void *to, size_t x, size_t y, const void *origin, size_t size,
                                  int kind) noexcept nogil:
    """Consecutive bytes to an array."""
    return copy_line(to, NULL, x, y, origin, size, kind)


cdef public int cudaMemcpyFromArray(void *to, const void *origin, size_t x, size_t y, size_t size,
                                    int kind) noexcept nogil:
    """Consecutive bytes of an array."""
    return copy_line(NULL, origin, x, y, to, size, kind)


cdef public int cudaMemcpy2DToArray(void *to, size_t x, size_t y, const void *origin, size_t pitch, size_t width,
                                    size_t height, int kind) noexcept nogil:
    """Rows to an array."""
    return copy_part(to, NULL, x, y, origin, pitch, width, height, kind, False, NULL)


cdef public int cudaMemcpy2DToArrayAsync(void *to, size_t x, size_t y, const void *origin, size_t pitch, size_t width,
                                         size_t height, int kind, void *stream) noexcept nogil:
    """The same in a stream."""
    return copy_part(to, NULL, x, y, origin, pitch, width, height, kind, True, stream)


cdef public int cudaMemcpy2DFromArray(void *to, size_t pitch, const void *origin, size_t x, size_t y, size_t width,
                                      size_t height, int kind) noexcept nogil:
    """Rows of an array."""
    return copy_part(NULL, origin, x, y, to, pitch, width, height, kind, False, NULL)


cdef public int cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, const void *origin, size_t x, size_t y, size_t width,
                                           size_t height, int kind, void *stream) noexcept nogil:
    """The same in a stream."""
    return copy_part(NULL, origin, x, y, to, pitch, width, height, kind, True, stream)


cdef public int cudaMemcpy2DArrayToArray(void *to, size_t to_x, size_t to_y, const void *origin, size_t x, size_t y,
                                         size_t width, size_t height, int kind) noexcept nogil:
    """Rows of an array to another."""
    cdef CUDA_MEMCPY3D c
    cdef int r = have_arrays(<void **> &driver_graphs.copy_now)
    if r == CUDA_SUCCESS and kind != cudaMemcpyDeviceToDevice and kind != cudaMemcpyDefault:
        r = cudaErrorInvalidMemcpyDirection
    if r == CUDA_SUCCESS and width and height:
        memset(&c, 0, sizeof(c))
        c.srcMemoryType, c.srcArray, c.srcXInBytes, c.srcY = CU_MEMORYTYPE_ARRAY, <void *> origin, x, y
        c.dstMemoryType, c.dstArray, c.dstXInBytes, c.dstY = CU_MEMORYTYPE_ARRAY, to, to_x, to_y
        c.WidthInBytes, c.Height, c.Depth = width, height, 1
        r = driver_graphs.copy_now(&c)
    return note_error(r)


cdef public int cudaBindTextureToArray(const texture_reference *t, void *array,
                                       const channel_format *f) noexcept nogil:
    """An array for a reference, with the array's format."""
    cdef void *loaded = NULL
    cdef unsigned format = 0, channels = 0
    cdef int r
    if t == NULL or f == NULL:
        return note_error(cudaErrorInvalidValue)
    r = load_reference(t, TEXTURE_SYMBOL, &driver_textures.reference, &loaded)
    if r == CUDA_SUCCESS and driver_arrays.set_array == NULL:
        r = cudaErrorNotSupported
    if r == CUDA_SUCCESS:
        r = format_of(f, &format, &channels)
    if r == CUDA_SUCCESS:
        r = set_reference(loaded, t, format, channels)
    return note_error(driver_arrays.set_array(loaded, array, CU_TRSA_OVERRIDE_FORMAT) if r == CUDA_SUCCESS else r)


cdef public int cudaCreateSurfaceObject(uint64_t *to, const resource *r) noexcept nogil:
    """What kernels read and write an array by; it was made with cudaArraySurfaceLoadStore."""
    cdef resource_description d
    cdef int answer = have_arrays(<void **> &driver_arrays.surface_create)
    if answer == CUDA_SUCCESS and (to == NULL or r == NULL or r.kind != cudaResourceTypeArray):
        answer = cudaErrorInvalidValue
    if answer == CUDA_SUCCESS:
        memset(&d, 0, sizeof(d))
        d.kind, d.address = r.kind, <CUdeviceptr> r.device
        answer = driver_arrays.surface_create(to, &d)
    return note_error(answer)


cdef public int cudaDestroySurfaceObject(uint64_t object) noexcept nogil:
    """The array stays."""
    cdef int r = have_arrays(<void **> &driver_arrays.surface_destroy)
    return note_error(driver_arrays.surface_destroy(object) if r == CUDA_SUCCESS else r)


cdef public int cudaBindSurfaceToArray(const void *surface, void *array, const channel_format *f) noexcept nogil:
    """What a surface reference reads and writes; the format is the array's."""
    cdef void *loaded = NULL
    cdef int r = cudaErrorInvalidValue
    if surface != NULL and f != NULL:
        r = load_reference(surface, SURFACE_SYMBOL, &driver_arrays.surface_reference, &loaded)
    if r == CUDA_SUCCESS and driver_arrays.surface_bind == NULL:
        r = cudaErrorNotSupported
    return note_error(driver_arrays.surface_bind(loaded, array, 0) if r == CUDA_SUCCESS else r)


cdef public int cudaIpcOpenMemHandle(void **to, CUipcMemHandle handle, unsigned flags) noexcept nogil:
    """Another process's memory."""
    cdef int r = have_arrays(<void **> &driver_arrays.ipc_open)
    return note_error(driver_arrays.ipc_open(<CUdeviceptr *> to, handle, flags) if r == CUDA_SUCCESS else r)


cdef public int cudaIpcOpenEventHandle(void **to, CUipcMemHandle handle) noexcept nogil:
    """Another process's event."""
    cdef int r = have_arrays(<void **> &driver_arrays.event_open)
    return note_error(driver_arrays.event_open(to, handle) if r == CUDA_SUCCESS else r)
