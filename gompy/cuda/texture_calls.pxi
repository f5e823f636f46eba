# cuTexObject*, cuTexRef*: textures of linear memory, rows and arrays.  An object
# is a record in device memory that kernels read (gompy/ptx/executor.h, struct ptx_texture), and its handle the address;
# a reference is a module's variable.

cdef enum:
    KEPT_RESOURCE = 128            # where in an object's block its descriptions are
    KEPT_TEXTURE = 272
    OBJECT_BYTES = 376

cdef struct resource_description:  # CUDA_RESOURCE_DESC, of linear memory and of rows
    int kind
    CUdeviceptr address
    unsigned format
    unsigned channels
    size_t width               # linear: bytes
    size_t height
    size_t pitch
    size_t rest[11]
    unsigned flags

cdef struct texture_description:   # CUDA_TEXTURE_DESC
    int modes[3]
    int filter
    unsigned flags
    unsigned anisotropy
    int mipmap_filter
    float bias
    float levels[2]
    float border[4]
    int rest[12]


cdef struct view_description:      # CUDA_RESOURCE_VIEW_DESC
    int format
    size_t size[3]
    unsigned levels[2]             # the first and the last one
    unsigned layers[2]
    unsigned rest[16]


cdef bint is_all(const view_description *v, const ptx_texture *t) noexcept nogil:
    """Whether a view shows an array as it is."""
    cdef uint32_t[8] formats = [PTX_TEXTURE_U8, PTX_TEXTURE_S8, PTX_TEXTURE_U16, PTX_TEXTURE_S16,
                                PTX_TEXTURE_U32, PTX_TEXTURE_S32, PTX_TEXTURE_HALF, PTX_TEXTURE_FLOAT]
    cdef uint32_t[3] size = [t.width, t.height, t.depth]
    cdef int i
    if v.format != 0:  # else the array's; CUresourceViewFormat: each format of one, two and four components
        if not 1 <= v.format <= 24 or t.format != formats[(v.format - 1) / 3]:
            return False
        if t.channels != <uint32_t>1 << (v.format - 1) % 3:
            return False
    for i in range(3):
        if v.size[i] != size[i] and not (i > 0 and v.size[i] == 0 and size[i] == 1):
            return False
    if v.levels[0] != 0 or v.levels[1] != (t.levels - 1 if t.levels else 0) or v.layers[0] != 0:
        return False
    return v.layers[1] == (t.depth - 1 if t.flags & PTX_TEXTURE_LAYERS else 0)


cdef int describe_texture(ptx_texture *t, const resource_description *r, const texture_description *d) noexcept nogil:
    """The record that kernels read."""
    cdef size_t element = component_bytes(r.format) * r.channels
    cdef size_t extent = 0
    cdef int i
    if element == 0 or r.channels not in (1, 2, 4) or r.address & 15:
        return CUDA_ERROR_INVALID_VALUE
    if d.flags & ~<unsigned>(CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES):
        return CUDA_ERROR_NOT_SUPPORTED
    if d.anisotropy > 1 or d.filter not in (0, 1):
        return CUDA_ERROR_NOT_SUPPORTED if d.filter in (0, 1) else CUDA_ERROR_INVALID_VALUE
    memset(t, 0, sizeof(ptx_texture))
    t.address, t.format, t.channels, t.filter = r.address, r.format, r.channels, d.filter
    if r.kind == CU_RESOURCE_TYPE_LINEAR:
        t.width, t.flags = <uint32_t>(r.width / element), PTX_TEXTURE_LINEAR_MEMORY
        t.height = t.depth = 1
        extent = r.width
        if r.width / element > <size_t>1 << 28:
            return CUDA_ERROR_INVALID_VALUE
    else:
        if r.width == 0 or r.height == 0 or r.width > MAX_ROW or r.height > MAX_ROWS or r.pitch < r.width * element:
            return CUDA_ERROR_INVALID_VALUE
        t.width, t.height, t.depth, t.pitch = <uint32_t>r.width, <uint32_t>r.height, 1, r.pitch
        if not fits_extent(r.width * element, r.height, 1, r.pitch, 0, &extent):
            return CUDA_ERROR_INVALID_VALUE
    if extent == 0 or check_device_range(r.address, extent) != CUDA_SUCCESS:
        return CUDA_ERROR_INVALID_VALUE
    for i in range(3):
        if not 0 <= d.modes[i] <= 3:
            return CUDA_ERROR_INVALID_VALUE
        t.modes[i] = d.modes[i]
    for i in range(4):
        t.border[i] = d.border[i]
    if d.flags & CU_TRSF_READ_AS_INTEGER:
        t.flags |= PTX_TEXTURE_INTEGERS
    if d.flags & CU_TRSF_NORMALIZED_COORDINATES:
        t.flags |= PTX_TEXTURE_NORMALIZED
    t.magic = PTX_TEXTURE_MAGIC
    return CUDA_SUCCESS


