# The API's routines for memory and data (libgomp: oacc-mem.c).


# --- memory of the device
# ----------------------------------------------------------------------------------------------------

cdef SplayNode *lookup_device(RangeIndex *tree, uintptr_t start, size_t size) noexcept nogil:
    """The range whose device copy holds [start, start + size), or NULL.  Looks at all ranges."""
    cdef RangeCursor at = all_ranges(tree)
    cdef SplayNode *node = next_range(&at)
    cdef uintptr_t place
    while node != NULL:
        place = node.tgt.tgt_start + node.tgt_offset
        if not of_image(node) and place <= start and start + size <= place + (node.host_end - node.host_start):
            return node
        node = next_range(&at)
    return NULL


cdef public void *acc_malloc(size_t size) noexcept nogil:
    """Allocate device memory."""
    cdef GoaccThread *thr
    cdef ProfScope scope
    cdef void *ptr
    if size == 0:
        return NULL
    acc_lazy_initialize()
    thr = acc_thread()
    if acc_shared(thr.dev):
        return malloc(size)
    prof_call(&scope, thr, ACC_ASYNC_SYNC, b"acc_malloc", call_site())
    ptr = device_alloc(thr.dev, size)
    prof_end(&scope)
    return ptr


cdef public void acc_free(void *ptr) noexcept nogil:
    """Free device memory that is not mapped."""
    cdef GoaccThread *thr
    cdef ProfScope scope
    cdef SplayNode *node
    cdef int rc = 0
    if ptr == NULL:
        return
    thr = acc_active_thread()
    if acc_shared(thr.dev):
        free(ptr)
        return
    prof_call(&scope, thr, ACC_ASYNC_SYNC, b"acc_free", call_site())
    acc_lock(thr.dev, NULL)
    node = lookup_device(&thr.dev.mem_map, <uintptr_t> ptr, 1)
    if node != NULL:
        rc = gompy_fail(b"refusing to free device memory space at %p that is still mapped at [%p,+%d]", ptr,
                        <void *> (node.host_start + <uintptr_t> ptr - node.tgt.tgt_start - node.tgt_offset),
                        <int> (node.host_end - node.host_start))
    acc_unlock(thr.dev, rc)
    if not device_free(thr.dev, ptr):
        gompy_fatal(b"error in freeing device memory in acc_free")
    prof_end(&scope)


cdef void copy_raw(bint to_device, void *device, void *host, size_t size, int number, const void *where) noexcept nogil:
    """acc_memcpy_*: between a device address and host memory."""
    cdef GoaccThread *thr = acc_active_thread()
    cdef ProfScope scope
    cdef void *queue
    cdef const char *what = b"acc_memcpy_from_device"
    cdef const char *wrong = NULL
    cdef int rc
    if acc_shared(thr.dev):
        memmove(device if to_device else host, host if to_device else device, size)
        return
    if size == 0:
        return
    if to_device:
        what = b"acc_memcpy_to_device"
    prof_call(&scope, thr, number, what, where)
    queue = acc_queue(thr, True, number)
    if host == device:
        wrong = b"invalid host or device address"
    elif device == NULL:
        wrong = b"invalid device address"
    elif host == NULL:
        wrong = b"invalid host address"
    elif not device_reaches(thr.dev, device, size):
        wrong = b"invalid size"
    if wrong != NULL:
        gompy_error(b"%s", wrong)
    acc_lock(thr.dev, queue)
    note_construct(thr.dev, what, NULL)
    if wrong != NULL and to_device:
        rc = gompy_fail(b"Copying of host object [%p..%p) to dev object [%p..%p) failed", host, <char *> host + size,
                        device, <char *> device + size)
    elif wrong != NULL:
        rc = gompy_fail(b"Copying of dev object [%p..%p) to host object [%p..%p) failed", device,
                        <char *> device + size, host, <char *> host + size)
    elif to_device:
        rc = copy_to_device(thr.dev, <uintptr_t> device, host, size, NULL)
    else:
        rc = copy_to_host(thr.dev, host, <uintptr_t> device, size)
    acc_unlock(thr.dev, rc)
    prof_end(&scope)


cdef public void acc_memcpy_to_device(void *device, void *host, size_t size) noexcept nogil:
    copy_raw(True, device, host, size, ACC_ASYNC_SYNC, call_site())


cdef public void acc_memcpy_to_device_async(void *device, void *host, size_t size, int number) noexcept nogil:
    copy_raw(True, device, host, size, number, call_site())


