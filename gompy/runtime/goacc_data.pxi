# OpenACC's data constructs and directives (libgomp: oacc-parallel.c, oacc-mem.c).  They map with map.pxi, and count every
# entry; what enter data adds is also counted apart (dynamic_refcount), so that `finalize` can take just that away.


cdef void acc_lock(DeviceDescr *dev, void *queue) noexcept nogil:
    """Begin a mapping operation that goes by way of a queue, or NULL."""
    gompy_lock_acquire(&dev.lock)
    doing(dev, b"an OpenACC routine", NULL)
    dev.copying.kind = -1
    dev.queue = queue


cdef void acc_unlock(DeviceDescr *dev, int rc) noexcept nogil:
    """End a mapping operation; rc: whether it failed, then the program ends."""
    dev.queue = NULL
    gompy_lock_release(&dev.lock)
    if rc:
        fatal_failure()


cdef TargetMem *acc_map(DeviceDescr *dev, void *queue, size_t mapnum, void **hostaddrs, size_t *sizes,
                        unsigned short *kinds, const char *what, const void *where) noexcept nogil:
    """Map the entries of a data or compute construct."""
    cdef int failed = 0
    cdef TargetMem *tgt
    acc_lock(dev, queue)
    doing(dev, what, where)
    tgt = map_vars(dev, mapnum, hostaddrs, sizes, kinds, True, EVERY_ENTRY, VARS_DATA, &failed)
    acc_unlock(dev, failed)
    return tgt


cdef void acc_unmap(TargetMem *tgt, void *queue) noexcept nogil:
    """The end of a data or compute construct."""
    cdef DeviceDescr *dev = tgt.device
    cdef int rc = 0
    if dev == NULL or tgt.list_count == 0:
        free(tgt)
        return
    acc_lock(dev, queue)
    if dev.state == DEVICE_INITIALIZED and tgt.epoch == dev.epoch:
        doing(dev, tgt.what, tgt.where)
        rc = unmap_vars(tgt, EVERY_ENTRY)
    acc_unlock(dev, rc)


# --- data ------------------------------------------------------------------------------------------------------------------

cdef public void GOACC_data_start(int flags, size_t mapnum, void **hostaddrs, size_t *sizes,
                                  unsigned short *kinds) noexcept nogil:
    """Begin of `#pragma acc data` and `host_data`."""
    cdef GoaccThread *thr
    cdef TargetMem *tgt
    cdef ProfScope scope
    cdef int construct = ACC_CONSTRUCT_DATA
    cdef size_t i
    acc_lazy_initialize()
    thr = acc_thread()
    for i in range(mapnum):
        if kinds[i] & 0xFF == MAP_USE_DEVICE_PTR or kinds[i] & 0xFF == MAP_USE_DEVICE_PTR_IF_PRESENT:
            construct = ACC_CONSTRUCT_HOST_DATA
    prof_construct(&scope, thr, construct, ACC_EV_ENTER_DATA_START, ACC_ASYNC_SYNC)
    if acc_shared(thr.dev) or ~flags & GOACC_FLAG_HOST_FALLBACK:
        prof_on_host(&scope)
        tgt = new_target_mem(NULL, 0, 0)
        if tgt == NULL:
            gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> sizeof(TargetMem))
    else:
        tgt = acc_map(thr.dev, NULL, mapnum, hostaddrs, sizes, kinds, b"data", call_site())
    tgt.prev = thr.mapped_data
    thr.mapped_data = tgt
    prof_event(&scope, ACC_EV_ENTER_DATA_END)
    prof_end(&scope)


cdef public void GOACC_data_end() noexcept nogil:
    """End of `#pragma acc data` and `host_data`."""
    cdef GoaccThread *thr = acc_active_thread()
    cdef TargetMem *tgt = thr.mapped_data
    cdef ProfScope scope
    prof_construct(&scope, thr, ACC_CONSTRUCT_DATA, ACC_EV_EXIT_DATA_START, ACC_ASYNC_SYNC)
    if tgt != NULL:
        thr.mapped_data = tgt.prev
        tgt.prev = NULL
        acc_unmap(tgt, NULL)
    prof_event(&scope, ACC_EV_EXIT_DATA_END)
    prof_end(&scope)


