# cp.async.bulk: copies between device and shared memory, done at once; the barrier is told of their bytes.

cdef enum:
    BULK_STEP = 16                      # what places and sizes are multiples of


cdef void copy_step(gompy_warp *w, int lane, uint64_t to, uint64_t source, uint32_t kept, bint checked, code_unit *unit,
                    uint32_t line) noexcept nogil:
    """BULK_STEP bytes, or those of them that are kept: a bit each."""
    cdef char *place
    cdef const char *data
    cdef uint32_t i
    if checked:
        data = checked_place(w, lane, source, BULK_STEP, READS, unit, line)
    else:
        data = lane_place(w, lane, source, BULK_STEP, False, unit, line)
    if kept == (<uint32_t> 1 << BULK_STEP) - 1:
        if checked:
            place = checked_place(w, lane, to, BULK_STEP, WRITES, unit, line)
        else:
            place = lane_place(w, lane, to, BULK_STEP, True, unit, line)
        memcpy(place, data, BULK_STEP)
        return
    place = lane_place(w, lane, to, BULK_STEP, True, unit, line)
    for i in range(BULK_STEP):
        if kept >> i & 1:
            if checked:
                checked_place(w, lane, to + i, 1, WRITES, unit, line)
            place[i] = data[i]


cdef void copy_bulk(gompy_warp *w, uint32_t mask, const uint64_t *to, const uint64_t *source, const uint64_t *sizes,
                    const uint64_t *barriers, const uint64_t *kept, bint checked, code_unit *unit,
                    uint32_t line) noexcept nogil:
    """Each lane's copy, in lane order."""
    cdef uint64_t answer, at
    cdef uint64_t *barrier
    cdef char *place
    cdef const char *data
    cdef char text[96]
    cdef int i
    for i in range(32):
        if not mask >> i & 1:
            continue
        if sizes[i] % BULK_STEP:
            snprintf(text, sizeof(text), "a copy of %llu bytes, which is no multiple of %d",
                     <unsigned long long> sizes[i], BULK_STEP)
            stop_warp(w, <uint32_t> 1 << i, PTX_ERROR_ILLEGAL_INSTRUCTION, 0, unit, line, text)
        place = data = NULL
        if sizes[i] <= w.size:  # of more than there is the first step outside is told
            place, data = gompy_place(w, to[i], sizes[i], i), gompy_place(w, source[i], sizes[i], i)
        if place != NULL and data != NULL and (to[i] | source[i]) % BULK_STEP == 0 and kept == NULL and not checked:
            memcpy(place, data, sizes[i])
        else:
            at = 0
            while at < sizes[i]:
                copy_step(w, i, to[i] + at, source[i] + at, <uint32_t> kept[i] if kept != NULL else 0xFFFF, checked,
                          unit, line)
                at += BULK_STEP
        if barriers != NULL:
            barrier = <uint64_t *> lane_place(w, i, barriers[i], 8, True, unit, line)
            barrier[0] = gompy_mbarrier(MBARRIER_COMPLETE_TX, barrier[0], sizes[i], &answer)


cdef void op_bulk(gompy_warp *w, uint32_t mask, const uint64_t *to, const uint64_t *source, const uint64_t *sizes,
                  const uint64_t *barriers, const uint64_t *kept, code_unit *unit, uint32_t line) noexcept nogil:
    copy_bulk(w, mask, to, source, sizes, barriers, kept, False, unit, line)


cdef void check_bulk(gompy_warp *w, uint32_t mask, const uint64_t *to, const uint64_t *source, const uint64_t *sizes,
                     const uint64_t *barriers, const uint64_t *kept, code_unit *unit, uint32_t line) noexcept nogil:
    copy_bulk(w, mask, to, source, sizes, barriers, kept, True, unit, line)
