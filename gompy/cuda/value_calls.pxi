# cuStreamWaitValue*, cuStreamWriteValue*, cuStreamBatchMemOp: words of memory that a stream waits for or writes.
#
# Who writes a word that is awaited may be a kernel, another process or the program itself, so the stream looks, more
# and more seldom.  After an error of the context nothing is awaited any more.

cdef extern from *:
    """
    #include <time.h>
    static inline void rest_ns (unsigned long ns)
    {
      struct timespec rest = { 0, (long) ns };
      nanosleep (&rest, NULL);
    }
    """
    void rest_ns(unsigned long ns) nogil

cdef enum:
    FIRST_REST_NS = 2000
    LONGEST_REST_NS = 500000
    MOST_VALUES = 256              # of one cuStreamBatchMemOp

cdef struct value_operation:       # CUstreamBatchMemOpParams
    int kind
    unsigned flags_of_others       # of a flush and a barrier
    uint64_t address
    uint64_t value
    unsigned flags
    unsigned unused
    uint64_t alias
    uint64_t rest


cdef inline bint is_wait(int kind) noexcept nogil:
    """Whether an operation waits."""
    return kind in (CU_STREAM_MEM_OP_WAIT_VALUE_32, CU_STREAM_MEM_OP_WAIT_VALUE_64)


cdef inline bint is_wide(int kind) noexcept nogil:
    """Whether it is about 64 bits."""
    return kind in (CU_STREAM_MEM_OP_WAIT_VALUE_64, CU_STREAM_MEM_OP_WRITE_VALUE_64)


cdef bint value_came(uint64_t now, uint64_t wanted, unsigned how, bint wide) noexcept nogil:
    """Whether a word has come to what is awaited: numbers of its size go round."""
    how &= ~<unsigned>CU_STREAM_WAIT_VALUE_FLUSH
    if how == CU_STREAM_WAIT_VALUE_EQ:
        return now == wanted
    if how == CU_STREAM_WAIT_VALUE_AND:
        return now & wanted != 0
    if how == CU_STREAM_WAIT_VALUE_NOR:
        return (~(now | wanted) & (<uint64_t>-1 if wide else <uint64_t>0xFFFFFFFF)) != 0
    return <int64_t>(now - wanted) >= 0 if wide else <int>(<uint32_t>now - <uint32_t>wanted) >= 0


cdef uint64_t look_at_value(uint64_t address, bint wide) noexcept nogil:
    """The word that is there."""
    cdef uint64_t found
    open_gate()
    found = load64(<uint64_t *>address, ACQUIRE) if wide else load32(<uint32_t *>address, ACQUIRE)
    close_gate()
    return found


cdef void await_value(stream *s, op *o) noexcept nogil:
    """A stream waits; see value_operation."""
    cdef unsigned long ns = FIRST_REST_NS
    cdef bint wide = is_wide(<int>o.fill.unit)
    while s.of.failure == CUDA_SUCCESS and not value_came(
        look_at_value(o.address, wide), o.number, <unsigned>o.fill.count, wide
    ):
        rest_ns(ns)
        ns = min(ns + ns / 4, <unsigned long>LONGEST_REST_NS)
    value_has_come(s)


cdef void write_value(stream *s, op *o) noexcept nogil:
    """A stream writes a word, behind all that it has done."""
    cdef bint wide = is_wide(<int>o.fill.unit)
    if s.of.failure != CUDA_SUCCESS:
        return
    open_gate()
    if wide:
        store64(<uint64_t *>o.address, o.number, RELEASE)
    else:
        store32(<uint32_t *>o.address, <uint32_t>o.number, RELEASE)
    close_gate()
    mark_shadow(o.address, 8 if wide else 4, 3)


cdef int check_value(const value_operation *v) noexcept nogil:
    """Whether an operation is one that there is."""
    cdef unsigned how = v.flags & ~<unsigned>CU_STREAM_WAIT_VALUE_FLUSH
    if v.kind == CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        return CUDA_SUCCESS if v.flags_of_others == 0 else CUDA_ERROR_INVALID_VALUE
    if v.kind == CU_STREAM_MEM_OP_BARRIER:
        return CUDA_SUCCESS if v.flags_of_others <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU else CUDA_ERROR_INVALID_VALUE
    if not CU_STREAM_MEM_OP_WAIT_VALUE_32 <= v.kind <= CU_STREAM_MEM_OP_WRITE_VALUE_64:
        return CUDA_ERROR_INVALID_VALUE
    if v.address % (8 if is_wide(v.kind) else 4) or v.address == 0:
        return CUDA_ERROR_INVALID_VALUE
    if is_wait(v.kind):
        return CUDA_SUCCESS if how <= CU_STREAM_WAIT_VALUE_NOR else CUDA_ERROR_INVALID_VALUE
    return CUDA_SUCCESS if v.flags <= CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER else CUDA_ERROR_INVALID_VALUE


cdef int pin_value(op *o, uint64_t size) noexcept nogil:
    """The word stays until the operation is over: a device's memory, or pinned or registered memory of the host."""
    cdef int r
    pthread_mutex_lock(&memory_lock)
    r = pin_or_registered(o.address, size, &o.pins[0])
    pthread_mutex_unlock(&memory_lock)
    return r


