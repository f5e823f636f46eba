# suld, sust and sured: bytes or elements of surfaces, lane by lane.  A surface is a record as a texture's is.

cdef char *surface_place(gompy_warp *w, int lane, const ptx_texture *t, uint32_t word, const uint32_t *places,
                         uint32_t bytes, code_unit *unit, uint32_t line) noexcept nogil:
    """Where a lane's bytes are; NULL: outside, which the form allows."""
    cdef int64_t at[3]
    cdef int64_t most[3]
    cdef int dimensions = word & 3
    cdef int mode = word >> SURFACE_MODE & 3, d, of = 0
    cdef int64_t element = <int64_t> t.channels * gompy_texture_component(t.format)
    cdef char text[160]
    at[0] = at[1] = at[2] = 0
    most[0] = t.width * element - bytes
    most[1], most[2] = <int64_t> t.height - 1, <int64_t> t.depth - 1
    if word & SURFACE_LAYERED:
        at[2] = <int32_t> places[lane]
        of = 1
    for d in range(dimensions):
        at[d] = <int32_t> places[(d + of) * 32 + lane]
    if word & SURFACE_FORMATTED:
        at[0] *= element
    if at[0] & (bytes - 1):
        snprintf(text, sizeof(text), "surface: byte %lld is not a multiple of the %u bytes that are accessed",
                 <long long> at[0], bytes)
        stop_warp(w, <uint32_t> 1 << lane, PTX_ERROR_MISALIGNED_ADDRESS, t.address, unit, line, text)
    for d in range(3):
        if 0 <= at[d] <= most[d]:
            continue
        if mode == SURFACE_MODES_ZERO or most[d] < 0:
            return NULL
        if mode == SURFACE_MODES_TRAP:
            snprintf(text, sizeof(text), "surface: byte %lld of row %lld, slice %lld, is outside of its %lld bytes, "
                     "%u rows, %u slices", <long long> at[0], <long long> at[1], <long long> at[2],
                     <long long> (most[0] + bytes), t.height, t.depth)
            stop_warp(w, <uint32_t> 1 << lane, PTX_ERROR_LAUNCH_FAILED, t.address, unit, line, text)
        at[d] = 0 if at[d] < 0 else most[d]
    return <char *> <uintptr_t> (t.address + <uint64_t> at[2] * t.slice + <uint64_t> at[1] * t.pitch + <uint64_t> at[0])


cdef void op_surface(gompy_warp *w, uint32_t mask, uint32_t word, const uint64_t *handles, const uint32_t *places,
                     uint64_t *data, code_unit *unit, uint32_t line) noexcept nogil:
    """Coordinates and components: a row of 32 lanes each.  `word`: SURFACE_*."""
    cdef const ptx_texture *t = NULL
    cdef char *place
    cdef uint32_t size = word >> SURFACE_BYTES & 15, count = word >> SURFACE_COUNT & 7, i, c
    cdef bint converts = word & SURFACE_FORMATTED != 0 and word & SURFACE_STORE != 0, has_sign
    for i in range(32):
        if not mask >> i & 1:
            continue
        if t == NULL or <uint64_t> <uintptr_t> t != handles[i]:
            t = record_at(w, <uint32_t> 1 << i, handles[i], PTX_TEXTURE_SURFACE, unit, line)
            if converts:  # components that the element lacks are left out
                size = gompy_texture_component(t.format)
                count = t.channels
            has_sign = word & SURFACE_SIGNED != 0
            if word & SURFACE_FORMATTED:
                has_sign = gompy_surface_has_sign(t.format)
        place = surface_place(w, i, t, word, places, size * count, unit, line)
        for c in range(count):
            if word >> SURFACE_REDUCE & 7:
                if place != NULL:
                    gompy_surface_reduce(place, size, (word >> SURFACE_REDUCE & 7) - 1, has_sign, data[i])
            elif converts:
                if place != NULL and c < word >> SURFACE_COUNT & 7:
                    gompy_surface_put(place + c * size, t.format, <uint32_t> data[c * 32 + i])
            elif word & SURFACE_STORE:
                if place != NULL:
                    memcpy(place + c * size, &data[c * 32 + i], size)
            else:
                data[c * 32 + i] = read_place(place + c * size, size) if place != NULL else 0
        if place != NULL and word & SURFACE_STORE and (<run *> w.launch).module.image.check and \
                gompy_in_shadow(w, <uint64_t> <uintptr_t> place):
            memset(w.shadow + (<uint64_t> <uintptr_t> place - w.base), SHADOW_WRITTEN, size * count)