# --- enter data --------------------------------------------------------------------------------------------------------------

cdef int count_dynamic(SplayNode *node) noexcept nogil:
    """enter data finds a range that is mapped."""
    increment_refcount(node, EVERY_ENTRY)
    node.dynamic_refcount += 1
    return 0


cdef int enter_existing(SplayNode *node, uintptr_t start, size_t size) noexcept nogil:
    if start + size > node.host_end:
        return gompy_fail(b"[%p,+%d] not mapped", <void *> start, <int> size)
    return count_dynamic(node)


cdef size_t acc_group(size_t i, size_t mapnum, const size_t *sizes, const unsigned short *kinds) noexcept nogil:
    """How many entries from i on belong together; 0 for one that may not stand first."""
    cdef int kind = kinds[i] & 0xFF
    cdef int next = kinds[i + 1] & 0xFF if i + 1 < mapnum else -1
    cdef size_t j = i + 1
    if kind == MAP_STRUCT:
        return sizes[i] + 1
    if kind == MAP_POINTER or kind == MAP_ALWAYS_POINTER:
        return 0
    if kind == MAP_ATTACH:
        return 1
    if next == MAP_ATTACH or (next == MAP_ALWAYS_POINTER and kind != MAP_TO_PSET):
        return 2
    while j < mapnum and kinds[j] & 0xFF == MAP_POINTER:
        j += 1
    return j - i


cdef int enter_struct(DeviceDescr *dev, SplayNode *whole, size_t n, void **hostaddrs, size_t *sizes) noexcept nogil:
    """A struct of which something is mapped: all members that are named must be, in one block."""
    cdef uintptr_t start
    cdef SplayNode *member
    cdef size_t j
    for j in range(1, n):
        start = <uintptr_t> hostaddrs[j]
        member = lookup_mapped(&dev.mem_map, start, start + sizes[j])
        if not same_block(member, whole):
            return gompy_fail(b"Trying to map into device [%p..%p) structure element when other mapped elements from "
                              b"the same structure weren't mapped together with it", <void *> start,
                              <void *> (start + sizes[j]))
        count_dynamic(member)
    return 0


cdef int enter_group_existing(DeviceDescr *dev, size_t n, void **hostaddrs, size_t *sizes,
                              unsigned short *kinds) noexcept nogil:
    """A group whose first entry is mapped: attach, and count the others."""
    cdef uintptr_t start
    cdef SplayNode *node
    cdef size_t j
    for j in range(n):
        start = <uintptr_t> hostaddrs[j]
        if kinds[j] & 0xFF == MAP_ATTACH:
            if attach_pointer(dev, lookup_mapped(&dev.mem_map, start, start + sizeof(void *)), start, sizes[j], False,
                              NULL):
                return -1
            continue
        node = lookup_mapped(&dev.mem_map, start, start + (sizes[j] if j == 0 or kinds[j] & 0xFF != MAP_POINTER
                                                           else sizeof(void *)))
        if node != NULL:
            count_dynamic(node)
    return 0


cdef int acc_enter(DeviceDescr *dev, size_t mapnum, void **hostaddrs, size_t *sizes,
                   unsigned short *kinds) noexcept nogil:
    """enter data: each group for itself.  The device is locked."""
    cdef size_t i = 0
    cdef size_t n, size
    cdef uintptr_t start
    cdef SplayNode *node
    cdef int kind
    cdef int failed = 0
    while i < mapnum:
        kind = kinds[i] & 0xFF
        n = acc_group(i, mapnum, sizes, kinds)
        if n == 0:
            return gompy_fail(b"unexpected mapping")
        start = <uintptr_t> hostaddrs[i]
        size = sizes[i]
        if kind == MAP_STRUCT:
            size = <uintptr_t> hostaddrs[i + n - 1] + sizes[i + n - 1] - start
        elif kind == MAP_ATTACH:
            size = sizeof(void *)
        node = lookup_mapped(&dev.mem_map, start, start + size)
        if node != NULL and kind == MAP_STRUCT:
            failed = enter_struct(dev, node, n, &hostaddrs[i], &sizes[i])
        elif node != NULL and n > 1:
            failed = enter_group_existing(dev, n, &hostaddrs[i], &sizes[i], &kinds[i])
        elif node != NULL and kind == MAP_ATTACH:
            failed = attach_pointer(dev, node, start, sizes[i], False, NULL)
        elif node != NULL:
            failed = enter_existing(node, start, size)
        elif start != 0:
            map_vars(dev, n, &hostaddrs[i], &sizes[i], &kinds[i], True, EVERY_ENTRY, VARS_ENTER_DATA, &failed)
        if failed:
            return -1
        i += n
    return 0


