# Textures of arrays, linear memory and rows.

cdef struct resource_description:  # CUDA_RESOURCE_DESC
    int kind
    CUdeviceptr address
    unsigned format, channels
    size_t width, height, pitch
    size_t rest[11]
    unsigned flags

cdef struct driver_texture:        # CUDA_TEXTURE_DESC
    int modes[3]
    int filter
    unsigned flags, anisotropy
    int mipmap_filter
    float bias
    float levels[2]
    float border[4]
    int rest[12]

cdef struct array_description:     # CUDA_ARRAY_DESCRIPTOR
    size_t width, height
    unsigned format, channels


cdef int format_of(const channel_format *f, unsigned *format, unsigned *channels) noexcept nogil:
    """The driver's words for an element; cudaErrorInvalidChannelDescriptor if there are none."""
    cdef int bits = f.x
    cdef int row
    channels[0] = 1 if f.y == 0 else 2 if f.z == 0 else 4
    if (f.y and f.y != bits) or (f.z and f.z != bits) or f.w != (bits if f.z else 0) or bits not in (8, 16, 32):
        return cudaErrorInvalidChannelDescriptor
    row = 0 if bits == 8 else 1 if bits == 16 else 2
    if f.kind == cudaChannelFormatKindUnsigned:
        format[0] = 1 + row  # CU_AD_FORMAT_UNSIGNED_INT8, 16, 32
    elif f.kind == cudaChannelFormatKindSigned:
        format[0] = 8 + row
    elif f.kind == cudaChannelFormatKindFloat and bits > 8:
        format[0] = 16 if bits == 16 else 32
    else:
        return cudaErrorInvalidChannelDescriptor
    return CUDA_SUCCESS


cdef public int cudaCreateTextureObject(uint64_t *to, const resource *r, const texture_settings *t,
                                        const void *view) noexcept nogil:
    """A texture; views: cudaErrorNotSupported."""
    cdef resource_description d
    cdef driver_texture s
    cdef int i
    cdef int answer = enter_device()
    if answer != CUDA_SUCCESS:
        return note_error(answer)
    if to == NULL or r == NULL or t == NULL:
        return note_error(cudaErrorInvalidValue)
    if driver_textures.object_create == NULL:
        return note_error(cudaErrorNotSupported)
    if r.kind not in (cudaResourceTypeArray, cudaResourceTypeMipmappedArray, cudaResourceTypeLinear,
                      cudaResourceTypePitch2D):
        return note_error(cudaErrorInvalidValue)
    memset(&d, 0, sizeof(d))
    memset(&s, 0, sizeof(s))
    d.kind, d.address = r.kind, <CUdeviceptr> r.device
    d.width, d.height, d.pitch = r.width, r.height, r.pitch
    if r.kind == cudaResourceTypeLinear:
        d.height = d.pitch = 0
    if r.kind in (cudaResourceTypeArray, cudaResourceTypeMipmappedArray):
        d.width = d.height = d.pitch = 0
    else:
        answer = format_of(&r.format, &d.format, &d.channels)
        if answer != CUDA_SUCCESS:
            return note_error(answer)
    for i in range(3):
        s.modes[i] = t.modes[i]
    for i in range(4):
        s.border[i] = t.border[i]
    s.filter, s.anisotropy, s.mipmap_filter, s.bias = t.filter, t.anisotropy, t.mipmap_filter, t.bias
    s.levels[0], s.levels[1] = t.levels[0], t.levels[1]
    s.flags = (0 if t.read_mode else CU_TRSF_READ_AS_INTEGER) | (CU_TRSF_NORMALIZED_COORDINATES if t.normalized else 0)
    s.flags |= CU_TRSF_SRGB if t.srgb else 0
    return note_error(driver_textures.object_create(to, &d, &s, view))


