# tex: elements of textures, lane by lane (texture.h).

cdef void check_texture(gompy_warp *w, uint32_t lanes, const ptx_texture *t, code_unit *unit,
                        uint32_t line) noexcept nogil:
    """Its elements are within device memory; does not return if not."""
    cdef uint64_t most = t.slice * (t.depth - 1 if t.depth else 0) + t.pitch * (t.height - 1 if t.height else 0)
    most += <uint64_t> t.width * t.channels * gompy_texture_component(t.format)
    if gompy_place(w, t.address, most, 0) == NULL:
        stop_warp(w, lanes, PTX_ERROR_ILLEGAL_ADDRESS, t.address, unit, line,
                  "a texture of memory that is not this device's")


cdef const ptx_texture *record_at(gompy_warp *w, uint32_t lanes, uint64_t handle, uint32_t kind, code_unit *unit,
                                  uint32_t line) noexcept nogil:
    """The record of a texture's (`kind` 0) or surface's handle, which is whole and within device memory; does not
    return if it is none."""
    cdef const ptx_texture *t = <const ptx_texture *> <uintptr_t> handle
    cdef uint64_t offset = handle - w.base
    cdef char text[120]
    if offset > w.size - sizeof(ptx_texture) or handle & 7 or t.magic != PTX_TEXTURE_MAGIC or t.address == 0 or \
            t.flags & PTX_TEXTURE_SURFACE != kind:
        if kind:
            snprintf(text, sizeof(text), "surface 0x%llx, which is none", <unsigned long long> handle)
        else:
            snprintf(text, sizeof(text), "texture 0x%llx, which is none, or a reference that nothing is bound to",
                     <unsigned long long> handle)
        stop_warp(w, lanes, PTX_ERROR_ILLEGAL_ADDRESS, handle, unit, line, text)
    check_texture(w, lanes, t, unit, line)
    return t


cdef void fetch_layer(const ptx_texture *t, uint32_t word, const uint32_t *places, uint32_t *found) noexcept nogil:
    """An element of a layer, of a face of a cube, or of one in layers; places of one lane, a row apart."""
    cdef ptx_texture layer = t[0]
    cdef uint32_t place[3]
    cdef uint32_t slices = t.depth if t.depth else 1
    cdef uint32_t parts = max(slices // 6, <uint32_t> 1) if word & TEXTURE_CUBE else slices
    cdef int64_t number = 0
    cdef uint32_t d
    if word & TEXTURE_LAYERED:
        number = <int32_t> places[0]
        number = min(max(number, <int64_t> 0), <int64_t> parts - 1)
        places += 32
    place[0], place[1], place[2] = places[0], places[32], 0
    if word & TEXTURE_CUBE:
        number = number * 6 + gompy_texture_face(places, 32, place)
        layer.flags |= PTX_TEXTURE_NORMALIZED
        for d in range(2):
            layer.modes[d] = PTX_TEXTURE_CLAMP
    layer.address += <uint64_t> number * t.slice if number < slices else 0
    layer.depth = 1
    if word & TEXTURE_GATHER:
        gompy_texture_gather(&layer, word >> TEXTURE_COMPONENT, place, found)
    else:
        gompy_texture(&layer, word & 3, word & 4, place, found)


cdef void fetch_element(const ptx_texture *t, uint32_t word, const uint32_t *places, uint32_t *found) noexcept nogil:
    """An element, of a texture of one level; places of one lane, a row apart."""
    cdef uint32_t place[3]
    cdef uint32_t d
    if word & (TEXTURE_LAYERED | TEXTURE_CUBE):
        fetch_layer(t, word, places, found)
    else:
        for d in range(3):
            place[d] = places[d * 32]
        if word & TEXTURE_GATHER:
            gompy_texture_gather(t, word >> TEXTURE_COMPONENT, place, found)
        else:
            gompy_texture(t, word & 3, word & 4, place, found)


cdef void fetch_levels(gompy_warp *w, uint32_t lanes, const ptx_texture *t, uint32_t word, const uint32_t *places,
                       const uint32_t *levels, uint32_t *found, code_unit *unit, uint32_t line) noexcept nogil:
    """An element of a level, or what is between those of two."""
    cdef ptx_texture level
    cdef uint32_t other[4]
    cdef float at = gompy_texture_lod(t, word & 3 if word & TEXTURE_GRADIENT else 0, levels)
    cdef uint32_t low = <uint32_t> (at if t.mipmap_filter else at + <float> 0.5)
    cdef float part = <float> (<uint32_t> ((at - <float> low) * 256 + <float> 0.5)) / 256 if t.mipmap_filter else 0
    gompy_texture_level(t, low, &level)
    check_texture(w, lanes, &level, unit, line)
    fetch_element(&level, word, places, found)
    if part > 0:
        gompy_texture_level(t, low + 1, &level)
        check_texture(w, lanes, &level, unit, line)
        fetch_element(&level, word, places, other)
        gompy_texture_between(t, part, other, found)


cdef void op_texture(gompy_warp *w, uint32_t mask, uint32_t word, const uint64_t *handles, const uint32_t *places,
                     const uint32_t *levels, uint32_t *out, code_unit *unit, uint32_t line) noexcept nogil:
    """Coordinates and results: a row of 32 lanes each.  `word`: dimensions, + 4 where coordinates are floats, + 8 where
    the first is the number of a layer, + 16 where the others are a direction to a cube's face, + 32 where `levels` has
    the level of a mipmapped array, + 64 where it has how far coordinates go to the right and down, three rows each,
    + 128 where a component (its number from bit 8 on) of the four elements around the place is wanted."""
    cdef const ptx_texture *t = NULL
    cdef uint32_t found[4]
    cdef uint32_t i, d
    for i in range(32):
        if mask >> i & 1:
            if t == NULL or <uint64_t> <uintptr_t> t != handles[i]:
                t = record_at(w, <uint32_t> 1 << i, handles[i], 0, unit, line)
            if word & (TEXTURE_LEVEL | TEXTURE_GRADIENT):
                fetch_levels(w, <uint32_t> 1 << i, t, word, places + i, levels + i, found, unit, line)
            else:
                fetch_element(t, word, places + i, found)
            for d in range(4):
                out[d * 32 + i] = found[d]


cdef void op_query(gompy_warp *w, uint32_t mask, uint32_t word, const uint64_t *handles, const uint32_t *levels,
                   uint32_t *out, code_unit *unit, uint32_t line) noexcept nogil:
    """What textures and surfaces are: a member of QUERIES, + QUERY_SURFACE, + QUERY_LEVEL."""
    cdef const ptx_texture *t
    cdef ptx_texture level
    cdef uint32_t i
    for i in range(32):
        if not mask >> i & 1:
            continue
        t = record_at(w, <uint32_t> 1 << i, handles[i], PTX_TEXTURE_SURFACE if word & QUERY_SURFACE else 0, unit, line)
        if word & QUERY_LEVEL:
            gompy_texture_level(t, min(levels[i], <uint32_t> PTX_TEXTURE_LEVELS), &level)
            t = &level
        out[i] = gompy_texture_query(t, word & 63)