# --- exit data ---------------------------------------------------------------------------------------------------------------

cdef int acc_exit_node(DeviceDescr *dev, SplayNode *node, uintptr_t start, size_t size, int kind) noexcept nogil:
    """exit data of a mapped range: FROM and RELEASE take one away, FORCE_FROM and DELETE all that enter data added."""
    cdef SplayNode *owner = count_owner(node)
    cdef uintptr_t taken = 0
    if start < node.host_start or start + size > node.host_end:
        return gompy_fail(b"[%p,+%d] outside mapped block [%p,+%d]", <void *> start, <int> size,
                          <void *> node.host_start, <int> (node.host_end - node.host_start))
    if kind == MAP_FORCE_FROM or kind == MAP_DELETE:
        taken = node.dynamic_refcount
    elif node.dynamic_refcount:
        taken = 1
    node.dynamic_refcount -= taken
    if node.ref_kind == REF_INFINITY or node.ref_kind == REF_LINK:
        return 0
    if owner.refcount < taken:
        return gompy_fail(b"Dynamic reference counting assert fail\n")
    owner.refcount -= taken
    if gompy_debug_level:
        tell_entry(dev, kind, start, size, node, b"" if owner.refcount else b", removed")
    if owner.refcount:
        return 0
    # As it is, the pointers attached in it included: so does libgomp, and OpenACC leaves it to the program to detach.
    dev.copying.kind = kind
    if (kind == MAP_FROM or kind == MAP_FORCE_FROM) and copy_one_way(dev, node, start, size, False, NULL):
        return -1
    return remove_key(dev, owner)


cdef inline int exit_kind(unsigned short word) noexcept nogil:
    """The kind of an entry of exit data.

    A section without length counts like any other (OpenMP's do in libgomp's gomp_exit_data, too).  libgomp 12 ends the
    program with "UNHANDLED kind 0x0f", while GCC writes that kind for each section whose length is 0 at run time.
    """
    cdef int kind = word & 0xFF
    if kind == MAP_ZERO_LEN_ARRAY_SECTION:
        return MAP_RELEASE
    return MAP_DELETE if kind == MAP_DELETE_ZERO_LEN_ARRAY_SECTION else kind


cdef int acc_exit(DeviceDescr *dev, size_t mapnum, void **hostaddrs, size_t *sizes,
                  unsigned short *kinds) noexcept nogil:
    """exit data: detach, then the rest.  The device is locked."""
    cdef SplayNode *node
    cdef uintptr_t start
    cdef size_t i, size
    cdef int kind
    for i in range(mapnum):
        kind = kinds[i] & 0xFF
        if kind != MAP_DETACH and kind != MAP_FORCE_DETACH:
            continue
        start = <uintptr_t> hostaddrs[i]
        node = lookup_mapped(&dev.mem_map, start, start + sizeof(void *))
        if node == NULL:
            return gompy_fail(b"struct not mapped for detach operation")
        if detach_pointer(dev, node, start, kind == MAP_FORCE_DETACH):
            return -1
    for i in range(mapnum):
        kind = exit_kind(kinds[i])
        if kind == MAP_DETACH or kind == MAP_FORCE_DETACH or kind == MAP_STRUCT:
            continue
        if not (kind == MAP_FROM or kind == MAP_FORCE_FROM or kind == MAP_TO_PSET or kind == MAP_POINTER
                or kind == MAP_DELETE or kind == MAP_RELEASE):
            return gompy_fail(b">>>> goacc_exit_data_internal UNHANDLED kind 0x%.2x", kind)
        size = sizeof(void *) if kind == MAP_POINTER else sizes[i]
        start = <uintptr_t> hostaddrs[i]
        node = lookup_mapped(&dev.mem_map, start, start + size) if kind == kinds[i] & 0xFF \
            else lookup_section(&dev.mem_map, start, start + size)
        if node != NULL and acc_exit_node(dev, node, start, size, kind):
            return -1
    return 0