cdef void channels_of(unsigned format, unsigned channels, channel_format *to) noexcept nogil:
    """The other way round of format_of."""
    cdef int bits
    if format < 8:
        to.kind, bits = cudaChannelFormatKindUnsigned, 8 << (format - 1)
    elif format < 16:
        to.kind, bits = cudaChannelFormatKindSigned, 8 << (format - 8)
    else:
        to.kind, bits = cudaChannelFormatKindFloat, <int> format
    to.x = bits
    to.y = bits if channels > 1 else 0
    to.z = to.w = bits if channels > 2 else 0


cdef void tell_resource(const resource_description *d, resource *to) noexcept nogil:
    """The runtime's words for a resource."""
    memset(to, 0, sizeof(resource))
    to.kind, to.device = d.kind, <void *> d.address
    if d.kind in (cudaResourceTypeArray, cudaResourceTypeMipmappedArray):
        return
    channels_of(d.format, d.channels, &to.format)
    to.width, to.height, to.pitch = d.width, d.height, d.pitch


cdef public int cudaGetTextureObjectResourceDesc(resource *to, uint64_t object) noexcept nogil:
    """What a texture is of."""
    cdef resource_description d
    cdef int r = enter_device() if to != NULL else cudaErrorInvalidValue
    if r == CUDA_SUCCESS:
        r = driver_textures.object_resource(&d, object) if driver_textures.object_resource != NULL else (
            cudaErrorNotSupported
        )
    if r == CUDA_SUCCESS:
        tell_resource(&d, to)
    return note_error(r)


cdef public int cudaGetSurfaceObjectResourceDesc(resource *to, uint64_t object) noexcept nogil:
    """What a surface is of."""
    cdef resource_description d
    cdef int r = enter_device() if to != NULL else cudaErrorInvalidValue
    if r == CUDA_SUCCESS:
        r = driver_textures.surface_resource(&d, object) if driver_textures.surface_resource != NULL else (
            cudaErrorNotSupported
        )
    if r == CUDA_SUCCESS:
        tell_resource(&d, to)
    return note_error(r)


cdef public int cudaGetTextureObjectTextureDesc(texture_settings *to, uint64_t object) noexcept nogil:
    """How a texture is read."""
    cdef driver_texture s
    cdef int i
    cdef int r = enter_device() if to != NULL else cudaErrorInvalidValue
    if r == CUDA_SUCCESS:
        r = driver_textures.object_settings(&s, object) if driver_textures.object_settings != NULL else (
            cudaErrorNotSupported
        )
    if r != CUDA_SUCCESS:
        return note_error(r)
    memset(to, 0, sizeof(texture_settings))
    for i in range(3):
        to.modes[i] = s.modes[i]
    for i in range(4):
        to.border[i] = s.border[i]
    to.filter, to.anisotropy, to.mipmap_filter, to.bias = s.filter, s.anisotropy, s.mipmap_filter, s.bias
    to.levels[0], to.levels[1] = s.levels[0], s.levels[1]
    to.read_mode = 0 if s.flags & CU_TRSF_READ_AS_INTEGER else 1
    to.normalized = 1 if s.flags & CU_TRSF_NORMALIZED_COORDINATES else 0
    to.srgb = 1 if s.flags & CU_TRSF_SRGB else 0
    return CUDA_SUCCESS


cdef public int cudaDestroyTextureObject(uint64_t object) noexcept nogil:
    """The texture's memory stays."""
    cdef int r = enter_device()
    if r == CUDA_SUCCESS:
        r = cudaErrorNotSupported
        if driver_textures.object_destroy != NULL:
            r = driver_textures.object_destroy(object)
    return note_error(r)