cdef public void acc_memcpy_from_device(void *host, void *device, size_t size) noexcept nogil:
    copy_raw(False, device, host, size, ACC_ASYNC_SYNC, call_site())


cdef public void acc_memcpy_from_device_async(void *host, void *device, size_t size, int number) noexcept nogil:
    copy_raw(False, device, host, size, number, call_site())


cdef void copy_within(void *to, void *what, size_t size, int number, const char *name,
                      const void *where) noexcept nogil:
    """acc_memcpy_device*: between two device addresses (GCC 16)."""
    cdef GoaccThread *thr = acc_active_thread()
    cdef ProfScope scope
    cdef void *queue
    cdef bint good
    if acc_shared(thr.dev):
        memmove(to, what, size)
        return
    if size == 0:
        return
    prof_call(&scope, thr, number, name, where)
    queue = acc_queue(thr, True, number)
    good = (to != NULL and what != NULL and device_reaches(thr.dev, to, size)
            and device_reaches(thr.dev, what, size))
    if not good:
        gompy_error(b"invalid device address or size")
    acc_lock(thr.dev, queue)
    if good and queue != NULL:
        good = device_queue_dev2dev(thr.dev, to, what, size, queue)
    elif good:
        good = device_dev2dev(thr.dev, to, what, size)
    acc_unlock(thr.dev, 0 if good else gompy_fail(
        b"Copying of dev object [%p..%p) to dev object [%p..%p) failed", what, <char *> what + size, to,
        <char *> to + size))
    prof_end(&scope)


cdef public void acc_memcpy_device(void *to, void *what, size_t size) noexcept nogil:
    copy_within(to, what, size, ACC_ASYNC_SYNC, b"acc_memcpy_device", call_site())


cdef public void acc_memcpy_device_async(void *to, void *what, size_t size, int number) noexcept nogil:
    copy_within(to, what, size, number, b"acc_memcpy_device_async", call_site())


# --- questions
# -----------------------------------------------------------------------------------------------------------------

cdef public void *acc_deviceptr(void *host) noexcept nogil:
    """The device address of mapped host data, or NULL."""
    cdef DeviceDescr *dev
    cdef SplayNode *node
    cdef void *ptr = NULL
    acc_lazy_initialize()
    dev = acc_thread().dev
    if acc_shared(dev):
        return host
    acc_lock(dev, NULL)
    node = lookup_mapped(&dev.mem_map, <uintptr_t> host, <uintptr_t> host + 1)
    if node != NULL:
        ptr = <void *> device_address(node, <uintptr_t> host)
    acc_unlock(dev, 0)
    return ptr


cdef public void *acc_hostptr(void *device) noexcept nogil:
    """The host address of the data at a device address, or NULL."""
    cdef DeviceDescr *dev
    cdef SplayNode *node
    cdef void *ptr = NULL
    acc_lazy_initialize()
    dev = acc_thread().dev
    if acc_shared(dev):
        return device
    acc_lock(dev, NULL)
    node = lookup_device(&dev.mem_map, <uintptr_t> device, 1)
    if node != NULL:
        ptr = <void *> (node.host_start + <uintptr_t> device - node.tgt.tgt_start - node.tgt_offset)
    acc_unlock(dev, 0)
    return ptr


cdef public int acc_is_present(void *host, size_t size) noexcept nogil:
    """Whether all of a host range is mapped."""
    cdef DeviceDescr *dev
    cdef SplayNode *node
    cdef uintptr_t start = <uintptr_t> host
    if size == 0 or host == NULL:
        return 0
    acc_lazy_initialize()
    dev = acc_thread().dev
    if acc_shared(dev):
        return 1
    acc_lock(dev, NULL)
    node = lookup_mapped(&dev.mem_map, start, start + size)
    if node != NULL and (start < node.host_start or start + size > node.host_end):
        node = NULL
    acc_unlock(dev, 0)
    return node != NULL


# --- acc_map_data
# ----------------------------------------------------------------------------------------------------------------

