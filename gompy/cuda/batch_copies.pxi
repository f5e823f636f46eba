# cuMemcpyBatchAsync: several copies by one call.

cdef struct copy_attributes:   # CUmemcpyAttributes
    int order                  # CU_MEMCPY_SRC_ACCESS_ORDER_*
    int hints[4]               # where both sides are: only what is quick
    unsigned flags


cdef int check_attributes(const copy_attributes *attributes, const size_t *firsts, size_t n,
                          size_t count) noexcept nogil:
    """Each is for the copies from its first one on, to the next one's first."""
    cdef size_t i
    if count == 0 or n == 0 or n > count or attributes == NULL or firsts == NULL or firsts[0] != 0:
        return CUDA_ERROR_INVALID_VALUE
    for i in range(n):
        if not CU_MEMCPY_SRC_ACCESS_ORDER_STREAM <= attributes[i].order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY or \
                attributes[i].flags & ~<unsigned>CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE or \
                firsts[i] >= count or (i and firsts[i] <= firsts[i - 1]):
            return CUDA_ERROR_INVALID_VALUE
    return CUDA_SUCCESS


cdef int copy_batch(const CUdeviceptr *to, const CUdeviceptr *of, const size_t *sizes, size_t count,
                    const copy_attributes *attributes, const size_t *firsts, size_t n, size_t *failed,
                    void *queue) noexcept nogil:
    """Queue copies one after the other; where a source is to be read at once, wait for them.  `failed`: which is bad,
    if one is."""
    cdef stream *s = NULL
    cdef size_t i
    cdef bint waits = False
    cdef int r = enter_stream(queue, &s)
    failed[0] = ~<size_t>0
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or of == NULL or sizes == NULL or s == s.of.default_stream:
        return CUDA_ERROR_INVALID_VALUE
    r = check_attributes(attributes, firsts, n, count)
    if r != CUDA_SUCCESS:
        return r
    for i in range(n):
        waits = waits or attributes[i].order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL
    for i in range(count):
        r = copy_line(queue, <void *>to[i], <void *>of[i], sizes[i], CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED,
                      True) if sizes[i] else CUDA_ERROR_INVALID_VALUE
        if r != CUDA_SUCCESS:
            failed[0] = i
            return r
    return cuStreamSynchronize(queue) if waits else CUDA_SUCCESS


cdef public int cuMemcpyBatchAsync(const CUdeviceptr *to, const CUdeviceptr *of, const size_t *sizes, size_t count,
                                   const copy_attributes *attributes, const size_t *firsts, size_t n, size_t *failed,
                                   void *queue) noexcept nogil:
    """Several copies in a stream's order; none of the default stream's."""
    cdef size_t which = 0
    cdef int r = copy_batch(to, of, sizes, count, attributes, firsts, n, &which, queue)
    if r != CUDA_SUCCESS and failed != NULL:
        failed[0] = which
    return r


cdef public int cuMemcpyBatchAsync_v2(const CUdeviceptr *to, const CUdeviceptr *of, const size_t *sizes, size_t count,
                                      const copy_attributes *attributes, const size_t *firsts, size_t n,
                                      void *queue) noexcept nogil:
    """CUDA 13's: it does not say which copy is bad."""
    cdef size_t which = 0
    return copy_batch(to, of, sizes, count, attributes, firsts, n, &which, queue)