cdef int load_reference(const void *host, int kind, int (**find)(void **, void *, const char *) noexcept nogil,
                        void **to) noexcept nogil:
    """The driver's reference of a texture or surface variable, on the current device."""
    cdef symbol *s
    cdef void *loaded = NULL
    cdef int device = 0
    cdef int wrong = cudaErrorInvalidTexture if kind == TEXTURE_SYMBOL else cudaErrorInvalidSurface
    cdef int r = current_device(&device)
    if r != CUDA_SUCCESS:
        return r
    if find[0] == NULL:
        return cudaErrorNotSupported
    pthread_mutex_lock(&runtime_lock)
    s = find_symbol(host, kind)
    r = wrong if s == NULL else module_of(s.of, device, &loaded)
    if r == CUDA_SUCCESS and find[0](to, loaded, s.name) != CUDA_SUCCESS:
        r = wrong
    pthread_mutex_unlock(&runtime_lock)
    return r


cdef int set_reference(void *loaded, const texture_reference *t, unsigned format, unsigned channels) noexcept nogil:
    """What the program has put into the host's variable."""
    cdef int i
    cdef unsigned flags = 0 if t.read_mode else CU_TRSF_READ_AS_INTEGER
    cdef int r = driver_textures.set_format(loaded, format, <int> channels)
    if t.normalized:
        flags |= CU_TRSF_NORMALIZED_COORDINATES
    for i in range(3):
        if r == CUDA_SUCCESS:
            r = driver_textures.set_mode(loaded, i, t.modes[i])
    if r == CUDA_SUCCESS:
        r = driver_textures.set_filter(loaded, t.filter)
    return driver_textures.set_flags(loaded, flags) if r == CUDA_SUCCESS else r


cdef public int cudaBindTexture(size_t *offset, const texture_reference *t, const void *device, const channel_format *f,
                                size_t size) noexcept nogil:
    """Linear memory for a reference; a size beyond the memory's end: all that there is."""
    cdef void *loaded = NULL
    cdef unsigned format = 0, channels = 0
    cdef CUdeviceptr base = 0
    cdef size_t whole = 0
    cdef int r
    if t == NULL or f == NULL:
        return note_error(cudaErrorInvalidValue)
    r = load_reference(t, TEXTURE_SYMBOL, &driver_textures.reference, &loaded)
    if r == CUDA_SUCCESS:
        r = format_of(f, &format, &channels)
    if r == CUDA_SUCCESS:
        r = set_reference(loaded, t, format, channels)
    if r == CUDA_SUCCESS:
        r = driver_textures.range(&base, &whole, <CUdeviceptr> device)
    if r == CUDA_SUCCESS:
        whole -= <CUdeviceptr> device - base
        r = driver_textures.set_address(offset, loaded, <CUdeviceptr> device, size if size < whole else whole)
    return note_error(r)


cdef public int cudaBindTexture2D(size_t *offset, const texture_reference *t, const void *device,
                                  const channel_format *f, size_t width, size_t height, size_t pitch) noexcept nogil:
    """Rows for a reference."""
    cdef void *loaded = NULL
    cdef array_description d
    cdef int r
    if t == NULL or f == NULL:
        return note_error(cudaErrorInvalidValue)
    r = load_reference(t, TEXTURE_SYMBOL, &driver_textures.reference, &loaded)
    if r == CUDA_SUCCESS:
        d.width, d.height = width, height
        r = format_of(f, &d.format, &d.channels)
    if r == CUDA_SUCCESS:
        r = set_reference(loaded, t, d.format, d.channels)
    if r == CUDA_SUCCESS:
        r = driver_textures.set_rows(loaded, &d, <CUdeviceptr> device, pitch)
    if r == CUDA_SUCCESS and offset != NULL:
        offset[0] = 0
    return note_error(r)


cdef public int cudaUnbindTexture(const texture_reference *t) noexcept nogil:
    """Nothing is bound any more."""
    cdef void *loaded = NULL
    cdef int r = load_reference(t, TEXTURE_SYMBOL, &driver_textures.reference, &loaded)
    return note_error(driver_textures.set_address(NULL, loaded, 0, 0) if r == CUDA_SUCCESS else r)
