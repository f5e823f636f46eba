# The end of a construct's mapping, and the removal of keys (libgomp: gomp_unmap_vars, gomp_remove_var).


ctypedef void (*key_told_fn)(DeviceDescr *, SplayNode *) noexcept nogil

cdef extern from *:
    key_told_fn apart_remove "gompy_apart"(key_told_fn) noexcept nogil


cdef int forget_more(DeviceDescr *dev, SplayNode *key) noexcept nogil:
    """forget_key, of a key that has more than most."""
    cdef SplayNode *link_key = key.more.link_key
    end_more(key)
    return range_insert(&dev.mem_map, link_key) if link_key != NULL else 0


cdef inline int forget_key(DeviceDescr *dev, SplayNode *key) noexcept nogil:
    """Take a key out of the tree and put the link variable back that it stood in for."""
    range_remove(&dev.mem_map, key)
    key.removed = 1
    if entries_told():
        apart_remove(check_remove)(dev, key)
    if rare(key.more != NULL):
        return forget_more(dev, key)
    return 0


cdef int remove_key(DeviceDescr *dev, SplayNode *key) noexcept nogil:
    """Remove a mapping, of a struct's element with all its siblings."""
    cdef TargetMem *tgt = key.tgt
    cdef SplayNode *first
    cdef size_t i
    if key.ref_kind == REF_STRUCT_ELEMENT:
        first = count_owner(key)
        for i in range(first.siblings):
            if forget_key(dev, first + i):
                return -1
    elif forget_key(dev, key):
        return -1
    return drop_target_mem(dev, tgt)


cdef int remove_keys(DeviceDescr *dev, SplayNode *removed) noexcept nogil:
    """Remove a chain of keys (chain_removed)."""
    cdef SplayNode *next
    while removed != NULL:
        next = next_removed(removed)
        if remove_key(dev, removed):
            return -1
        removed = next
    return 0


cdef SplayNode *mapped_since(DeviceDescr *dev, SplayNode *gone, const MapEntry *entry, uint64_t stamp) noexcept nogil:
    """What maps now all of a list item whose mapping was deleted within the construct; NULL if nothing does.

    OpenMP 5.1, 2.21.7.1: at the end it matters whether the list item is present then.  (libgomp reads freed memory.)
    """
    cdef uintptr_t start = gone.host_start
    cdef uintptr_t end = gone.host_end
    cdef SplayNode *key
    if stamp == EVERY_ENTRY:
        return NULL  # OpenACC's regions have counts of their own
    if entry.length:
        start += entry.copy_start
        end = start + entry.length
    key = lookup_mapped(&dev.mem_map, start, end)
    return key if key != NULL and key.host_start <= start and end <= key.host_end else NULL


ctypedef void (*end_of_fn)(TargetMem *, size_t, SplayNode *, bint) noexcept nogil

cdef extern from *:
    end_of_fn apart_end_of "gompy_apart"(end_of_fn) noexcept nogil


cdef void tell_end_of(TargetMem *tgt, size_t i, SplayNode *key, bint removed) noexcept nogil:
    """The end of an entry of a construct that lasts.  removed: nobody counts it any more, since now."""
    cdef MapEntry *entry = &tgt.lasting.list[i]
    cdef bint last = key.ref_kind != REF_INFINITY and key.ref_kind != REF_LINK and count_owner(key).refcount == 0
    tell_entry_end(tgt.lasting.device, MAP_REMOVED if removed else MAP_KEPT, entry.kind, i,
                   key.host_start + entry.copy_start, entry.length, key,
                   entry.length if (last and entry.copy_from) or entry.always_copy_from else 0)


cdef inline int end_of_entry(TargetMem *tgt, size_t i, uint64_t stamp, SplayNode **removed) noexcept nogil:
    """The end of an entry that has a key: lower the count, copy back.  A key that nobody counts any more joins
    ``removed``."""
    cdef DeviceDescr *dev = tgt.lasting.device
    cdef MapEntry *entry = &tgt.lasting.list[i]
    cdef SplayNode *key = entry.key
    cdef uintptr_t start = key.host_start + entry.copy_start
    cdef bint do_copy, do_remove
    if rare(key.removed):
        key = mapped_since(dev, key, entry, stamp)
        if key == NULL:
            return 0
    decrement_refcount(key, stamp, False, &do_copy, &do_remove)
    if (do_copy and entry.copy_from) or entry.always_copy_from:
        dev.copying.kind = entry.kind
        # OpenACC: as it is, the pointers that are still attached in it included (libgomp does so for OpenMP too).
        if copy_one_way(dev, key, start, entry.length, False, NULL) if stamp == EVERY_ENTRY \
                else copy_range(dev, key, start, start + entry.length, False, NULL):
            return -1
    if has_hooks(HOOK_MAP):
        apart_end_of(tell_end_of)(tgt, i, key, do_remove)
    if do_remove:
        key = count_owner(key)
        chain_removed(key, removed[0])
        removed[0] = key
    return 0


cdef int detach_entries(TargetMem *tgt) noexcept nogil:
    """Undo what a construct has attached."""
    cdef MapEntry *entry
    cdef size_t i
    for i in range(tgt.lasting.list_count):
        entry = &tgt.lasting.list[i]
        if entry.is_attach and entry.key != NULL and not entry.key.removed:
            if detach_pointer(tgt.lasting.device, entry.key, entry.key.host_start + entry.offset, False):
                return -1
    return 0


cdef int unmap_vars(TargetMem *tgt, uint64_t stamp) noexcept nogil:
    """End the mapping of a construct: detach, lower the counts, copy back, remove.  The device is locked."""
    cdef DeviceDescr *dev = tgt.lasting.device
    cdef SplayNode *removed = NULL
    cdef MapEntry *list = tgt.lasting.list
    cdef TargetMem *held
    cdef size_t i, count = tgt.lasting.list_count
    if tgt.lasting.attaches and detach_entries(tgt):
        return -1
    for i in range(count):
        if list[i].key == NULL:
            continue
        held = list[i].key.tgt
        if not list[i].is_attach and end_of_entry(tgt, i, stamp, &removed):
            return -1
        # What goes is still in the index, and that holds its block, too.
        if held != tgt and drop_target_mem(dev, held):
            return -1
    # Only now: a key may stand in the list more than once, and its removal may free it.
    if remove_keys(dev, removed):
        return -1
    return drop_target_mem(dev, tgt)
