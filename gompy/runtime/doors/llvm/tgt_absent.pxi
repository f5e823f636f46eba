# What update and exit data name that is not mapped: libomptarget leaves it alone, the checks and hooks tell.
#
# An end of target data is the same call as exit data, with the place of its begin; of programs without places
# (compiled without -g) exit data is not told.

cdef enum:
    TGT_BEGUN = 1 << 12

cdef const char *tgt_begun[TGT_BEGUN]  # places of constructs that have begun; a hash table, filled while somebody looks
cdef unsigned tgt_begun_count


cdef inline bint absent_told() noexcept nogil:
    """Whether anybody is told of what is not mapped."""
    return rare(<unsigned> gompy_checking | hooks_on & HOOK_MAP)


cdef bint find_begun(const char *source, bint add) noexcept nogil:
    """Whether a construct at a place has begun before; also where that is not known.  The device is locked."""
    global tgt_begun_count
    cdef unsigned i = <unsigned> gompy_hash(source, strlen(source)) % TGT_BEGUN
    while tgt_begun[i] != NULL:
        if strcmp(tgt_begun[i], source) == 0:
            return True
        i = (i + 1) % TGT_BEGUN
    if tgt_begun_count > TGT_BEGUN // 2:
        return True
    if add:
        tgt_begun[i] = source
        tgt_begun_count += 1
    return False


cdef bint has_place(const char *source) noexcept nogil:
    cdef TgtPlace place
    read_place(source, False, &place)
    return place.line != 0


cdef void note_begun(const DeviceDescr *dev) noexcept nogil:
    """A construct that maps begins: what its end finds absent is nobody's mistake there."""
    if dev.what != NULL and has_place(dev.what):
        find_begun(dev.what, True)


cdef void tell_tgt_absent(DeviceDescr *dev, bint update, int64_t type, uintptr_t begin, int64_t size,
                          const void *name) noexcept nogil:
    """An entry of update or exit data of what is not mapped."""
    cdef char text[256]
    cdef int kind = gomp_kind(type, not update)
    if size == 0 or parent_of(type) >= 0 or type & (TGT_MAP_IMPLICIT | TGT_MAP_PTR_AND_OBJ):
        return
    if not update and (dev.what == NULL or not has_place(dev.what) or find_begun(dev.what, False)):
        return
    if gompy_checking:
        list_item(name, text)
        gompy_log_frame()
        gompy_log_named(EVENT_ABSENT, kind, dev.number, begin, <size_t> size, 0, 0, 0,
                        b"target update" if update else b"target exit data", text)
    if has_hooks(HOOK_MAP):
        tell_map(dev, MAP_ABSENT, kind, map_kind_name(kind), 0, begin, <size_t> size, 0, 0, 0)
