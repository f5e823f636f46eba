# Moving and filling bytes, here and now.

cdef struct copy_shape:
    char *to
    const char *of
    size_t width, height, depth
    size_t to_pitch, of_pitch, to_slice, of_slice

cdef struct fill_shape:
    char *to
    uint32_t value
    uint32_t unit              # 1, 2 or 4 bytes
    size_t count, height, pitch


cdef void note_unset_copy(gpu *g, uint64_t address, uint64_t size) noexcept nogil:
    """Bytes have been copied that may have been unset, and have their marks.  Without memory_lock."""
    cdef block *n
    if memchr(shadow_of(g, address), SHADOW_ALLOCATED, size) == NULL:
        return
    pthread_mutex_lock(&memory_lock)
    n = block_at(address, NULL, NULL)
    if n != NULL and (n.use == HOST_MEMORY or n.use == MANAGED):
        keep_unset_copy(g, n, address, size)
    pthread_mutex_unlock(&memory_lock)


cdef void mark_copied(uint64_t to, uint64_t of, uint64_t size) noexcept nogil:
    """Bytes were copied: device memory is as written as what it came from.  Without memory_lock."""
    cdef gpu *g = gpu_of(to)
    cdef gpu *other = gpu_of(of)
    if g == NULL:
        return
    if other != NULL and size:
        see_host_writes(of, size)
        settle_marks(other, of, size)
    if other == NULL or all_written(other, of, size):
        mark_written(to, size)
    elif size:
        settle_marks(g, to, size)
        shadow_copied(shadow_of(g, to), shadow_of(other, of), size)
        note_marked(g, to, size, 0)
        note_unset_copy(g, to, size)


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
                mark_copied(<uint64_t>(c.to + z * c.to_slice + y * c.to_pitch),
                            <uint64_t>(c.of + z * c.of_slice + y * c.of_pitch), c.width)


cdef void fill_bytes(fill_shape *f) noexcept nogil:
    """Fill lines with units of 1, 2 or 4 bytes."""
    cdef size_t x, y
    cdef uint16_t *two
    cdef uint32_t *four
    for y in range(f.height):
        if checking:
            mark_written(<uint64_t>(f.to + y * f.pitch), f.count * f.unit)
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
