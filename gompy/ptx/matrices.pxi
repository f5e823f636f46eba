# mma, and barriers in shared memory (matrix.h).

cdef void op_matrix(gompy_warp *w, uint32_t mask, uint32_t shape, uint32_t types, const void *a, const void *b,
                    const void *c, void *out) noexcept nogil:
    gompy_matrix(shape, types, a, b, c, out)


cdef void op_spread(gompy_warp *w, uint32_t mask, uint32_t word, const uint32_t *a, const uint32_t *metadata,
                    uint32_t *out) noexcept nogil:
    gompy_matrix_spread(word & 15, word >> SPREAD_COLUMNS & 15, word >> SPREAD_DEEP & 255, word >> SPREAD_LANE,
                        a, metadata, out)


cdef void op_mbarrier(gompy_warp *w, uint32_t mask, int step, const uint64_t *a, const uint64_t *value, uint64_t *state,
                      uint64_t *answer, code_unit *unit, uint32_t line) noexcept nogil:
    """A step of each lane's barrier, in lane order: the memory is of one block, and so of one host thread."""
    cdef bint waits = False
    cdef uint64_t *place
    cdef int i
    for i in range(32):
        if mask >> i & 1:
            place = <uint64_t *> lane_place(w, i, a[i], 8, True, unit, line)
            state[i] = place[0]
            place[0] = gompy_mbarrier(step, place[0], value[i], &answer[i])
            if step >= MBARRIER_TEST and answer[i] == 0:
                waits = True
    if waits:
        op_yield(w)