cdef public void acc_map_data(void *host, void *device, size_t size) noexcept nogil:
    """Map host data to device memory of the program's own."""
    cdef DeviceDescr *dev
    cdef TargetMem *tgt
    cdef SplayNode *node
    cdef ProfScope scope
    cdef int rc = 0
    acc_lazy_initialize()
    dev = acc_thread().dev
    if acc_shared(dev):
        if device != host:
            gompy_fatal(b"cannot map data on shared-memory system")
        return
    if device == NULL or host == NULL or size == 0:
        gompy_fatal(b"[%p,+%d]->[%p,+%d] is a bad map", host, <int> size, device, <int> size)
    prof_call(&scope, acc_thread(), ACC_ASYNC_SYNC, b"acc_map_data", call_site())
    acc_lock(dev, NULL)
    note_construct(dev, b"acc_map_data", NULL)
    if lookup_mapped(&dev.mem_map, <uintptr_t> host, <uintptr_t> host + size) != NULL:
        rc = gompy_fail(b"host address [%p, +%d] is already mapped", host, <int> size)
    elif lookup_device(&dev.mem_map, <uintptr_t> device, size) != NULL:
        rc = gompy_fail(b"device address [%p, +%d] is already mapped", device, <int> size)
    else:
        tgt = new_target_mem(dev)
        if tgt == NULL:
            rc = gompy_fail(b"Out of memory allocating %lu bytes", <unsigned long> sizeof(TargetMem))
        else:
            tgt.refcount = 1
            tgt.tgt_start = <uintptr_t> device
            node = nodes_of(tgt)
            node.host_start = <uintptr_t> host
            node.host_end = <uintptr_t> host + size
            node.tgt = tgt
            node.ref_kind = REF_INFINITY
            rc = range_insert(&dev.mem_map, node)
            if rc == 0:
                tell_associated(dev, node, MAP_NEW)
    acc_unlock(dev, rc)
    prof_end(&scope)


cdef int unmap_data(DeviceDescr *dev, void *host) noexcept nogil:
    cdef SplayNode *node = lookup_mapped(&dev.mem_map, <uintptr_t> host, <uintptr_t> host + 1)
    cdef int size
    if node == NULL:
        return gompy_fail(b"%p is not a mapped block", host)
    size = <int> (node.host_end - node.host_start)
    if node.host_start != <uintptr_t> host:
        return gompy_fail(b"[%p,%d] surrounds %p", <void *> node.host_start, size, host)
    if of_image(node) and newest_version < GOMP_VERSION_INDIRECT_FUNCS:
        return gompy_fail(b"cannot unmap target block")  # libgomp 12's and 13's words
    if node.ref_kind != REF_INFINITY or of_image(node):
        return gompy_fail(b"refusing to unmap block [%p,+%d] that has not been mapped by 'acc_map_data'", host, size)
    tell_associated(dev, node, MAP_REMOVED)
    return remove_key(dev, node)


cdef public void acc_unmap_data(void *host) noexcept nogil:
    """Undo acc_map_data; the device memory stays the program's."""
    cdef GoaccThread *thr = acc_active_thread()
    cdef ProfScope scope
    if acc_shared(thr.dev):
        return
    prof_call(&scope, thr, ACC_ASYNC_SYNC, b"acc_unmap_data", call_site())
    acc_lock(thr.dev, NULL)
    note_construct(thr.dev, b"acc_unmap_data", NULL)
    acc_unlock(thr.dev, unmap_data(thr.dev, host))
    prof_end(&scope)


# --- copyin, create, copyout, delete
# ---------------------------------------------------------------------------------------------

cdef void *enter_datum(void *host, size_t size, unsigned short kind, int number, const void *where) noexcept nogil:
    """acc_copyin, acc_create: the device address."""
    cdef GoaccThread *thr
    cdef DeviceDescr *dev
    cdef SplayNode *node
    cdef ProfScope scope
    cdef void *queue
    cdef void *ptr = NULL
    cdef uintptr_t start = <uintptr_t> host
    cdef MapList maps = map_list(1, &host, &size, &kind)
    cdef const char *what
    cdef int failed = 0
    if host == NULL or size == 0:
        gompy_fatal(b"[%p,+%d] is a bad range", host, <int> size)
    acc_lazy_initialize()
    thr = acc_thread()
    dev = thr.dev
    if acc_shared(dev):
        return host
    what = b"acc_copyin" if kind == GOMP_MAP_TO else b"acc_create"
    prof_call(&scope, thr, number, what, where)
    queue = acc_queue(thr, True, number)
    acc_lock(dev, queue)
    note_construct(dev, what, NULL)
    node = lookup_mapped(&dev.mem_map, start, start + size)
    if node != NULL:
        failed = enter_existing(node, start, size)
        if has_hooks(HOOK_MAP):
            tell_entry_end(dev, MAP_PRESENT, kind, 0, start, size, node, 0)
    else:
        map_vars(dev, &maps, EVERY_ENTRY, VARS_ENTER_DATA, &failed)
        node = lookup_mapped(&dev.mem_map, start, start + size)
    if not failed:
        ptr = <void *> device_address(node, start)
    acc_unlock(dev, failed)
    prof_end(&scope)
    return ptr


