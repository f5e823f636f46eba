# Accesses of images made with -foffload-check (device_access.h): found while the region goes on, or its end.

cdef extern from "device_access.h" nogil:
    bint watch_accesses "mic_watch_accesses"(uint64_t base, uint64_t size, const uint32_t *changes, int spread)
    void begin_launch "mic_begin_launch"()
    void begin_team "mic_begin_team"()
    void end_team "mic_end_team"()
    void end_launch "mic_end_launch"()
    void forget_rows "mic_forget_rows"()
    uint32_t mic_launch, mic_floor


cdef void access_found "mic_access_found"(unsigned mark, uint64_t address, const void *pc,
                                          uint64_t other) noexcept nogil:
    """Note what a region has done, once for each place of its code."""
    cdef uint32_t i, seen = load32(&control.reads_seen, ACQUIRE)
    cdef mic_read *noted
    for i in range(seen if seen < <uint32_t>MIC_READS else <uint32_t>MIC_READS):
        noted = &control.reads[i]
        if noted.pc == <uint64_t>pc - 1 and load32(&noted.mark, ACQUIRE) == mark:
            return
    note_doubtful(mark, address, <uintptr_t>pc - 1, stack_pointer(), other - 1 if other else 0)


cdef void access_dies "mic_access_dies"(uint64_t address, const void *pc) noexcept nogil:
    """A region uses what is not in use: it ends as by a fault there."""
    end_by_fault(SIGSEGV, SEGV_ACCERR, address, <uintptr_t>pc - 1, stack_pointer(), 0)


cdef bint watch_images() noexcept nogil:
    """Have the images tell of their accesses, if they do.  False: there is no room for that."""
    return control.exact == 0 or watch_accesses(control.arena_base, control.arena_size, control.changes, control.spread)
