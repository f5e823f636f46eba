# tex: elements of textures, lane by lane (texture.h).

cdef const ptx_texture *record_at(gompy_warp *w, uint32_t lanes, uint64_t handle, uint32_t kind, code_unit *unit,
                                  uint32_t line) noexcept nogil:
    """The record of a texture's (`kind` 0) or surface's handle, which is whole and within device memory; does not
    return if it is none."""
    cdef const ptx_texture *t = <const ptx_texture *> <uintptr_t> handle
    cdef uint64_t offset = handle - w.base, most
    cdef char text[120]
    if offset > w.size - sizeof(ptx_texture) or handle & 7 or t.magic != PTX_TEXTURE_MAGIC or t.address == 0 or \
            t.flags & PTX_TEXTURE_SURFACE != kind:
        if kind:
            snprintf(text, sizeof(text), "surface 0x%llx, which is none", <unsigned long long> handle)
        else:
            snprintf(text, sizeof(text), "texture 0x%llx, which is none, or a reference that nothing is bound to",
                     <unsigned long long> handle)
        stop_warp(w, lanes, PTX_ERROR_ILLEGAL_ADDRESS, handle, unit, line, text)
    most = t.slice * (t.depth - 1 if t.depth else 0) + t.pitch * (t.height - 1 if t.height else 0)
    most += <uint64_t> t.width * t.channels * gompy_texture_component(t.format)
    if t.address - w.base > w.size or most > w.size - (t.address - w.base):
        stop_warp(w, lanes, PTX_ERROR_ILLEGAL_ADDRESS, t.address, unit, line,
                  "a texture of memory that is not this device's")
    return t


cdef void op_texture(gompy_warp *w, uint32_t mask, uint32_t word, const uint64_t *handles, const uint32_t *places,
                     uint32_t *out, code_unit *unit, uint32_t line) noexcept nogil:
    """Coordinates and results: a row of 32 lanes each.  `word`: dimensions, + 4 where coordinates are floats, + 8 where
    the first is the number of a layer."""
    cdef const ptx_texture *t = NULL
    cdef ptx_texture layer
    cdef uint32_t place[3]
    cdef uint32_t found[4]
    cdef uint32_t i, d
    cdef int64_t number
    for i in range(32):
        if mask >> i & 1:
            if t == NULL or <uint64_t> <uintptr_t> t != handles[i]:
                t = record_at(w, <uint32_t> 1 << i, handles[i], 0, unit, line)
            if word & 8:
                number = <int32_t> places[i]
                number = 0 if number < 0 or t.depth == 0 else number if number < t.depth else t.depth - 1
                layer = t[0]
                layer.address += <uint64_t> number * t.slice
                layer.depth = 1
                place[0], place[1], place[2] = places[32 + i], places[64 + i], 0
                gompy_texture(&layer, word & 3, word & 4, place, found)
            else:
                for d in range(3):
                    place[d] = places[d * 32 + i]
                gompy_texture(t, word & 3, word & 4, place, found)
            for d in range(4):
                out[d * 32 + i] = found[d]
