# `omp requires`: what the program's units state, and which devices fulfil it (libgomp of GCC 13: target.c).

cdef unsigned omp_requires_mask  # of the units that registered with one; GOMP_REQUIRES_TARGET_USED counts as one


cdef void requires_text(unsigned mask, char *text, size_t room) noexcept nogil:
    """The clauses of a mask, with commas between them."""
    snprintf(text, room, b"%s%s%s%s",
             b"unified_address, " if mask & GOMP_REQUIRES_UNIFIED_ADDRESS else b"",
             b"unified_shared_memory, " if mask & GOMP_REQUIRES_UNIFIED_SHARED_MEMORY else b"",
             b"self_maps, " if mask & GOMP_REQUIRES_SELF_MAPS else b"",
             b"reverse_offload, " if mask & GOMP_REQUIRES_REVERSE_OFFLOAD else b"")
    if text[0]:
        text[strlen(text) - 2] = 0


cdef void state_requires(unsigned mask) noexcept nogil:
    """Take in what the units of one more image state; all images of a program must state the same."""
    global omp_requires_mask
    cdef char one[128]
    cdef char other[128]
    if mask and omp_requires_mask and mask != omp_requires_mask:
        requires_text(omp_requires_mask, one, sizeof(one))
        requires_text(mask, other, sizeof(other))
        if one[0] and other[0]:
            gompy_fatal(b"OpenMP 'requires' directive with non-identical clauses in multiple compilation units: "
                        b"'%s' vs. '%s'", one, other)
        gompy_fatal(b"OpenMP 'requires' directive with '%s' specified only in some compilation units",
                    <const char *> one if one[0] else <const char *> other)
    if mask:
        omp_requires_mask = mask


cdef unsigned asked_of_devices() noexcept nogil:
    """What a device has to fulfil."""
    return omp_requires_mask & ~<unsigned> GOMP_REQUIRES_TARGET_USED


cdef inline bint calls_of_host_required() noexcept nogil:
    """Whether regions may call functions of the host: `omp requires reverse_offload`."""
    return omp_requires_mask & GOMP_REQUIRES_REVERSE_OFFLOAD != 0
