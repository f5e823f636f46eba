# Mipmapped arrays: an array for each level, all in one block, as ptx_texture_halve (executor.h) has them.

cdef struct mipmap:
    handle_head head
    context *of
    mipmap *next               # of the context; guarded by work_lock
    uint64_t address
    unsigned count
    array *levels[PTX_TEXTURE_LEVELS]


cdef unsigned most_levels(size_t width, size_t height, size_t depth) noexcept nogil:
    """As many as there are until all dimensions are 1."""
    cdef size_t largest = max(max(width, height), depth)
    cdef unsigned found = 1
    while largest > 1 and found < PTX_TEXTURE_LEVELS:
        largest >>= 1
        found += 1
    return found


cdef void fill_level(array *a, const array *first, const ptx_texture *t, size_t element) noexcept nogil:
    """A level, as wide as its record; it lacks the dimensions that the first one lacks."""
    a.width, a.height, a.depth = t.width, t.height if first.height else 0, t.depth if first.depth else 0
    a.row, a.pitch, a.slice, a.address = t.width * element, t.pitch, t.slice, t.address
    a.format, a.channels, a.flags, a.level = first.format, first.channels, first.flags, True


cdef bint forget_mipmap(mipmap *m) noexcept nogil:
    """Take it, with its levels, from its context; False if another thread has.  Its memory stays."""
    cdef mipmap **link
    cdef bint found
    cdef unsigned i
    pthread_mutex_lock(&work_lock)
    found = is_handle(MIPMAP, m)
    if found:
        link = &m.of.mipmaps
        while link[0] != m:
            link = &link[0].next
        link[0] = m.next
        for i in range(m.count):
            drop_array(m.levels[i])
        free_handle(MIPMAP, m)
    pthread_mutex_unlock(&work_lock)
    return found


cdef void forget_mipmaps(context *c) noexcept nogil:
    """A context ends."""
    while c.mipmaps != NULL:
        forget_mipmap(c.mipmaps)


cdef int make_mipmap(context *c, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned count, mipmap **to) noexcept nogil:
    """A mipmapped array of so many levels, or as many as there may be."""
    cdef ptx_texture t
    cdef array first
    cdef mipmap *m
    cdef size_t element = component_bytes(d.Format) * d.NumChannels
    cdef size_t size
    cdef unsigned i
    cdef int r = check_sizes(d.Width, d.Height, d.Depth, element, d.Flags)
    if r != CUDA_SUCCESS:
        return r
    memset(&t, 0, sizeof(t))
    memset(&first, 0, sizeof(first))
    first.height, first.depth, first.format, first.channels, first.flags = (
        d.Height, d.Depth, d.Format, d.NumChannels, d.Flags
    )
    t.width, t.height, t.depth = <uint32_t>d.Width, <uint32_t>max(d.Height, <size_t>1), <uint32_t>max(
        d.Depth, <size_t>1
    )
    t.flags = PTX_TEXTURE_LAYERS if d.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP) else 0
    t.pitch = round_up(d.Width * element, PTX_TEXTURE_ROW)
    t.slice = t.pitch * t.height
    if not fits_product(t.slice, t.depth, &size) or size > c.device.bytes:
        return CUDA_ERROR_OUT_OF_MEMORY
    m = <mipmap *>new_handle(MIPMAP)
    if m == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    memset(m.levels, 0, sizeof(m.levels))
    m.of = c
    m.count = most_levels(d.Width, d.Height, d.Depth if not t.flags else 0)
    m.count = min(max(count, <unsigned>1), m.count)
    r = place_levels(m, &first, &t, element)
    if r != CUDA_SUCCESS:
        for i in range(m.count):
            if m.levels[i] != NULL:
                free_handle(ARRAY, m.levels[i])
        free_handle(MIPMAP, m)
        return r
    for i in range(m.count):
        enlist_array(c, m.levels[i])
    pthread_mutex_lock(&work_lock)
    m.next = c.mipmaps
    c.mipmaps = m
    pthread_mutex_unlock(&work_lock)
    to[0] = m
    return CUDA_SUCCESS


cdef int place_levels(mipmap *m, const array *first, ptx_texture *t, size_t element) noexcept nogil:
    """The block, and the arrays in it; `t`: the first one, at 0."""
    cdef context *c = m.of
    cdef uint64_t size
    cdef unsigned i
    for i in range(m.count):
        m.levels[i] = <array *>new_handle(ARRAY)
        if m.levels[i] == NULL:
            return CUDA_ERROR_OUT_OF_MEMORY
        if i:
            ptx_texture_halve(t, <uint32_t>element)
        fill_level(m.levels[i], first, t, element)
    # A multiple, too: with GOMPY_CHECK a block ends where pages do, and begins at what its size is a multiple of.
    size = round_up(t.address + t.slice * t.depth, PTX_TEXTURE_LEVEL)
    m.address = alloc_in(c.device, &c.device.memory, size, PTX_TEXTURE_LEVEL, ALLOCATION, c, NULL, 0)
    if m.address == 0:
        return CUDA_ERROR_OUT_OF_MEMORY
    for i in range(m.count):
        m.levels[i].address += m.address
    return CUDA_SUCCESS
