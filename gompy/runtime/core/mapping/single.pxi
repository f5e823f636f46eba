# enter data, exit data and update of one object; of the first two with the pointer to it, where that is not mapped.
#
# Programs with many mappings have many such directives; for `p[:n]` GCC lists the pointer, too.  map_vars and exit_vars
# serve any list, in passes; what one object needs of them is here, half as many instructions.  They count twice where
# what is read is in no cache: a processor looks some hundred instructions ahead, and waits for the memory of the next
# directive at the same time as for that of this one, if it comes to it.  Whatever is special goes the general way.

cdef enum:
    NOT_SINGLE = 1  # nothing has been done: map_vars, exit_vars or update_vars has to


cdef inline bint overlaps_object(const MapList *maps, uintptr_t pointer) noexcept nogil:
    """Whether a pointer is part of the first object of a list, wholly or not."""
    return pointer + sizeof(void *) > start_at(maps, 0) and pointer < start_at(maps, 0) + maps.sizes[0]


cdef inline bint is_single(DeviceDescr *dev, const MapList *maps, unsigned pointer_kinds) noexcept nogil:
    """Whether a list has one object, which may take the short way.

    pointer_kinds: KIND_ATTACH or KIND_DETACH.
    """
    cdef uintptr_t pointer
    if (not maps.short_kinds or dev.queue != NULL or maps.mapnum - 1 > 1
            or maps.hostaddrs[0] == NULL or maps.sizes[0] - 1 >= (<size_t> 1 << ADDRESS_BITS) - 1):
        return False
    if maps.mapnum == 1:
        return True
    pointer = start_at(maps, 1)
    if not has_property(kind_at(maps, 1), pointer_kinds):
        return False
    if gompy_index_beyond(&dev.mem_map, pointer, pointer + sizeof(void *)):
        return not overlaps_object(maps, pointer)
    return range_lookup(&dev.mem_map, pointer, pointer + sizeof(void *)) == NULL and not overlaps_object(maps, pointer)


cdef int enter_new(DeviceDescr *dev, uintptr_t start, size_t size, int kind, size_t align) noexcept nogil:
    """Map an object of which nothing is mapped."""
    cdef TargetMem *tgt
    cdef SplayNode *key
    cdef uintptr_t block
    if rare(dev.num_links != 0) or guard_step(dev):
        return NOT_SINGLE
    tgt = target_mem_with(dev, 1)
    if tgt == NULL:
        return NOT_SINGLE
    if align < sizeof(void *):
        align = sizeof(void *)
    block = <uintptr_t> aligned_memory(dev, align, size, False)
    tgt.tgt_start = align_up(block, align)
    if rare(block == 0 or tgt.tgt_start - block >= NO_BLOCK):
        free_target_mem(dev, tgt)
        return (block != 0 and free_device_memory(dev, <void *> block)) or no_room(size, start, size)
    tgt.padding = <uint32_t> (tgt.tgt_start - block)
    tgt.refcount = 1
    key = <SplayNode *> (tgt + 1)
    memset(key, 0, sizeof(SplayNode))
    key.host_start = start
    key.host_end = start + size
    key.tgt = tgt
    key.refcount = 1
    key.stamp = new_stamp(dev)
    if not range_inserted(&dev.mem_map, key, host_view(dev, tgt.tgt_start)) and range_insert(&dev.mem_map, key):
        end_target_mem(dev, tgt)
        return -1
    if not has_property(kind, KIND_FILLED):
        return 0
    dev.copying.kind = kind
    return copy_to_device(dev, tgt.tgt_start, <const void *> start, size, NULL)


cdef inline int enter_single(DeviceDescr *dev, const MapList *maps) noexcept nogil:
    """enter data of one object; NOT_SINGLE; -1 with a failure text."""
    cdef uintptr_t start
    cdef size_t size
    cdef SplayNode *node
    cdef int kind
    if anybody_asks() or not is_single(dev, maps, KIND_ATTACH):
        return NOT_SINGLE
    kind = kind_at(maps, 0)
    if kind > GOMP_MAP_TOFROM:
        return NOT_SINGLE
    start = start_at(maps, 0)
    size = maps.sizes[0]
    gompy_index_aim(&dev.mem_map, <const void *> start, size, False)
    node = range_lookup(&dev.mem_map, start, start + size)
    if node == NULL:
        return enter_new(dev, start, size, kind, alignment_at(maps, 0))
    if node.ref_kind == REF_LINK or start < node.host_start or start + size > node.host_end:
        return NOT_SINGLE
    increment_refcount(node, new_stamp(dev))
    return 0


