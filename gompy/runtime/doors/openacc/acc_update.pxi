# The API's routines that update and attach (libgomp: oacc-mem.c).


cdef void update_datum(bint to_device, void *host, size_t size, int number, const void *where) noexcept nogil:
    """acc_update_device, acc_update_self."""
    cdef GoaccThread *thr
    cdef SplayNode *node
    cdef ProfScope scope
    cdef void *queue
    cdef uintptr_t start = <uintptr_t> host
    cdef int rc
    acc_lazy_initialize()
    thr = acc_thread()
    if acc_shared(thr.dev) or host == NULL:
        return
    prof_call(&scope, thr, number, b"acc_update_device" if to_device else b"acc_update_self", where)
    queue = acc_queue(thr, True, number)
    acc_lock(thr.dev, queue)
    note_construct(thr.dev, b"update", NULL)
    node = lookup_mapped(&thr.dev.mem_map, start, start + size)
    if node == NULL or start < node.host_start or start + size > node.host_end:
        rc = gompy_fail(b"[%p,%d] is not mapped", host, <int> size)
    else:
        # As it is, the pointers attached in it included.
        thr.dev.copying.kind = GOMP_MAP_TO if to_device else GOMP_MAP_FROM
        if gompy_debug_level:
            tell_entry(thr.dev, thr.dev.copying.kind, start, size, node, b"")
        rc = copy_one_way(thr.dev, node, start, size, to_device, NULL)
        if has_hooks(HOOK_MAP):
            tell_entry_end(thr.dev, MAP_UPDATED, thr.dev.copying.kind, 0, start, size, node, size)
    acc_unlock(thr.dev, rc)
    prof_end(&scope)


cdef public void acc_update_device(void *host, size_t size) noexcept nogil:
    update_datum(True, host, size, ACC_ASYNC_SYNC, call_site())


cdef public void acc_update_device_async(void *host, size_t size, int number) noexcept nogil:
    update_datum(True, host, size, number, call_site())


cdef public void acc_update_self(void *host, size_t size) noexcept nogil:
    update_datum(False, host, size, ACC_ASYNC_SYNC, call_site())


cdef public void acc_update_self_async(void *host, size_t size, int number) noexcept nogil:
    update_datum(False, host, size, number, call_site())


cdef public void acc_attach_async(void **pointer, int number) noexcept nogil:
    """Have a mapped pointer point to the device copy of its target."""
    cdef GoaccThread *thr = acc_active_thread()
    cdef uintptr_t start = <uintptr_t> pointer
    cdef SplayNode *node
    cdef void *queue
    cdef int rc
    if acc_shared(thr.dev):
        return
    queue = acc_queue(thr, True, number)
    acc_lock(thr.dev, queue)
    note_construct(thr.dev, b"acc_attach", NULL)
    node = lookup_mapped(&thr.dev.mem_map, start, start + sizeof(void *))
    if node == NULL:
        rc = fail_pointer(start, b"struct not mapped for acc_attach")
    else:
        rc = attach_pointer(thr.dev, node, start, 0, False, NULL)
    acc_unlock(thr.dev, rc)


cdef public void acc_attach(void **pointer) noexcept nogil:
    acc_attach_async(pointer, ACC_ASYNC_SYNC)


cdef void detach_datum(void **pointer, int number, bint finalize) noexcept nogil:
    cdef GoaccThread *thr = acc_active_thread()
    cdef uintptr_t start = <uintptr_t> pointer
    cdef SplayNode *node
    cdef void *queue
    cdef int rc
    if acc_shared(thr.dev):
        return
    queue = acc_queue(thr, True, number)
    acc_lock(thr.dev, queue)
    note_construct(thr.dev, b"acc_detach", NULL)
    node = lookup_mapped(&thr.dev.mem_map, start, start + sizeof(void *))
    if node == NULL:
        rc = fail_pointer(start, b"struct not mapped for acc_detach")
    else:
        rc = detach_pointer(thr.dev, node, start, finalize)
    acc_unlock(thr.dev, rc)


cdef public void acc_detach(void **pointer) noexcept nogil:
    detach_datum(pointer, ACC_ASYNC_SYNC, False)


cdef public void acc_detach_async(void **pointer, int number) noexcept nogil:
    detach_datum(pointer, number, False)


cdef public void acc_detach_finalize(void **pointer) noexcept nogil:
    detach_datum(pointer, ACC_ASYNC_SYNC, True)


cdef public void acc_detach_finalize_async(void **pointer, int number) noexcept nogil:
    detach_datum(pointer, number, True)