cdef bint kinds_enter(size_t mapnum, const unsigned short *kinds) noexcept nogil:
    """Whether the entries of GOACC_enter_exit_data (GCC 11 and before) are those of an enter data."""
    cdef size_t i
    cdef int kind
    for i in range(mapnum):
        kind = kinds[i] & 0xFF
        if kind == MAP_POINTER or kind == MAP_TO_PSET or kind == MAP_STRUCT:
            continue
        if kind == MAP_FORCE_ALLOC or kind == MAP_FORCE_PRESENT or kind == MAP_ATTACH or kind == MAP_FORCE_TO \
                or kind == MAP_TO or kind == MAP_ALLOC:
            return True
        if kind == MAP_RELEASE or kind == MAP_DELETE or kind == MAP_DETACH or kind == MAP_FORCE_DETACH \
                or kind == MAP_FROM or kind == MAP_FORCE_FROM:
            return False
        gompy_fatal(b">>>> GOACC_enter_exit_data UNHANDLED kind 0x%.2x", kind)
    return False


cdef void acc_enter_exit "gompy_acc_enter_exit"(int what, int flags, size_t mapnum, void **hostaddrs, size_t *sizes,
                                                unsigned short *kinds, int number, int num_waits,
                                                gompy_words_t *words) noexcept nogil:
    """`#pragma acc enter data` (what 0), `exit data` (1), or whichever the kinds say (2)."""
    cdef GoaccThread *thr
    cdef ProfScope scope
    cdef void *queue
    cdef bint enter = kinds_enter(mapnum, kinds) if what == 2 else what == 0
    acc_lazy_initialize()
    thr = acc_thread()
    prof_construct(&scope, thr, ACC_CONSTRUCT_ENTER_DATA if enter else ACC_CONSTRUCT_EXIT_DATA,
                   ACC_EV_ENTER_DATA_START if enter else ACC_EV_EXIT_DATA_START, number)
    if acc_shared(thr.dev) or ~flags & GOACC_FLAG_HOST_FALLBACK:
        prof_on_host(&scope)
    else:
        acc_wait_words(number, num_waits, words)
        queue = acc_queue(thr, True, number)
        acc_lock(thr.dev, queue)
        doing(thr.dev, b"enter data" if enter else b"exit data", words.where if words != NULL else NULL)
        acc_unlock(thr.dev, acc_enter(thr.dev, mapnum, hostaddrs, sizes, kinds) if enter
                   else acc_exit(thr.dev, mapnum, hostaddrs, sizes, kinds))
    prof_event(&scope, ACC_EV_ENTER_DATA_END if enter else ACC_EV_EXIT_DATA_END)
    prof_end(&scope)


cdef public void GOACC_declare(int flags, size_t mapnum, void **hostaddrs, size_t *sizes,
                               unsigned short *kinds) noexcept nogil:
    """`#pragma acc declare` of a function's variables, at the function's begin and end."""
    cdef size_t i
    cdef int kind
    for i in range(mapnum):
        kind = kinds[i] & 0xFF
        if kind == MAP_ALLOC and acc_is_present(hostaddrs[i], sizes[i]):
            continue
        if kind == MAP_ALLOC or kind == MAP_FORCE_ALLOC or kind == MAP_TO or kind == MAP_FORCE_TO:
            acc_enter_exit(0, flags, 1, &hostaddrs[i], &sizes[i], &kinds[i], ACC_ASYNC_SYNC, 0, NULL)
        elif kind == MAP_FROM or kind == MAP_FORCE_FROM or kind == MAP_RELEASE or kind == MAP_DELETE:
            acc_enter_exit(1, flags, 1, &hostaddrs[i], &sizes[i], &kinds[i], ACC_ASYNC_SYNC, 0, NULL)
        elif kind == MAP_FORCE_PRESENT and not acc_is_present(hostaddrs[i], sizes[i]):
            gompy_fatal(b"[%p,%ld] is not mapped", hostaddrs[i], <long> sizes[i])