cdef int describe_array_texture(ptx_texture *t, void *p, const texture_description *d) noexcept nogil:
    """The record of an array's: of its first slice's rows, and how many slices there are."""
    cdef array *a = <array *>p
    cdef resource_description rows
    cdef int r
    if not is_handle(ARRAY, p):
        return CUDA_ERROR_INVALID_HANDLE
    memset(&rows, 0, sizeof(rows))
    rows.kind, rows.address, rows.format, rows.channels = CU_RESOURCE_TYPE_PITCH2D, a.address, a.format, a.channels
    rows.width, rows.height, rows.pitch = a.width, rows_of(a), a.pitch
    r = describe_texture(t, &rows, d)
    t.depth, t.slice = <uint32_t>(a.depth if a.depth else 1), a.slice
    t.flags |= PTX_TEXTURE_LAYERS if a.flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP) else 0
    return r


cdef int describe_mipmap_texture(ptx_texture *t, void *p, const texture_description *d) noexcept nogil:
    """The record of a mipmapped array's: that of its first level, and how the others are chosen."""
    cdef mipmap *m = <mipmap *>p
    cdef int r
    if not is_handle(MIPMAP, p):
        return CUDA_ERROR_INVALID_HANDLE
    if not d.flags & CU_TRSF_NORMALIZED_COORDINATES or d.mipmap_filter not in (0, 1):
        return CUDA_ERROR_INVALID_VALUE
    r = describe_array_texture(t, m.levels[0], d)
    t.levels, t.mipmap_filter = m.count, d.mipmap_filter
    t.bias, t.least, t.most = d.bias, d.levels[0], d.levels[1]
    return r


cdef public int cuTexObjectCreate(uint64_t *to, const resource_description *r, const texture_description *d,
                                  const void *view) noexcept nogil:
    """A texture of an array, a mipmapped array, linear memory or rows; views of a part, or of another format:
    CUDA_ERROR_NOT_SUPPORTED."""
    cdef context *c
    cdef ptx_texture t
    cdef uint64_t address
    cdef int answer = current_context(&c)
    if answer != CUDA_SUCCESS:
        return answer
    if to == NULL or r == NULL or d == NULL or not 0 <= r.kind <= CU_RESOURCE_TYPE_PITCH2D:
        return CUDA_ERROR_INVALID_VALUE
    if view != NULL and r.kind not in (CU_RESOURCE_TYPE_ARRAY, CU_RESOURCE_TYPE_MIPMAPPED_ARRAY):
        return CUDA_ERROR_INVALID_VALUE
    if r.kind == CU_RESOURCE_TYPE_ARRAY:
        answer = describe_array_texture(&t, <void *>r.address, d)
    elif r.kind == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        answer = describe_mipmap_texture(&t, <void *>r.address, d)
    else:
        answer = describe_texture(&t, r, d)
    if answer == CUDA_SUCCESS and view != NULL and not is_all(<const view_description *>view, &t):
        answer = CUDA_ERROR_NOT_SUPPORTED
    if answer != CUDA_SUCCESS:
        return answer
    address = alloc_in(c.device, &c.device.memory, OBJECT_BYTES, 512, TEXTURE, c, NULL, 0)
    if address == 0:
        return CUDA_ERROR_OUT_OF_MEMORY
    memcpy(<void *>address, &t, sizeof(t))
    memcpy(<char *>address + KEPT_RESOURCE, r, sizeof(resource_description))
    memcpy(<char *>address + KEPT_TEXTURE, d, sizeof(texture_description))
    mark_shadow(address, OBJECT_BYTES, SHADOW_WRITTEN)
    to[0] = address
    return CUDA_SUCCESS


cdef public int cuTexObjectDestroy(uint64_t object) noexcept nogil:
    """The texture's memory stays."""
    cdef int r = api_state()
    return r if r != CUDA_SUCCESS else free_block_at(object, TEXTURE, TEXTURE)


