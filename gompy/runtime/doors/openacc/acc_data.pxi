# OpenACC's data constructs and directives (libgomp: oacc-parallel.c, oacc-mem.c).  They map with map.pxi, and count
# every entry; what enter data adds is also counted apart (dynamic_refcount), so that `finalize` can take just that
# away.


# --- data
# ------------------------------------------------------------------------------------------------------------------

cdef public void GOACC_data_start(int flags, size_t mapnum, void **hostaddrs, size_t *sizes,
                                  unsigned short *kinds) noexcept nogil:
    """Begin of `#pragma acc data` and `host_data`."""
    cdef GoaccThread *thr
    cdef TargetMem *tgt
    cdef ProfScope scope
    cdef MapList maps = map_list(mapnum, hostaddrs, sizes, kinds)
    cdef int construct = ACC_CONSTRUCT_DATA
    cdef size_t i
    acc_lazy_initialize()
    thr = acc_thread()
    for i in range(mapnum):
        if is_use_device_kind(kind_at(&maps, i)):
            construct = ACC_CONSTRUCT_HOST_DATA
    prof_construct(&scope, thr, b"acc data", call_site(), NULL, construct, ACC_EV_ENTER_DATA_START, ACC_ASYNC_SYNC)
    if acc_shared(thr.dev) or ~flags & (GOACC_FLAG_HOST_FALLBACK | GOACC_FLAG_LOCAL_DEVICE):
        prof_on_host(&scope)
        tgt = lasting_target_mem(NULL, 0, 0)
        if tgt == NULL:
            gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> sizeof(TargetMem))
    else:
        tgt = acc_map(thr.dev, NULL, &maps, b"data", call_site())
    tgt.lasting.prev = thr.mapped_data
    thr.mapped_data = tgt
    prof_end(&scope)


cdef public void GOACC_data_end() noexcept nogil:
    """End of `#pragma acc data` and `host_data`."""
    cdef GoaccThread *thr = acc_active_thread()
    cdef TargetMem *tgt = thr.mapped_data
    cdef ProfScope scope
    prof_construct(&scope, thr, b"end of acc data", call_site(), NULL, ACC_CONSTRUCT_DATA, ACC_EV_EXIT_DATA_START,
                   ACC_ASYNC_SYNC)
    if tgt != NULL:
        thr.mapped_data = tgt.lasting.prev
        tgt.lasting.prev = NULL
        acc_unmap(tgt, NULL)
    prof_end(&scope)


# --- enter data
# --------------------------------------------------------------------------------------------------------------


# --- exit data
# ---------------------------------------------------------------------------------------------------------------


cdef bint kinds_enter(const MapList *maps) noexcept nogil:
    """Whether the entries of GOACC_enter_exit_data (GCC 11 and before) are those of an enter data."""
    cdef size_t i
    cdef int kind
    for i in range(maps.mapnum):
        kind = kind_at(maps, i)
        if kind == GOMP_MAP_POINTER or kind == GOMP_MAP_TO_PSET or kind == GOMP_MAP_STRUCT:
            continue
        if kind in (GOMP_MAP_FORCE_ALLOC, GOMP_MAP_FORCE_PRESENT, GOMP_MAP_ATTACH, GOMP_MAP_FORCE_TO, GOMP_MAP_TO,
                    GOMP_MAP_ALLOC):
            return True
        if kind in (GOMP_MAP_RELEASE, GOMP_MAP_DELETE, GOMP_MAP_DETACH, GOMP_MAP_FORCE_DETACH, GOMP_MAP_FROM,
                    GOMP_MAP_FORCE_FROM):
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
    cdef MapList maps = map_list(mapnum, hostaddrs, sizes, kinds)
    cdef bint enter = kinds_enter(&maps) if what == 2 else what == 0
    acc_lazy_initialize()
    thr = acc_thread()
    prof_construct(&scope, thr, b"acc enter data" if enter else b"acc exit data",
                   words.where if words != NULL else NULL, NULL, ACC_CONSTRUCT_ENTER_DATA if enter
                   else ACC_CONSTRUCT_EXIT_DATA,
                   ACC_EV_ENTER_DATA_START if enter else ACC_EV_EXIT_DATA_START, number)
    if acc_shared(thr.dev) or ~flags & GOACC_FLAG_HOST_FALLBACK:
        prof_on_host(&scope)
    else:
        acc_wait_words(number, num_waits, words)
        queue = acc_queue(thr, True, number)
        acc_lock(thr.dev, queue)
        note_construct(thr.dev, b"enter data" if enter else b"exit data", words.where if words != NULL else NULL)
        acc_unlock(thr.dev, acc_enter(thr.dev, &maps) if enter else acc_exit(thr.dev, &maps))
    prof_end(&scope)