cdef inline int exit_single(DeviceDescr *dev, const MapList *maps) noexcept nogil:
    """exit data of one object; NOT_SINGLE; -1 with a failure text."""
    cdef uintptr_t start
    cdef size_t size
    cdef unsigned properties
    cdef SplayNode *node
    cdef int kind
    if anybody_asks() or not is_single(dev, maps, KIND_DETACH):
        return NOT_SINGLE
    kind = kind_at(maps, 0)
    properties = kind_properties[kind]
    if properties & (KIND_EXIT | KIND_DELETE | KIND_SECTION | KIND_ALWAYS_FROM) != KIND_EXIT:
        return NOT_SINGLE
    start = start_at(maps, 0)
    size = maps.sizes[0]
    if properties & KIND_FROM:
        gompy_index_aim(&dev.mem_map, <const void *> start, size, True)
    node = range_lookup(&dev.mem_map, start, start + size)
    if node == NULL:
        return 0
    fetch_device_memory(&dev.mem_map, node)
    if (node.ref_kind != REF_COUNTED or node.more != NULL or node.refcount == 0 or start < node.host_start
            or start + size > node.host_end):
        return NOT_SINGLE
    node.stamp = new_stamp(dev)
    node.refcount -= 1
    if node.refcount:
        return 0
    if properties & KIND_FROM and not is_constant(start):
        dev.copying.kind = kind
        if copy_to_host(dev, <void *> start, device_address(node, start), size):
            return -1
    return remove_key(dev, node)


cdef inline int update_single(DeviceDescr *dev, const MapList *maps) noexcept nogil:
    """target update of one object, in which no pointer is attached; NOT_SINGLE; -1 with a failure text."""
    cdef uintptr_t start
    cdef size_t size
    cdef unsigned properties
    cdef SplayNode *node
    cdef int kind
    if anybody_asks() or maps.mapnum != 1 or not maps.short_kinds or dev.queue != NULL or maps.sizes[0] == 0:
        return NOT_SINGLE
    start = start_at(maps, 0)
    size = maps.sizes[0]
    node = range_lookup(&dev.mem_map, start, start + size)
    if node == NULL:
        return NOT_SINGLE
    fetch_device_memory(&dev.mem_map, node)
    if node.ref_kind == REF_LINK or node.more != NULL or start < node.host_start or start + size > node.host_end:
        return NOT_SINGLE
    kind = kind_at(maps, 0)
    properties = kind_properties[kind]
    dev.copying.kind = kind
    if properties & KIND_TO and send_untold(dev, device_address(node, start), <const void *> start, size):
        return -1
    if properties & KIND_FROM and not is_constant(start):
        return bring_untold(dev, <void *> start, device_address(node, start), size)
    return 0


cdef inline int enter_data(DeviceDescr *dev, const MapList *maps) noexcept nogil:
    """enter data of any list; -1 with a failure text.  The device is locked and initialised."""
    cdef int rc = enter_single(dev, maps)
    return enter_vars(dev, maps) if rc == NOT_SINGLE else rc


cdef inline int exit_data(DeviceDescr *dev, const MapList *maps) noexcept nogil:
    """exit data of any list; -1 with a failure text.  The device is locked and initialised."""
    cdef int rc = exit_single(dev, maps)
    return exit_vars(dev, maps) if rc == NOT_SINGLE else rc


cdef inline int update_data(DeviceDescr *dev, const MapList *maps) noexcept nogil:
    """target update of any list; -1 with a failure text.  The device is locked and initialised."""
    cdef int rc = update_single(dev, maps)
    return update_vars(dev, maps) if rc == NOT_SINGLE else rc
