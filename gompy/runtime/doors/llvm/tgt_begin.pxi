# The begin of a construct: what is not mapped is (LLVM: targetDataBegin, DeviceTy::getTargetPointer).

cdef enum:
    STRUCT_ALIGNMENT = 16  # that a struct keeps on the device (LLVM 17: MaxAlignment)

cdef struct TgtPlaced:
    # Where an entry is on the device.
    SplayNode *node  # NULL: nowhere, which is right for a section without length, or in the memory that is shared
    uintptr_t address


cdef void log_entry(DeviceDescr *dev, uintptr_t begin, int64_t size, int64_t type, SplayNode *node, bint fresh,
                    const void *name) noexcept nogil:
    """Tell `gompy run --check` of an entry, by the text of the list item."""
    cdef char text[256]
    cdef unsigned flags = ENTRY_NEW if fresh else ENTRY_FOR_EVER if node.ref_kind == REF_INFINITY else 0
    list_item(name, text)
    gompy_log_frame()
    gompy_log_named(EVENT_ENTRY, gomp_kind(type, False), dev.number, begin, <size_t> size,
                    device_address(node, begin), count_owner(node).refcount, flags, b"", text)


cdef int place_entry(DeviceDescr *dev, uintptr_t base, uintptr_t begin, int64_t size, int64_t type, bint counted,
                     const void *name, const TgtPending *pending, TgtPlaced *placed) noexcept nogil:
    """Find or make the mapping of a host range, and fill it."""
    cdef TgtFound found
    cdef SplayNode *node
    cdef bint fresh = False
    find_mapped(dev, begin, size, &found)
    node = found.node
    placed.node = NULL
    placed.address = 0
    if found.contained or (found.extends and type & TGT_MAP_IMPLICIT):
        if counted:
            if count_up(node, type):
                tell_failure(b"error")
                return -1
        else:
            fresh = node.ref_kind != REF_INFINITY and count_owner(node).refcount == 1  # made with its struct, just now
        if tgt_info() & TGT_INFO_EXISTS:
            tell_found(
                dev, node, begin, size, type, False, b" (incremented)" if counted else b" (update suppressed)", name
            )
    elif found.extends:
        say_extension(node, begin, size)
        if type & TGT_MAP_PRESENT:
            say_absent(b"map type", begin, size)
        return -1
    elif shares_memory(dev) and not type & TGT_MAP_CLOSE:
        placed.address = begin
        return 0
    elif type & TGT_MAP_PRESENT:
        say_absent(b"map type", begin, size)
        return -1
    elif size == 0:
        return 0
    else:
        node = new_mapping(dev, base, begin, size, type, name, pending)
        if node == NULL:
            tell_failure(b"error")
            return -1
        fresh = True
        if tgt_info() & TGT_INFO_CHANGED:
            tell_made(dev, node)
    placed.node = node
    placed.address = device_address(node, begin)
    if size == 0 and tgt_info() & TGT_INFO_COPIES and (fresh or type & TGT_MAP_ALWAYS):
        tell_no_bytes(dev, node, begin, type & TGT_MAP_TO)
    if type & TGT_MAP_TO and size and (fresh or type & TGT_MAP_ALWAYS) and fill_mapping(dev, node, begin, size):
        tell_failure(b"error")
        tgt_print(b"error: Copying data to device failed.\n")
        return -1
    if rare(gompy_checking):
        log_entry(dev, begin, size, type, node, fresh, name)
    if has_hooks(HOOK_MAP):
        tell_tgt_map(dev, MAP_NEW if node != found.node else MAP_PRESENT, type, begin, size, node,
                     type & TGT_MAP_TO and (fresh or type & TGT_MAP_ALWAYS))
    return 0


cdef int say_no_place(int64_t type) noexcept nogil:
    tgt_print(b"error: Call to getTargetPointer returned null pointer (%s).\n",
            <const char *> (b"'present' map type modifier" if type & TGT_MAP_PRESENT
                            else b"device failure or illegal mapping"))
    return -1


cdef int attach_entry(DeviceDescr *dev, SplayNode *node, uintptr_t pointer, uintptr_t value) noexcept nogil:
    """Make the device's copy of a pointer point to its target's; copies of what it is in leave it alone from now on."""
    cdef AttachedPointer *attached = find_attached(node, pointer, True)
    if attached == NULL:
        return gompy_fail(b"Out of memory allocating %lu bytes", <unsigned long> sizeof(AttachedPointer))
    if attached.count and attached.value == value:
        return 0
    if attached.count == 0:
        attached.count = 1
    attached.value = value
    tell_word(dev, &value, device_address(node, pointer), notes_name(node) if tgt_release >= 18 else NULL)
    return copy_word(dev, device_address(node, pointer), value, NULL)


cdef void tell_no_counterpart(DeviceDescr *dev, const TgtMaps *maps, int i) noexcept nogil:
    """An entry that is nowhere on the device."""
    cdef char name[256]
    if parent_of(maps.types[i]) >= 0 or maps.types[i] & TGT_MAP_IMPLICIT:
        return
    map_name(name_at(maps, i), name)
    tgt_print(b"device %d info: variable %s does not have a valid device counterpart\n", dev.number, name)


