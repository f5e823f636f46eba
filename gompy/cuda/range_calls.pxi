# cuMemAdvise, cuMemPrefetchAsync, cuMemRangeGetAttribute: what is said of managed memory.  It is everywhere, so all of
# it is kept only.


cdef int keep_advice(uint64_t address, size_t size, int what, int place, bint given) noexcept nogil:
    """See note_advice; of other memory nothing is kept."""
    cdef uint64_t whole[2]
    cdef int r
    pthread_mutex_lock(&memory_lock)
    r = CUDA_SUCCESS
    if size and is_managed_range(address, size, whole):
        r = note_advice(address, size, whole, what, place, given)
    pthread_mutex_unlock(&memory_lock)
    return r


cdef public int cuMemPrefetchAsync(CUdeviceptr address, size_t size, int to_device, void *queue) noexcept nogil:
    """Managed memory is everywhere: the arguments are checked, and the place is kept."""
    cdef stream *s = NULL
    cdef int r = enter_stream(queue, &s)
    if r != CUDA_SUCCESS:
        return r
    if to_device != HOST_PLACE and visible_device(to_device) == NULL:
        return CUDA_ERROR_INVALID_DEVICE
    r = check_advised(address, size)
    return r if r != CUDA_SUCCESS else keep_advice(address, size, PREFETCHED, to_device, True)


cdef bint names_place(int advice) noexcept nogil:
    """Whether an advice is about a place; with others the place is ignored, as it is with the real driver."""
    return advice in (CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_MEM_ADVISE_SET_ACCESSED_BY,
                      CU_MEM_ADVISE_UNSET_ACCESSED_BY)


cdef public int cuMemAdvise(CUdeviceptr address, size_t size, int advice, int to_device) noexcept nogil:
    """Managed memory is everywhere: the arguments are checked, and the advice is kept."""
    cdef bint given = advice % 2 == 1
    cdef int place = to_device if names_place(advice) else NO_PLACE
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if not CU_MEM_ADVISE_SET_READ_MOSTLY <= advice <= CU_MEM_ADVISE_UNSET_ACCESSED_BY:
        return CUDA_ERROR_INVALID_VALUE
    if names_place(advice) and place != HOST_PLACE and visible_device(place) == NULL:
        return CUDA_ERROR_INVALID_DEVICE
    r = check_advised(address, size)
    return r if r != CUDA_SUCCESS else keep_advice(address, size, advice if given else advice - 1, place, given)


cdef int location_device(uint64_t location) noexcept nogil:
    """The device of a CUmemLocation (a word of type and a word of number, by value); -1: the host; -2: none."""
    cdef int kind = <int><uint32_t>location
    if kind == CU_MEM_LOCATION_TYPE_DEVICE:
        return <int>(location >> 32)
    return HOST_PLACE if CU_MEM_LOCATION_TYPE_HOST <= kind <= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT else NO_PLACE


cdef public int cuMemPrefetchAsync_v2(CUdeviceptr address, size_t size, uint64_t location, unsigned flags,
                                      void *queue) noexcept nogil:
    """CUDA 12.2's, cuMemPrefetchAsync of CUDA 13: to a place."""
    if flags != 0 or location_device(location) == NO_PLACE:
        return CUDA_ERROR_INVALID_VALUE
    return cuMemPrefetchAsync(address, size, location_device(location), queue)


cdef public int cuMemAdvise_v2(CUdeviceptr address, size_t size, int advice, uint64_t location) noexcept nogil:
    """CUDA 12.2's, cuMemAdvise of CUDA 13: about a place."""
    if names_place(advice) and location_device(location) == NO_PLACE:
        return CUDA_ERROR_INVALID_VALUE
    return cuMemAdvise(address, size, advice, location_device(location))


cdef void accessed_by(int *to, size_t n, uint64_t start, uint64_t end) noexcept nogil:
    """The places from which a range is accessed, as many as there is room for, and NO_PLACE behind them."""
    cdef size_t found = 0
    cdef int place, where = NO_PLACE
    for place in range(HOST_PLACE, visible_count):
        if found < n and all_advised(start, end, CU_MEM_ADVISE_SET_ACCESSED_BY, place, &where):
            to[found] = place
            found += 1
    while found < n:
        to[found] = NO_PLACE
        found += 1


cdef int place_type(int place) noexcept nogil:
    """CUmemLocationType; 0: there is none."""
    return 0 if place == NO_PLACE else CU_MEM_LOCATION_TYPE_HOST if place == HOST_PLACE else CU_MEM_LOCATION_TYPE_DEVICE


cdef int range_attribute(int *to, size_t size, int which, uint64_t start, uint64_t end) noexcept nogil:
    """An attribute of managed memory.  With memory_lock held."""
    cdef int where = NO_PLACE
    cdef int what = CU_MEM_ADVISE_SET_PREFERRED_LOCATION
    if which == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
        if size == 0 or size % sizeof(int):
            return CUDA_ERROR_INVALID_VALUE
        accessed_by(to, size / sizeof(int), start, end)
        return CUDA_SUCCESS
    if size != sizeof(int):
        return CUDA_ERROR_INVALID_VALUE
    if which == CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
        to[0] = 1 if all_advised(start, end, CU_MEM_ADVISE_SET_READ_MOSTLY, 0, &where) else 0
        return CUDA_SUCCESS
    if which in (CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE,
                 CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID):
        what = PREFETCHED
    elif which not in (CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE,
                       CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID):
        return CUDA_ERROR_INVALID_VALUE
    all_advised(start, end, what, 0, &where)
    if which in (CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE):
        to[0] = place_type(where)
    elif which in (CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID):
        to[0] = max(where, 0)
    else:
        to[0] = where
    return CUDA_SUCCESS


cdef public int cuMemRangeGetAttributes(void **to, const size_t *sizes, const int *which, size_t n,
                                        CUdeviceptr address, size_t size) noexcept nogil:
    """What was said of all bytes of a range of managed memory: CU_DEVICE_INVALID, 0, where it was not of all."""
    cdef size_t i
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or sizes == NULL or which == NULL or n == 0 or size == 0:
        return CUDA_ERROR_INVALID_VALUE
    pthread_mutex_lock(&memory_lock)
    if not is_managed_range(address, size, NULL):
        r = CUDA_ERROR_INVALID_VALUE
    for i in range(n):
        if r == CUDA_SUCCESS:
            r = CUDA_ERROR_INVALID_VALUE if to[i] == NULL else range_attribute(
                <int *>to[i], sizes[i], which[i], address, address + size)
    pthread_mutex_unlock(&memory_lock)
    return r


cdef public int cuMemRangeGetAttribute(void *to, size_t size, int which, CUdeviceptr address,
                                       size_t count) noexcept nogil:
    """One of them."""
    return cuMemRangeGetAttributes(&to, &size, &which, 1, address, count)