cdef int enter_texture(uint64_t object, uint32_t kind, const void *to) noexcept nogil:
    """What a question about an object begins with."""
    cdef block *n
    cdef bint good
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&memory_lock)
    n = block_at(object, NULL, NULL)
    good = n != NULL and n.use == kind and n.start == object
    pthread_mutex_unlock(&memory_lock)
    return CUDA_SUCCESS if good and to != NULL else CUDA_ERROR_INVALID_VALUE


cdef public int cuTexObjectGetResourceDesc(resource_description *to, uint64_t object) noexcept nogil:
    """As it was given."""
    cdef int r = enter_texture(object, TEXTURE, to)
    if r == CUDA_SUCCESS:
        memcpy(to, <char *>object + KEPT_RESOURCE, sizeof(resource_description))
    return r


cdef public int cuTexObjectGetTextureDesc(texture_description *to, uint64_t object) noexcept nogil:
    """As it was given."""
    cdef int r = enter_texture(object, TEXTURE, to)
    if r == CUDA_SUCCESS:
        memcpy(to, <char *>object + KEPT_TEXTURE, sizeof(texture_description))
    return r


# --- references ------------------------------------------------------------------------------------------------------


cdef int module_reference(void **to, void *p, const char *name, uint32_t flags) noexcept nogil:
    """A module's reference: its record, with nothing bound to it yet; `flags` say what it is."""
    cdef CUdeviceptr address = 0
    cdef size_t size = 0
    cdef ptx_texture *t
    cdef int r = cuModuleGetGlobal_v2(&address, &size, p, name)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    if size != sizeof(ptx_texture):
        return CUDA_ERROR_NOT_FOUND
    t = <ptx_texture *>address
    if t.magic != PTX_TEXTURE_MAGIC:
        memset(t, 0, sizeof(ptx_texture))
        t.magic, t.format, t.channels, t.flags = PTX_TEXTURE_MAGIC, PTX_TEXTURE_FLOAT, 1, flags
        t.modes[0] = t.modes[1] = t.modes[2] = PTX_TEXTURE_CLAMP
        mark_shadow(address, size, SHADOW_WRITTEN)
    if (t.flags ^ flags) & PTX_TEXTURE_SURFACE:
        return CUDA_ERROR_NOT_FOUND
    to[0] = <void *>address
    return CUDA_SUCCESS


cdef public int cuModuleGetTexRef(void **to, void *p, const char *name) noexcept nogil:
    """A module's texture reference."""
    return module_reference(to, p, name, PTX_TEXTURE_LINEAR_MEMORY)


cdef int enter_reference(void *p, ptx_texture **to, uint32_t kind=0) noexcept nogil:
    """What a call about a texture (`kind` 0) or surface reference begins with: the record, in a module's variable."""
    cdef context *c
    cdef block *n
    cdef bint good
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&memory_lock)
    n = block_at(<uint64_t>p, NULL, NULL)
    good = n != NULL and n.use == VARIABLE and n.start == <uint64_t>p and n.length == sizeof(ptx_texture)
    pthread_mutex_unlock(&memory_lock)
    cdef ptx_texture *t = <ptx_texture *>p
    if not good or t.magic != PTX_TEXTURE_MAGIC or t.flags & PTX_TEXTURE_SURFACE != kind:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = <ptx_texture *>p
    return CUDA_SUCCESS


cdef void size_reference(ptx_texture *t) noexcept nogil:
    """How many elements the bytes of linear memory are."""
    if t.flags & PTX_TEXTURE_LINEAR_MEMORY:
        t.width = <uint32_t>(t.slice / (component_bytes(t.format) * t.channels))


cdef public int cuTexRefSetFormat(void *p, unsigned format, int channels) noexcept nogil:
    """What an element is."""
    cdef ptx_texture *t = NULL
    cdef int r = enter_reference(p, &t)
    if r != CUDA_SUCCESS:
        return r
    if component_bytes(format) == 0 or channels not in (1, 2, 4):
        return CUDA_ERROR_INVALID_VALUE
    t.format, t.channels = format, channels
    size_reference(t)
    return CUDA_SUCCESS


cdef public int cuTexRefSetFlags(void *p, unsigned flags) noexcept nogil:
    """CU_TRSF_READ_AS_INTEGER and CU_TRSF_NORMALIZED_COORDINATES."""
    cdef ptx_texture *t = NULL
    cdef int r = enter_reference(p, &t)
    if r != CUDA_SUCCESS:
        return r
    if flags & ~<unsigned>(CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES):
        return CUDA_ERROR_NOT_SUPPORTED
    t.flags &= PTX_TEXTURE_LINEAR_MEMORY
    if flags & CU_TRSF_READ_AS_INTEGER:
        t.flags |= PTX_TEXTURE_INTEGERS
    if flags & CU_TRSF_NORMALIZED_COORDINATES:
        t.flags |= PTX_TEXTURE_NORMALIZED
    return CUDA_SUCCESS