cdef public void *acc_copyin(void *host, size_t size) noexcept nogil:
    return enter_datum(host, size, GOMP_MAP_TO, ACC_ASYNC_SYNC, call_site())


cdef public void *acc_present_or_copyin(void *host, size_t size) noexcept nogil:
    return enter_datum(host, size, GOMP_MAP_TO, ACC_ASYNC_SYNC, call_site())


cdef public void *acc_pcopyin(void *host, size_t size) noexcept nogil:
    return enter_datum(host, size, GOMP_MAP_TO, ACC_ASYNC_SYNC, call_site())


cdef public void acc_copyin_async(void *host, size_t size, int number) noexcept nogil:
    enter_datum(host, size, GOMP_MAP_TO, number, call_site())


cdef public void *acc_create(void *host, size_t size) noexcept nogil:
    return enter_datum(host, size, GOMP_MAP_ALLOC, ACC_ASYNC_SYNC, call_site())


cdef public void *acc_present_or_create(void *host, size_t size) noexcept nogil:
    return enter_datum(host, size, GOMP_MAP_ALLOC, ACC_ASYNC_SYNC, call_site())


cdef public void *acc_pcreate(void *host, size_t size) noexcept nogil:
    return enter_datum(host, size, GOMP_MAP_ALLOC, ACC_ASYNC_SYNC, call_site())


cdef public void acc_create_async(void *host, size_t size, int number) noexcept nogil:
    enter_datum(host, size, GOMP_MAP_ALLOC, number, call_site())


cdef void exit_datum(void *host, size_t size, int kind, int number, const void *where) noexcept nogil:
    """acc_copyout, acc_delete: what is not mapped is left alone."""
    cdef GoaccThread *thr = acc_active_thread()
    cdef SplayNode *node
    cdef ProfScope scope
    cdef void *queue
    cdef const char *what
    cdef int rc = 0
    if acc_shared(thr.dev):
        return
    what = b"acc_copyout" if kind == GOMP_MAP_FROM or kind == GOMP_MAP_FORCE_FROM else b"acc_delete"
    prof_call(&scope, thr, number, what, where)
    queue = acc_queue(thr, True, number)
    acc_lock(thr.dev, queue)
    note_construct(thr.dev, what, NULL)
    node = lookup_mapped(&thr.dev.mem_map, <uintptr_t> host, <uintptr_t> host + size)
    if node != NULL:
        rc = acc_exit_node(thr.dev, node, <uintptr_t> host, size, kind)
    acc_unlock(thr.dev, rc)
    prof_end(&scope)


cdef public void acc_delete(void *host, size_t size) noexcept nogil:
    exit_datum(host, size, GOMP_MAP_RELEASE, ACC_ASYNC_SYNC, call_site())


cdef public void acc_delete_async(void *host, size_t size, int number) noexcept nogil:
    exit_datum(host, size, GOMP_MAP_RELEASE, number, call_site())


cdef public void acc_delete_finalize(void *host, size_t size) noexcept nogil:
    exit_datum(host, size, GOMP_MAP_DELETE, ACC_ASYNC_SYNC, call_site())


cdef public void acc_delete_finalize_async(void *host, size_t size, int number) noexcept nogil:
    exit_datum(host, size, GOMP_MAP_DELETE, number, call_site())


cdef public void acc_copyout(void *host, size_t size) noexcept nogil:
    exit_datum(host, size, GOMP_MAP_FROM, ACC_ASYNC_SYNC, call_site())


cdef public void acc_copyout_async(void *host, size_t size, int number) noexcept nogil:
    exit_datum(host, size, GOMP_MAP_FROM, number, call_site())


cdef public void acc_copyout_finalize(void *host, size_t size) noexcept nogil:
    exit_datum(host, size, GOMP_MAP_FORCE_FROM, ACC_ASYNC_SYNC, call_site())


cdef public void acc_copyout_finalize_async(void *host, size_t size, int number) noexcept nogil:
    exit_datum(host, size, GOMP_MAP_FORCE_FROM, number, call_site())