cdef public void GOACC_declare(int flags, size_t mapnum, void **hostaddrs, size_t *sizes,
                               unsigned short *kinds) noexcept nogil:
    """`#pragma acc declare` of a function's variables, at the function's begin and end."""
    cdef MapList maps = map_list(mapnum, hostaddrs, sizes, kinds)
    cdef size_t i
    cdef int kind
    for i in range(mapnum):
        kind = kind_at(&maps, i)
        if kind == GOMP_MAP_ALLOC and acc_is_present(hostaddrs[i], sizes[i]):
            continue
        if kind == GOMP_MAP_ALLOC or kind == GOMP_MAP_FORCE_ALLOC or kind == GOMP_MAP_TO or kind == GOMP_MAP_FORCE_TO:
            acc_enter_exit(0, flags, 1, &hostaddrs[i], &sizes[i], &kinds[i], ACC_ASYNC_SYNC, 0, NULL)
        elif kind in (GOMP_MAP_FROM, GOMP_MAP_FORCE_FROM, GOMP_MAP_RELEASE, GOMP_MAP_DELETE):
            acc_enter_exit(1, flags, 1, &hostaddrs[i], &sizes[i], &kinds[i], ACC_ASYNC_SYNC, 0, NULL)
        elif kind == GOMP_MAP_FORCE_PRESENT and not acc_is_present(hostaddrs[i], sizes[i]):
            gompy_fatal(b"[%p,%ld] is not mapped", hostaddrs[i], <long> sizes[i])


# --- update
# --------------------------------------------------------------------------------------------------------------------

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
    cdef MapList maps = map_list(mapnum, hostaddrs, sizes, kinds)
    cdef bint to_device = False
    cdef size_t i
    cdef int kind
    acc_lazy_initialize()
    thr = acc_thread()
    prof_construct(&scope, thr, b"acc update", words.where, NULL, ACC_CONSTRUCT_UPDATE, ACC_EV_UPDATE_START, number)
    if acc_shared(thr.dev) or ~flags & GOACC_FLAG_HOST_FALLBACK:
        prof_on_host(&scope)
        mapnum = 0
    else:
        if mapnum == 0:
            warn_of_empty_update()
        acc_wait_words(number, num_waits, words)
    for i in range(mapnum):
        kind = kind_at(&maps, i)
        if kind == GOMP_MAP_POINTER or kind == GOMP_MAP_TO_PSET:
            continue
        if kind == GOMP_MAP_ALWAYS_POINTER:
            if to_device:
                update_pointer(thr, hostaddrs[i - 1], <void **> hostaddrs[i])
            to_device = False
        elif kind == GOMP_MAP_TO or kind == GOMP_MAP_FORCE_TO:
            to_device = kind == GOMP_MAP_FORCE_TO or acc_is_present(hostaddrs[i], sizes[i])
            if to_device:
                acc_update_device_async(hostaddrs[i], sizes[i], number)
        elif kind == GOMP_MAP_FROM or kind == GOMP_MAP_FORCE_FROM:
            to_device = False
            if kind == GOMP_MAP_FORCE_FROM or acc_is_present(hostaddrs[i], sizes[i]):
                acc_update_self_async(hostaddrs[i], sizes[i], number)
        elif kind == GOMP_MAP_ZERO_LEN_ARRAY_SECTION:
            to_device = False
        else:
            gompy_fatal(b">>>> GOACC_update UNHANDLED kind 0x%.2x", kind)
    prof_end(&scope)