cdef op *value_op(const value_operation *v, int *r) noexcept nogil:
    """The stream's operation; NULL: see r."""
    cdef op *o = new_op(VALUE_OP, 0)
    if o == NULL:
        r[0] = CUDA_ERROR_OUT_OF_MEMORY
        return NULL
    o.address = v.address
    o.number = v.value if is_wide(v.kind) else <uint32_t>v.value
    o.fill.unit, o.fill.count = v.kind, v.flags
    o.follow = await_value if is_wait(v.kind) else write_value
    r[0] = pin_value(o, 8 if is_wide(v.kind) else 4)
    if r[0] != CUDA_SUCCESS:
        free(o)
        return NULL
    return o


cdef void forget_values(op **made, unsigned n) noexcept nogil:
    """Operations that were not queued."""
    cdef unsigned i
    for i in range(n):
        if made[i] != NULL:
            let_go(made[i])
            free(made[i])


cdef int queue_values(void *p, const value_operation *values, unsigned n) noexcept nogil:
    """All of some operations, or none."""
    cdef stream *s = NULL
    cdef op *made[MOST_VALUES]
    cdef unsigned i, done = 0
    cdef int r = enter_stream(p, &s)
    if r != CUDA_SUCCESS:
        return r
    for i in range(n):
        made[i] = NULL
        if r == CUDA_SUCCESS:
            r = check_value(&values[i])
        if r == CUDA_SUCCESS and values[i].kind not in (
            CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES, CU_STREAM_MEM_OP_BARRIER
        ):
            made[i] = value_op(&values[i], &r)
    if r != CUDA_SUCCESS:
        forget_values(made, n)
        return r
    for done in range(n):
        if made[done] != NULL and r == CUDA_SUCCESS:
            if is_wait(values[done].kind) and follows_order():
                pthread_mutex_lock(&work_lock)
                await_all_streams(s)
                pthread_mutex_unlock(&work_lock)
            r = submit_op(s, made[done])
        elif made[done] != NULL:
            forget_values(&made[done], 1)
    return r


cdef int queue_value(void *p, int kind, CUdeviceptr address, uint64_t value, unsigned flags) noexcept nogil:
    """One operation."""
    cdef value_operation v
    memset(&v, 0, sizeof(v))
    v.kind, v.address, v.value, v.flags = kind, address, value, flags
    return queue_values(p, &v, 1)


cdef public int cuStreamWaitValue32_v2(void *p, CUdeviceptr address, unsigned value, unsigned flags) noexcept nogil:
    """What comes later on the stream waits until a word of 32 bits is at least (GEQ), is (EQ), has a bit of (AND), or
    with the value has not all bits (NOR)."""
    return queue_value(p, CU_STREAM_MEM_OP_WAIT_VALUE_32, address, value, flags)


cdef public int cuStreamWaitValue64_v2(void *p, CUdeviceptr address, uint64_t value, unsigned flags) noexcept nogil:
    """The same of 64 bits."""
    return queue_value(p, CU_STREAM_MEM_OP_WAIT_VALUE_64, address, value, flags)


cdef public int cuStreamWriteValue32_v2(void *p, CUdeviceptr address, unsigned value, unsigned flags) noexcept nogil:
    """Behind all that the stream has done, a word of 32 bits is written."""
    return queue_value(p, CU_STREAM_MEM_OP_WRITE_VALUE_32, address, value, flags)


cdef public int cuStreamWriteValue64_v2(void *p, CUdeviceptr address, uint64_t value, unsigned flags) noexcept nogil:
    """The same of 64 bits."""
    return queue_value(p, CU_STREAM_MEM_OP_WRITE_VALUE_64, address, value, flags)


cdef public int cuStreamBatchMemOp_v2(void *p, unsigned n, const value_operation *values,
                                      unsigned flags) noexcept nogil:
    """Several of them in this order; flushes and barriers have nothing to do."""
    if n > MOST_VALUES or flags != 0 or (values == NULL and n):
        return CUDA_ERROR_INVALID_VALUE
    return queue_values(p, values, n)


cdef public int cuStreamWaitValue32(void *p, CUdeviceptr address, unsigned value, unsigned flags) noexcept nogil:
    """CUDA 8.0's."""
    return cuStreamWaitValue32_v2(p, address, value, flags)


cdef public int cuStreamWaitValue64(void *p, CUdeviceptr address, uint64_t value, unsigned flags) noexcept nogil:
    """CUDA 9.0's."""
    return cuStreamWaitValue64_v2(p, address, value, flags)


cdef public int cuStreamWriteValue32(void *p, CUdeviceptr address, unsigned value, unsigned flags) noexcept nogil:
    """CUDA 8.0's."""
    return cuStreamWriteValue32_v2(p, address, value, flags)


cdef public int cuStreamWriteValue64(void *p, CUdeviceptr address, uint64_t value, unsigned flags) noexcept nogil:
    """CUDA 9.0's."""
    return cuStreamWriteValue64_v2(p, address, value, flags)


cdef public int cuStreamBatchMemOp(void *p, unsigned n, const value_operation *values, unsigned flags) noexcept nogil:
    """CUDA 8.0's."""
    return cuStreamBatchMemOp_v2(p, n, values, flags)
