# target update (LLVM: targetDataUpdate).


cdef void tell_kept_pointers(DeviceDescr *dev, SplayNode *node, uintptr_t begin, uintptr_t end) noexcept nogil:
    """The attached pointers of a range, which LLVM's library puts back after a copy and ours leaves alone."""
    cdef AttachList *attached = attached_in(node)
    cdef size_t i
    if attached == NULL:
        return
    for i in range(attached.used):
        if attached.items[i].count and begin <= attached.items[i].address < end:
            tell_word(dev, &attached.items[i].value, device_address(node, attached.items[i].address), NULL)


cdef void log_update(const DeviceDescr *dev, uintptr_t begin, int64_t size, int64_t type,
                     const void *name) noexcept nogil:
    """Tell `gompy run --check` of an update by the text of the list item, before what it copies."""
    cdef char text[256]
    list_item(name, text)
    gompy_log_frame()
    gompy_log_named(EVENT_UPDATE, gomp_kind(type, False), dev.number, begin, <size_t> size, 0, 0, 0, b"target update",
                    text)


cdef int update_piece(DeviceDescr *dev, uintptr_t begin, int64_t size, int64_t type,
                      const void *name) noexcept nogil:
    """Copy one range, back before forth; what is not mapped is left alone."""
    cdef TgtFound found
    find_mapped(dev, begin, size, &found)
    if not found.contained:
        if type & TGT_MAP_PRESENT and not shares_memory(dev):
            say_absent(b"motion", begin, size)
            return -1
        if absent_told():
            tell_tgt_absent(dev, True, type, begin, size, name)
        return 0
    if rare(gompy_checking):
        log_update(dev, begin, size, type, name)
    if tgt_info() & TGT_INFO_EXISTS:
        tell_found(dev, found.node, begin, size, type & ~<int64_t> TGT_MAP_HOLD, True, b" (update suppressed)", NULL)
    if size == 0 and tgt_info() & TGT_INFO_COPIES:
        tell_no_bytes(dev, found.node, begin, type)
    if type & TGT_MAP_FROM and size and bring_back(dev, found.node, begin, size):
        return -1
    if type & TGT_MAP_TO and size and fill_mapping(dev, found.node, begin, size):
        tell_failure(b"error")
        tgt_print(b"error: Copying data to device failed.\n")
        return -1
    if type & TGT_MAP_TO and size and tgt_info() & TGT_INFO_COPIES:
        tell_kept_pointers(dev, found.node, begin, begin + <uintptr_t> size)
    if has_hooks(HOOK_MAP):
        tell_tgt_map(dev, MAP_UPDATED, type, begin, size, found.node, True)
    return 0


cdef int update_box(DeviceDescr *dev, uintptr_t begin, const TgtNonContig *dims, int count, int64_t size,
                    int64_t type, const void *name) noexcept nogil:
    """All pieces of a section with strides; the last dimension is one piece."""
    cdef uint64_t i
    if count == 1:
        return update_piece(dev, begin + dims[0].offset * dims[0].stride, size, type, name)
    for i in range(dims[0].count):
        if update_box(dev, begin + (dims[0].offset + i) * dims[0].stride, dims + 1, count - 1, size, type,
                      name):
            return -1
    return 0


cdef int update_strided(DeviceDescr *dev, const TgtMaps *maps, int i) noexcept nogil:
    """An entry with dimensions; inner ones that follow each other without a gap are one piece."""
    cdef const TgtNonContig *dims = <const TgtNonContig *> maps.begins[i]
    cdef int count = <int> maps.sizes[i]
    cdef int pieces = count
    cdef int d = count - 1
    cdef int64_t size
    if count < 1:
        return 0
    size = <int64_t> (dims[d].count * dims[d].stride)
    while d > 0:
        pieces -= dims[d].count * dims[d].stride == dims[d - 1].stride
        d -= 1
    # As LLVM: the size is the innermost dimension's, whether it was merged or not.
    return update_box(dev, <uintptr_t> maps.bases[i], dims, pieces, size, maps.types[i], name_at(maps, i))


cdef int update_maps(DeviceDescr *dev, TgtMaps *maps) noexcept nogil:
    """target update; the device is locked.  -1 after messages."""
    cdef int i
    for i in range(maps.count):
        if has_no_mapping(maps.types[i]) or maps.types[i] & TGT_MAP_ATTACH and not has_mapper(maps, i):
            continue
        if has_mapper(maps, i):
            if by_mapper(dev, maps, i, update_maps):
                tgt_print(b"error: Call to targetDataUpdate via targetDataMapper for custom mapper "
                                b"failed.\n")
                return -1
        elif maps.types[i] & TGT_MAP_NON_CONTIG:
            if update_strided(dev, maps, i):
                return -1
        elif update_piece(dev, <uintptr_t> maps.begins[i], maps.sizes[i], maps.types[i], name_at(maps, i)):
            return -1
    return 0