cdef int begin_entry(DeviceDescr *dev, const TgtMaps *maps, int i) noexcept nogil:
    """One entry without a mapper."""
    cdef int64_t type = maps.types[i]
    cdef uintptr_t begin, base = <uintptr_t> maps.bases[i]
    cdef uintptr_t pointer = base
    cdef int64_t size
    cdef bint inner = maps.from_mapper and i == 0  # the mapper's caller counts what this stands for
    cdef bint counted = parent_of(type) < 0 and not inner
    cdef TgtPlaced holder
    cdef TgtPlaced placed
    struct_range(maps, i, &begin, &size)
    if type & TGT_MAP_PTR_AND_OBJ:
        if place_entry(dev, pointer, pointer, sizeof(void *), type & ~<int64_t> (TGT_MAP_TO | TGT_MAP_ALWAYS),
                       counted, NULL, maps.pending, &holder):
            return say_no_place(type)
        base = (<uintptr_t *> pointer)[0]
        counted = not inner
    maps.pending.pad = begin % STRUCT_ALIGNMENT if tgt_release >= 17 and is_combined(maps, i) else 0
    if place_entry(dev, base, begin, size, type, counted, name_at(maps, i), maps.pending, &placed):
        return say_no_place(type)
    maps.pending.pad = 0
    if placed.address == 0 and type & TGT_MAP_PRESENT:
        return say_no_place(type)
    if type & TGT_MAP_RETURN_PARAM:
        if placed.address == 0 and tgt_release >= 22 and not type & TGT_MAP_FB_NULLIFY:
            maps.bases[i] = <void *> base  # it is a device's pointer already
        else:
            maps.bases[i] = <void *> (placed.address - (begin - base))
    if tgt_info() & TGT_INFO_EMPTY and tgt_release >= 18 and placed.address == 0 and type != 0:
        tell_no_counterpart(dev, maps, i)
    if type & TGT_MAP_PTR_AND_OBJ and holder.node != NULL:  # else it is the program's own, which stays as it is
        if attach_entry(dev, holder.node, pointer, placed.address - (begin - base)):
            tell_failure(b"error")
            return -1
    return 0


cdef int defer_attach(const TgtMaps *maps, int i) noexcept nogil:
    """Keep an entry with ATTACH until all else of its construct is mapped."""
    cdef TgtAttach *attach = <TgtAttach *> malloc(sizeof(TgtAttach))
    if attach == NULL:
        gompy_fail(b"Out of memory allocating %lu bytes", <unsigned long> sizeof(TgtAttach))
        tell_failure(b"error")
        return -1
    attach.pointer = <uintptr_t> maps.bases[i]
    attach.begin = <uintptr_t> maps.begins[i]
    attach.size = <size_t> maps.sizes[i]
    attach.always = maps.types[i] & TGT_MAP_ALWAYS != 0
    attach.next = NULL
    if maps.pending.last != NULL:
        maps.pending.last.next = attach
    else:
        maps.pending.first = attach
    maps.pending.last = attach
    return 0


cdef inline bint is_born(const SplayNode *node, uint64_t serial) noexcept nogil:
    """Whether a mapping has been made by a construct."""
    return notes_of(node) != NULL and (<const TgtNotes *> notes_of(node)).born == serial


cdef int attach_deferred(DeviceDescr *dev, const TgtAttach *attach, uint64_t serial) noexcept nogil:
    """Attach a pointer to what it points to, if both are there, and one of them is new or `always` is said
    (LLVM: processAttachEntries)."""
    cdef TgtFound pointer, pointee
    cdef uintptr_t base
    find_mapped(dev, attach.begin, 0, &pointee)
    find_mapped(dev, attach.pointer, <int64_t> attach.size, &pointer)
    if not pointee.contained or not pointer.contained:
        return 0
    if not attach.always and not is_born(pointee.node, serial) and not is_born(pointer.node, serial):
        return 0
    base = (<uintptr_t *> attach.pointer)[0]
    if attach_entry(dev, pointer.node, attach.pointer,
                    device_address(pointee.node, attach.begin) - (attach.begin - base)):
        return -1
    if attach.size > sizeof(void *):  # the rest of a Fortran descriptor
        return copy_to_device(dev, device_address(pointer.node, attach.pointer) + sizeof(void *),
                              <void *> (attach.pointer + sizeof(void *)), attach.size - sizeof(void *), NULL)
    return 0


cdef int attach_all(DeviceDescr *dev, TgtPending *pending) noexcept nogil:
    """The pointers that a construct has left for its end.  -1 after messages."""
    cdef TgtAttach *attach = pending.first
    cdef TgtAttach *next
    cdef int rc = 0
    while attach != NULL:
        if rc == 0 and attach_deferred(dev, attach, pending.serial):
            tell_failure(b"error")
            rc = -1
        next = attach.next
        free(attach)
        attach = next
    return rc


cdef int begin_entries(DeviceDescr *dev, TgtMaps *maps) noexcept nogil:
    """All entries, those of mappers too.  -1 after messages."""
    cdef int i
    for i in range(maps.count):
        if has_no_mapping(maps.types[i]):
            continue
        if has_mapper(maps, i):
            if by_mapper(dev, maps, i, begin_entries):
                tgt_print(b"error: Call to targetDataBegin via targetDataMapper for custom mapper failed.\n"
                )
                return -1
        elif maps.types[i] & TGT_MAP_ATTACH:
            if defer_attach(maps, i):
                return -1
        elif begin_entry(dev, maps, i):
            return -1
    return 0


cdef int begin_maps(DeviceDescr *dev, TgtMaps *maps) noexcept nogil:
    """The begin of a construct; the device is locked.  -1 after messages."""
    cdef TgtPending pending
    cdef int rc
    if absent_told():
        note_begun(dev)
    dev.constructs += 1
    pending.serial = dev.constructs
    pending.pad = 0
    pending.first = pending.last = NULL
    maps.pending = &pending
    rc = begin_entries(dev, maps)
    if pending.first != NULL and attach_all(dev, &pending):
        rc = -1
    maps.pending = NULL
    return rc
