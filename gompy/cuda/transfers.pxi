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