# --- update --------------------------------------------------------------------------------------------------------------------

cdef void update_pointer(GoaccThread *thr, void *target, void **pointer) noexcept nogil:
    """Have the device copy of a pointer point to the device copy of its target."""
    cdef DeviceDescr *dev = thr.dev
    cdef uintptr_t value = <uintptr_t> acc_deviceptr(target)
    cdef SplayNode *node
    cdef int rc
    acc_lock(dev, NULL)
    node = lookup_mapped(&dev.mem_map, <uintptr_t> pointer, <uintptr_t> (pointer + 1))
    if node == NULL:
        rc = gompy_fail(b"[%p,%d] is not mapped", pointer, <int> sizeof(void *))
    else:
        rc = copy_word(dev, device_address(node, <uintptr_t> pointer), value, NULL)
    acc_unlock(dev, rc)


cdef int update_warned


cdef void warn_of_empty_update() noexcept nogil:
    """GCC 12 leaves the variables of `acc declare` out of `acc update` (scan_sharing_clauses of omp-low.cc).  A call in
    which nothing is left tells of it: the program will see old values.  Said once."""
    global update_warned
    if gompy_load(&update_warned):
        return
    gompy_store(&update_warned, 1)
    gompy_note(b"an OpenACC update has nothing to update: GCC 12 leaves variables of 'acc declare' out; "
               b"acc_update_device and acc_update_self work")


cdef void acc_update "gompy_acc_update"(int flags, size_t mapnum, void **hostaddrs, size_t *sizes,
                                        unsigned short *kinds, int number, int num_waits,
                                        gompy_words_t *words) noexcept nogil:
    """`#pragma acc update`: TO and FROM if present, FORCE_TO and FORCE_FROM must be; no length (exit_kind), no copy."""
    cdef GoaccThread *thr
    cdef ProfScope scope
    cdef bint to_device = False
    cdef size_t i
    cdef int kind
    acc_lazy_initialize()
    thr = acc_thread()
    prof_construct(&scope, thr, ACC_CONSTRUCT_UPDATE, ACC_EV_UPDATE_START, number)
    if acc_shared(thr.dev) or ~flags & GOACC_FLAG_HOST_FALLBACK:
        prof_on_host(&scope)
        mapnum = 0
    else:
        if mapnum == 0:
            warn_of_empty_update()
        acc_wait_words(number, num_waits, words)
    for i in range(mapnum):
        kind = kinds[i] & 0xFF
        if kind == MAP_POINTER or kind == MAP_TO_PSET:
            continue
        if kind == MAP_ALWAYS_POINTER:
            if to_device:
                update_pointer(thr, hostaddrs[i - 1], <void **> hostaddrs[i])
            to_device = False
        elif kind == MAP_TO or kind == MAP_FORCE_TO:
            to_device = kind == MAP_FORCE_TO or acc_is_present(hostaddrs[i], sizes[i])
            if to_device:
                acc_update_device_async(hostaddrs[i], sizes[i], number)
        elif kind == MAP_FROM or kind == MAP_FORCE_FROM:
            to_device = False
            if kind == MAP_FORCE_FROM or acc_is_present(hostaddrs[i], sizes[i]):
                acc_update_self_async(hostaddrs[i], sizes[i], number)
        elif kind == MAP_ZERO_LEN_ARRAY_SECTION:
            to_device = False
        else:
            gompy_fatal(b">>>> GOACC_update UNHANDLED kind 0x%.2x", kind)
    prof_event(&scope, ACC_EV_UPDATE_END)
    prof_end(&scope)
