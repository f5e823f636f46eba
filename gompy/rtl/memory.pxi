# Memory and copies.

cdef enum:
    KIND_HOST = 1  # TargetAllocTy: the host's, which the device reaches
    KIND_SHARED = 2  # of both

cdef struct RtlCommon:
    # A block of the two kinds above: up to 15 a free does not tell the kind.
    RtlCommon *next
    void *memory
    int kind

cdef RtlCommon *rtl_common  # under rtl_lock


cdef void *alloc_common(int32_t device, size_t size, int kind) noexcept nogil:
    global rtl_common
    cdef RtlCommon *block = <RtlCommon *> malloc(sizeof(RtlCommon))
    if block == NULL:
        return NULL
    block.kind = kind
    block.memory = core_alloc_host(size, device) if kind == KIND_HOST else core_alloc_shared(size, device)
    if block.memory == NULL:
        free(block)
        return NULL
    pthread_mutex_lock(&rtl_lock)
    block.next = rtl_common
    rtl_common = block
    pthread_mutex_unlock(&rtl_lock)
    return block.memory


cdef bint free_common(int32_t device, void *memory) noexcept nogil:
    """Give a block of the two kinds back; False: it is none."""
    cdef RtlCommon **at = &rtl_common
    cdef RtlCommon *block
    pthread_mutex_lock(&rtl_lock)
    while at[0] != NULL and at[0].memory != memory:
        at = &at[0].next
    block = at[0]
    if block != NULL:
        at[0] = block.next
    pthread_mutex_unlock(&rtl_lock)
    if block == NULL:
        return False
    if block.kind == KIND_HOST:
        core_free_host(memory, device)
    else:
        core_free_shared(memory, device)
    free(block)
    return True


cdef public void *rtl_data_alloc "__tgt_rtl_data_alloc"(int32_t device, int64_t size, void *host,
                                                        int32_t kind) noexcept nogil:
    """A block of size bytes, or NULL."""
    if kind == KIND_HOST or kind == KIND_SHARED:
        return alloc_common(device, <size_t> size, kind)
    return core_alloc(<size_t> size, device)


cdef public int32_t rtl_data_delete "__tgt_rtl_data_delete"(int32_t device, void *memory) noexcept nogil:
    """Give a block back; since 16 its kind comes as well."""
    if rtl_common == NULL or not free_common(device, memory):
        core_free(memory, device)
    return GOOD


cdef inline int32_t copy_bytes(void *to, const void *from_, int64_t size, int to_device,
                               int from_device) noexcept nogil:
    return GOOD if core_copy(to, from_, <size_t> size, 0, 0, to_device, from_device) == 0 else BAD


cdef public int32_t rtl_data_submit "__tgt_rtl_data_submit"(int32_t device, void *target, void *host,
                                                            int64_t size) noexcept nogil:
    """To a device."""
    return copy_bytes(target, host, size, device, core_initial_device())


cdef public int32_t rtl_data_retrieve "__tgt_rtl_data_retrieve"(int32_t device, void *host, void *target,
                                                                int64_t size) noexcept nogil:
    """From a device."""
    return copy_bytes(host, target, size, core_initial_device(), device)


cdef public int32_t rtl_data_exchange "__tgt_rtl_data_exchange"(int32_t from_device, void *source, int32_t to_device,
                                                                void *target, int64_t size) noexcept nogil:
    """From device to device."""
    return copy_bytes(target, source, size, to_device, from_device)


cdef public int32_t rtl_is_data_exchangable "__tgt_rtl_is_data_exchangable"(int32_t from_device,
                                                                          int32_t to_device) noexcept nogil:
    """Whether that is done without the program's memory between; devices of other plugins are not asked for."""
    return 1


cdef public int32_t rtl_data_submit_async "__tgt_rtl_data_submit_async"(int32_t device, void *target, void *host,
                                                                        int64_t size, void **queue) noexcept nogil:
    return rtl_data_submit(device, target, host, size)


cdef public int32_t rtl_data_retrieve_async "__tgt_rtl_data_retrieve_async"(int32_t device, void *host, void *target,
                                                                            int64_t size,
                                                                            void **queue) noexcept nogil:
    return rtl_data_retrieve(device, host, target, size)


cdef public int32_t rtl_data_exchange_async "__tgt_rtl_data_exchange_async"(
        int32_t from_device, void *source, int32_t to_device, void *target, int64_t size, void **queue) noexcept nogil:
    return rtl_data_exchange(from_device, source, to_device, target, size)


cdef public int32_t rtl_synchronize "__tgt_rtl_synchronize"(int32_t device, void **queue) noexcept nogil:
    """Wait for a queue: there is nothing in it."""
    return GOOD


cdef public int32_t rtl_query_async "__tgt_rtl_query_async"(int32_t device, void **queue) noexcept nogil:
    """Whether a queue is empty: it is."""
    return GOOD
