# The tables of what compiled code calls (gompy/abi/ptx.py, OPS), without checks and with them.

cdef void *op_table[OP_COUNT]
cdef void *check_table[OP_COUNT]       # for checked code
cdef void *race_table[OP_COUNT]        # for code whose races alone are looked for


cdef uint32_t op_reduce(gompy_warp *w, uint32_t mask, int kind, uint32_t number, uint32_t threads, uint32_t votes,
                        code_unit *unit, uint32_t line) noexcept nogil:
    """bar.red: a barrier with the votes of the lanes."""
    cdef runner *r = <runner *> w.runner
    if number <= 15:
        r.used |= <uint32_t> 1 << number
        r.barriers[number].votes += count_lanes(votes)
        r.barriers[number].voters += count_lanes(mask)
    if (<ptx_module *> w.module).image.check:
        race_barrier(w, mask, kind & -BARRIER_ALIGNED, number, threads, unit, line)
    else:
        gompy_barrier(w, mask, BARRIER_SYNC, number, threads, unit, line)
    kind &= BARRIER_ALIGNED - 1
    return w.votes if kind == REDUCE_POPC else w.votes == w.voters if kind == REDUCE_AND else w.votes != 0


cdef void make_ops() noexcept nogil:
    """Fill the table for code without checks."""
    global gompy_meet
    gompy_meet = meet_warps
    op_table[OP_LOAD1] = <void *> op_load1
    op_table[OP_LOAD2] = <void *> op_load2
    op_table[OP_LOAD4] = <void *> op_load4
    op_table[OP_LOAD8] = <void *> op_load8
    op_table[OP_STORE1] = <void *> op_store1
    op_table[OP_STORE2] = <void *> op_store2
    op_table[OP_STORE4] = <void *> op_store4
    op_table[OP_STORE8] = <void *> op_store8
    op_table[OP_LOAD_UNIFORM] = <void *> op_load_uniform
    op_table[OP_STORE_UNIFORM] = <void *> op_store_uniform
    op_table[OP_ATOM] = <void *> op_atom
    op_table[OP_SHUFFLE] = <void *> op_shuffle
    op_table[OP_BARRIER] = <void *> gompy_barrier
    op_table[OP_TRAP] = <void *> op_trap
    op_table[OP_EXIT] = <void *> op_exit
    op_table[OP_CALL] = <void *> op_call
    op_table[OP_LANES] = <void *> op_lanes
    op_table[OP_YIELD] = <void *> op_yield
    op_table[OP_CLOCK] = <void *> op_clock
    op_table[OP_REDUCE] = <void *> op_reduce
    op_table[OP_MISALIGNED] = <void *> op_misaligned
    op_table[OP_WARP_SYNC] = <void *> op_warp_sync
    op_table[OP_MATRIX] = <void *> op_matrix
    op_table[OP_TEXTURE] = <void *> op_texture
    op_table[OP_SURFACE] = <void *> op_surface
    op_table[OP_QUERY] = <void *> op_query
    op_table[OP_SPREAD] = <void *> op_spread
    op_table[OP_MBARRIER] = <void *> op_mbarrier
    op_table[OP_BULK] = <void *> op_bulk


cdef void make_checked_ops() noexcept nogil:
    """Fill the table for checked code: as the other, but for these."""
    memcpy(check_table, op_table, sizeof(op_table))
    check_table[OP_LOAD1] = <void *> check_load1
    check_table[OP_LOAD2] = <void *> check_load2
    check_table[OP_LOAD4] = <void *> check_load4
    check_table[OP_LOAD8] = <void *> check_load8
    check_table[OP_STORE1] = <void *> check_store1
    check_table[OP_STORE2] = <void *> check_store2
    check_table[OP_STORE4] = <void *> check_store4
    check_table[OP_STORE8] = <void *> check_store8
    check_table[OP_LOAD_UNIFORM] = <void *> check_load_uniform
    check_table[OP_STORE_UNIFORM] = <void *> check_store_uniform
    check_table[OP_ATOM] = <void *> check_atom
    check_table[OP_BULK] = <void *> check_bulk
    check_table[OP_TURNS] = <void *> gompy_good_turns
    check_table[OP_TURNED] = <void *> gompy_mark_turns
    make_racing_ops(check_table)
    memcpy(race_table, op_table, sizeof(op_table))
    make_racing_ops(race_table)


cdef void make_racing_ops(void **table) noexcept nogil:
    """What code calls whose races may be looked for."""
    table[OP_BARRIER] = <void *> race_barrier
    table[OP_RACE] = <void *> op_race
    table[OP_RACE_ROW] = <void *> gompy_told_row
    table[OP_RACE_ROW_SOON] = <void *> gompy_race_row_soon
    table[OP_RACE_SHARED_SOON] = <void *> gompy_race_shared_soon
    table[OP_RACE_UNIFORM] = <void *> op_race_uniform
    table[OP_RACE_ATOM] = <void *> op_race_atom
    table[OP_RACE_FENCE] = <void *> op_race_fence
    table[OP_RACE_NOTE] = <void *> op_race_note
    table[OP_RACE_COME] = <void *> op_race_come
    table[OP_RACE_END] = <void *> op_race_end
    table[OP_RACE_MEET] = <void *> op_race_meet