cdef public int cuTexRefSetAddressMode(void *p, int dimension, int mode) noexcept nogil:
    """What is beyond the edges."""
    cdef ptx_texture *t = NULL
    cdef int r = enter_reference(p, &t)
    if r != CUDA_SUCCESS:
        return r
    if not 0 <= dimension < 3 or not 0 <= mode <= 3:
        return CUDA_ERROR_INVALID_VALUE
    t.modes[dimension] = mode
    return CUDA_SUCCESS


cdef public int cuTexRefSetFilterMode(void *p, int mode) noexcept nogil:
    """CU_TR_FILTER_MODE_POINT or _LINEAR."""
    cdef ptx_texture *t = NULL
    cdef int r = enter_reference(p, &t)
    if r != CUDA_SUCCESS:
        return r
    if mode not in (0, 1):
        return CUDA_ERROR_INVALID_VALUE
    t.filter = mode
    return CUDA_SUCCESS


cdef public int cuTexRefSetAddress_v2(size_t *offset, void *p, CUdeviceptr address, size_t size) noexcept nogil:
    """Bind linear memory; 0 bytes at 0: nothing."""
    cdef ptx_texture *t = NULL
    cdef int r = enter_reference(p, &t)
    if r != CUDA_SUCCESS:
        return r
    if (address or size) and (size == 0 or check_device_range(address, size) != CUDA_SUCCESS):
        return CUDA_ERROR_INVALID_VALUE
    t.address, t.slice, t.pitch, t.height, t.depth = address, size, 0, 1, 1
    t.flags |= PTX_TEXTURE_LINEAR_MEMORY
    size_reference(t)
    if offset != NULL:
        offset[0] = 0
    return CUDA_SUCCESS


cdef public int cuTexRefSetAddress2D_v3(void *p, const CUDA_ARRAY_DESCRIPTOR *d, CUdeviceptr address,
                                        size_t pitch) noexcept nogil:
    """Bind rows."""
    cdef ptx_texture *t = NULL
    cdef size_t extent = 0, element
    cdef int r = enter_reference(p, &t)
    if r != CUDA_SUCCESS:
        return r
    if d == NULL or component_bytes(d.Format) == 0 or d.NumChannels not in (1, 2, 4):
        return CUDA_ERROR_INVALID_VALUE
    element = component_bytes(d.Format) * d.NumChannels
    if d.Width == 0 or d.Height == 0 or d.Width > 131072 or d.Height > 65000 or pitch < d.Width * element:
        return CUDA_ERROR_INVALID_VALUE
    if not fits_extent(d.Width * element, d.Height, 1, pitch, 0, &extent):
        return CUDA_ERROR_INVALID_VALUE
    if check_device_range(address, extent) != CUDA_SUCCESS:
        return CUDA_ERROR_INVALID_VALUE
    t.address, t.pitch, t.slice, t.format, t.channels = address, pitch, 0, d.Format, d.NumChannels
    t.width, t.height, t.depth = <uint32_t>d.Width, <uint32_t>d.Height, 1
    t.flags &= ~<uint32_t>PTX_TEXTURE_LINEAR_MEMORY
    return CUDA_SUCCESS


cdef void bind_array(ptx_texture *t, const array *a) noexcept nogil:
    """What a reference reads is an array from now on."""
    t.address, t.pitch, t.slice, t.format, t.channels = a.address, a.pitch, a.slice, a.format, a.channels
    t.width, t.height, t.depth = <uint32_t>a.width, <uint32_t>rows_of(a), <uint32_t>(a.depth if a.depth else 1)


cdef public int cuTexRefSetArray(void *p, void *q, unsigned flags) noexcept nogil:
    """Bind an array, with its format (CU_TRSA_OVERRIDE_FORMAT, the one flag)."""
    cdef ptx_texture *t = NULL
    cdef array *a = <array *>q
    cdef int r = enter_reference(p, &t)
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(ARRAY, q):
        return CUDA_ERROR_INVALID_HANDLE
    if flags != CU_TRSA_OVERRIDE_FORMAT:
        return CUDA_ERROR_INVALID_VALUE
    bind_array(t, a)
    t.flags &= ~<uint32_t>PTX_TEXTURE_LINEAR_MEMORY
    return CUDA_SUCCESS
