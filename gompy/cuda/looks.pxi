# With GOMPY_CHECK: kernels that look at what they access, and the same without.
#
# `gompy run --check` bounds what checks take of a program's time (gompy/runtime/core/check_rest.h).  While they rest,
# kernels run without looks that have run with them some times.  Those make no marks (unmarked.pxi).  Meanwhile the gate
# stays open (gate.pxi).

cdef enum:
    LOOKED_LEAST = 8           # launches of a kernel with looks, before some are without
    TIMED_EACH = 8             # launches without them, one of which is timed

cdef struct kernel_looks:
    ptx_function *unchecked    # the kernel without looks, or NULL
    bint always                # there is none
    uint32_t looked            # launches with looks, up to LOOKED_LEAST
    uint32_t blind             # launches without
    uint64_t blind_pace        # ps that a block takes in those, 0: not known


cdef bint has_other_code(gpu *g, ptx_function *code, kernel_looks *k) noexcept nogil:
    """Whether a kernel can run without looks; its code is made if it is not there."""
    cdef uint64_t begin
    if k.unchecked == NULL and not k.always:
        begin = now_ns()
        k.unchecked = ptx.unchecked(code)
        k.always = k.unchecked == NULL
        note_check_time(g, now_ns() - begin)
    return k.unchecked != NULL


cdef ptx_function *begin_kernel(gpu *g, ptx_function *code, kernel_looks *k) noexcept nogil:
    """A kernel begins: its code, with looks or without.  If with, all marks are made at once until it ends."""
    global shadow_users, blind_kernels, blind_ran
    cdef uint64_t begin
    cdef bint blind
    if not checking:
        return code
    blind = looks_rest and k.looked >= LOOKED_LEAST and has_other_code(g, code, k)
    pthread_mutex_lock(&memory_lock)
    if blind:
        blind_kernels += 1
        blind_ran = True
        if shadow_users:  # some look at what this one writes
            see_blind_writes()
    else:
        begin = now_ns()
        settle_all()
        see_blind_writes()
        shadow_users += 1
        k.looked += k.looked < LOOKED_LEAST
        note_check_time(g, now_ns() - begin)
    pthread_mutex_unlock(&memory_lock)
    return k.unchecked if blind else code


cdef void end_kernel(bint blind) noexcept nogil:
    """It has ended."""
    global shadow_users, blind_kernels
    if not checking:
        return
    pthread_mutex_lock(&memory_lock)
    if blind:
        blind_kernels -= 1
    else:
        shadow_users -= 1
    pthread_mutex_unlock(&memory_lock)


# --- what it takes
# ---------------------------------------------------------------------------------------------------------------

cdef bint is_timed(kernel_looks *k, bint blind) noexcept nogil:
    """Whether it is to be known how long a launch takes: that takes a moment itself."""
    if not blind:
        return checking != 0
    k.blind += 1
    return k.blind % TIMED_EACH == 1


cdef void note_kernel_time(gpu *g, kernel_looks *k, const ptx_launch_config *config, bint blind) noexcept nogil:
    """How long a launch has taken.  One without looks tells what they take of the others; before, that is half.

    Launches of one kernel differ, so a block's time follows the last ones.
    """
    cdef uint64_t blocks = <uint64_t>config.grid[0] * config.grid[1] * config.grid[2]
    cdef uint64_t usual = load64(&k.blind_pace, RELAXED), ns, pace, plain
    if config.ran == NULL or config.ran[0] == 0:
        return
    ns = config.ran[0]
    pace = ns * 1000 / blocks + 1
    if not blind:
        plain = ns / 2 if usual == 0 else usual * blocks / 1000
        if ns > plain:
            note_check_time(g, ns - plain)
    elif usual == 0 or pace < usual:
        store64(&k.blind_pace, (usual + pace) / 2 if usual else pace, RELAXED)
    else:  # slower: other programs may have had the caches
        store64(&k.blind_pace, usual + min(pace - usual, usual) / 4, RELAXED)


cdef public int gompy_rest_looks(int on) noexcept nogil:
    """From here on kernels may run without looks, or not any more.  Not part of CUDA: for GOMPY_CHECK, else
    ERROR_NOT_SUPPORTED, as where races are looked for or nothing of memory is."""
    global looks_rest
    if not checking & (PTX_CHECK_MEMORY | PTX_CHECK_INIT) or checking & PTX_CHECK_RACE:
        return CUDA_ERROR_NOT_SUPPORTED
    pthread_mutex_lock(&memory_lock)
    looks_rest = on != 0
    if not on:
        see_blind_writes()
    pthread_mutex_unlock(&memory_lock)
    return CUDA_SUCCESS


cdef public int gompy_looks_time(uint64_t *to, int number) noexcept nogil:
    """Nanoseconds that checks have taken on a device so far, as far as that is known.  Not part of CUDA."""
    cdef gpu *g = visible_device(number)
    if g == NULL or to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = load64(&g.check_ns, RELAXED)
    return CUDA_SUCCESS
