# Copies between host and device in mapping operations, and the pointers that are attached in mapped ranges.

cdef enum:
    STAGED_OBJECT_SIZE = 16384  # larger objects are copied by themselves
    STAGED_BLOCK_SIZE = 65536
    STAGE_WORDS = 256
    STAGE_ON_STACK = 8 * STAGE_WORDS  # bytes
    STAGE_KEPT = 131072  # a device keeps room for stages of so many
    CACHE_LINE = 64
    LINE_OBJECT = 512  # objects of that and more begin with a line
    NO_VIEW = 1  # of DeviceDescr.view, a distance of pages otherwise
    VIEW_KNOWN = 2


cdef struct Stage:
    # The start of a new block, gathered on the host so that it goes to the device in one copy (libgomp: coalesce_buf).
    char *buffer
    uintptr_t start  # device address
    size_t size

ctypedef int (*queue_out_fn)(DeviceDescr *, uintptr_t, const void *, size_t) noexcept nogil
ctypedef int (*queue_home_fn)(DeviceDescr *, void *, uintptr_t, size_t) noexcept nogil
ctypedef int (*to_device_fn)(DeviceDescr *, uintptr_t, const void *, size_t, Stage *) noexcept nogil
ctypedef int (*to_host_fn)(DeviceDescr *, void *, uintptr_t, size_t) noexcept nogil
ctypedef int (*one_way_fn)(DeviceDescr *, SplayNode *, uintptr_t, size_t, bint, Stage *) noexcept nogil

cdef extern from *:
    one_way_fn apart_copy "gompy_apart"(one_way_fn) noexcept nogil
    to_device_fn apart_to_device "gompy_apart"(to_device_fn) noexcept nogil
    to_host_fn apart_to_host "gompy_apart"(to_host_fn) noexcept nogil
    queue_out_fn apart_queue_to_device "gompy_apart"(queue_out_fn) noexcept nogil
    queue_home_fn apart_queue_to_host "gompy_apart"(queue_home_fn) noexcept nogil
    void *aligned_alloc(size_t align, size_t size) noexcept nogil


cdef inline uintptr_t device_address(SplayNode *key, uintptr_t host) noexcept nogil:
    return key.tgt.tgt_start + key.tgt_offset + (host - key.host_start)


cdef void find_view(DeviceDescr *dev, uintptr_t device) noexcept nogil:
    """Ask once, with an address of the device's memory."""
    cdef const char *view = device_view(dev, device, 1)
    dev.view = NO_VIEW if view == NULL else (<uintptr_t> view - device) | VIEW_KNOWN


cdef inline uintptr_t host_view(DeviceDescr *dev, uintptr_t device) noexcept nogil:
    """About where this process reads the device's memory, to have it fetched; 0: it copies."""
    if rare(dev.view == 0):
        find_view(dev, device)
    return device + dev.view if dev.view != NO_VIEW else 0


cdef int to_device_failed(uintptr_t dst, const void *src, size_t size) noexcept nogil:
    return gompy_fail(b"Copying of host object [%p..%p) to dev object [%p..%p) failed",
                      src, <const char *> src + size, <void *> dst, <void *> (dst + size))


cdef int to_host_failed(void *dst, uintptr_t src, size_t size) noexcept nogil:
    return gompy_fail(b"Copying of dev object [%p..%p) to host object [%p..%p) failed",
                      <void *> src, <void *> (src + size), dst, <char *> dst + size)


cdef inline bint in_stage(uintptr_t dst, const Stage *stage) noexcept nogil:
    return stage != NULL and stage.buffer != NULL and dst - stage.start < stage.size


cdef inline int send_untold(DeviceDescr *dev, uintptr_t dst, const void *src, size_t size) noexcept nogil:
    """Copy to the device now; nobody is told.  -1 with a failure text."""
    begin_copy(dev, True, src, size)
    return 0 if end_copy(dev, untold_host2dev(dev, <void *> dst, src, size)) else to_device_failed(dst, src, size)


cdef inline int bring_untold(DeviceDescr *dev, void *dst, uintptr_t src, size_t size) noexcept nogil:
    """Copy from the device now; nobody is told.  -1 with a failure text."""
    begin_copy(dev, False, dst, size)
    return 0 if end_copy(dev, untold_dev2host(dev, dst, <void *> src, size)) else to_host_failed(dst, src, size)


cdef int untold_to_device(DeviceDescr *dev, uintptr_t dst, const void *src, size_t size,
                          Stage *stage) noexcept nogil:
    """copy_to_device, where its caller has looked whether anybody wants to know."""
    if in_stage(dst, stage):
        begin_copy(dev, True, src, size)
        memcpy(stage.buffer + (dst - stage.start), src, size)
        end_copy(dev, True)
        return 0
    if dev.queue != NULL:
        return apart_queue_to_device(queue_to_device)(dev, dst, src, size)
    return send_untold(dev, dst, src, size)


cdef int told_to_device(DeviceDescr *dev, uintptr_t dst, const void *src, size_t size, Stage *stage) noexcept nogil:
    """copy_to_device, told."""
    if in_stage(dst, stage) or dev.queue != NULL:
        return untold_to_device(dev, dst, src, size, stage)
    begin_copy(dev, True, src, size)
    return 0 if end_copy(dev, device_host2dev(dev, <void *> dst, src, size)) else to_device_failed(dst, src, size)


cdef inline int copy_to_device(DeviceDescr *dev, uintptr_t dst, const void *src, size_t size,
                               Stage *stage) noexcept nogil:
    """Copy to the device, or to the stage if the place is in it; -1 with a failure text."""
    if has_hooks(HOOK_COPY):
        return apart_to_device(told_to_device)(dev, dst, src, size, stage)
    return untold_to_device(dev, dst, src, size, stage)


cdef int copy_value(DeviceDescr *dev, uintptr_t dst, const void *value, size_t size, Stage *stage) noexcept nogil:
    """Copy to the device what is in host memory now, whenever a queue comes to it."""
    if dev.queue != NULL:
        return queue_value(dev, dst, value, size)
    return copy_to_device(dev, dst, value, size, stage)


cdef inline int copy_word(DeviceDescr *dev, uintptr_t dst, uintptr_t value, Stage *stage) noexcept nogil:
    """Copy a word that is no object of the program."""
    return copy_value(dev, dst, &value, sizeof(void *), stage)


cdef int untold_to_host(DeviceDescr *dev, void *dst, uintptr_t src, size_t size) noexcept nogil:
    """copy_to_host, where its caller has looked whether anybody wants to know."""
    if dev.queue != NULL:
        return apart_queue_to_host(queue_to_host)(dev, dst, src, size)
    return bring_untold(dev, dst, src, size)


cdef int told_to_host(DeviceDescr *dev, void *dst, uintptr_t src, size_t size) noexcept nogil:
    """copy_to_host, told."""
    if dev.queue != NULL:
        return untold_to_host(dev, dst, src, size)
    begin_copy(dev, False, dst, size)
    return 0 if end_copy(dev, device_dev2host(dev, dst, <void *> src, size)) else to_host_failed(dst, src, size)


cdef inline int copy_to_host(DeviceDescr *dev, void *dst, uintptr_t src, size_t size) noexcept nogil:
    """Copy from the device; -1 with a failure text."""
    if has_hooks(HOOK_COPY):
        return apart_to_host(told_to_host)(dev, dst, src, size)
    return untold_to_host(dev, dst, src, size)


cdef void compare_bytes(const void *memory, size_t size, void *host) noexcept nogil:
    """host: the address of what to compare with, which becomes NULL if it is the same."""
    if memcmp(memory, (<void **> host)[0], size) == 0:
        (<void **> host)[0] = NULL


cdef bint device_has_same(DeviceDescr *dev, uintptr_t place, void *host, size_t size, bint *same) noexcept nogil:
    """Whether it can be told without copies if a range of the device's has the host's contents."""
    if dev.queue != NULL or not device_use(dev, place, size, compare_bytes, &host):
        return False
    same[0] = host == NULL
    return True


cdef int copy_checked(DeviceDescr *dev, SplayNode *key, uintptr_t host, size_t size, bint to_device,
                      Stage *stage) noexcept nogil:
    """copy_one_way, logged."""
    cdef uint64_t before = 0
    cdef bint same = False
    if to_device:
        check_copy(dev, host, size, device_address(key, host), True, 0, False)
        return copy_to_device(dev, device_address(key, host), <void *> host, size, stage)
    if is_constant(host):
        return 0
    if not gompy_rests and not device_has_same(dev, device_address(key, host), <void *> host, size, &same):
        before = gompy_hash(<void *> host, size)
    if same:
        begin_copy(dev, False, <void *> host, size)
        dev.bytes_from += size
        end_copy(dev, told_copy(dev, COPY_TO_HOST, <void *> host, <void *> device_address(key, host), size, NULL, True))
    elif copy_to_host(dev, <void *> host, device_address(key, host), size):
        return -1
    check_copy(dev, host, size, device_address(key, host), False, before, same)
    return 0


cdef int copy_one_way_told(DeviceDescr *dev, SplayNode *key, uintptr_t host, size_t size, bint to_device,
                           Stage *stage) noexcept nogil:
    """copy_one_way, told, and logged by the checks."""
    if gompy_checking:
        return copy_checked(dev, key, host, size, to_device, stage)
    if to_device:
        return copy_to_device(dev, device_address(key, host), <void *> host, size, stage)
    return 0 if is_constant(host) else copy_to_host(dev, <void *> host, device_address(key, host), size)


cdef int copy_one_way(DeviceDescr *dev, SplayNode *key, uintptr_t host, size_t size, bint to_device,
                      Stage *stage) noexcept nogil:
    if size == 0:
        return 0
    if has_hooks(HOOK_COPY | HOOK_ENTRIES):
        return apart_copy(copy_one_way_told)(dev, key, host, size, to_device, stage)
    if to_device:
        return untold_to_device(dev, device_address(key, host), <void *> host, size, stage)
    if is_constant(host):
        return 0
    return untold_to_host(dev, <void *> host, device_address(key, host), size)


cdef int copy_range(DeviceDescr *dev, SplayNode *key, uintptr_t start, uintptr_t end, bint to_device,
                    Stage *stage) noexcept nogil:
    """Copy [start, end) of a mapped range one way, all but the pointers attached in it."""
    cdef AttachList *attached = attached_in(key)
    cdef uintptr_t at = start
    cdef uintptr_t pointer
    cdef size_t i
    if attached != NULL:
        for i in range(attached.used):
            pointer = attached.items[i].address
            if pointer + sizeof(void *) <= at or attached.items[i].count == 0:
                continue
            if pointer >= end:
                break
            if pointer > at and copy_one_way(dev, key, at, pointer - at, to_device, stage):
                return -1
            at = pointer + sizeof(void *)
    if at < end:
        return copy_one_way(dev, key, at, end - at, to_device, stage)
    return 0


cdef inline size_t attached_place(AttachList *attached, uintptr_t address) noexcept nogil:
    """Where an address is or would be: most often one further than the one before, or at the end."""
    cdef AttachedPointer *items = attached.items
    cdef size_t low = 0
    cdef size_t high = attached.used
    cdef size_t middle
    if high == 0 or items[high - 1].address < address:
        return high
    if attached.at + 1 < high and items[attached.at + 1].address == address:
        return attached.at + 1
    while low < high:
        middle = (low + high) >> 1
        if items[middle].address < address:
            low = middle + 1
        else:
            high = middle
    return low


cdef AttachedPointer *find_attached(SplayNode *key, uintptr_t address, bint insert) noexcept nogil:
    """The counter of the pointer at a host address; NULL if it has none (or, on insert, no memory)."""
    cdef AttachList *attached = attached_in(key)
    cdef AttachedPointer *items
    cdef size_t low
    if attached == NULL:
        if not insert or more_of(key) == NULL:
            return NULL
        attached = <AttachList *> calloc(1, sizeof(AttachList))
        if attached == NULL:
            return NULL
        key.more.attached = attached
    low = attached.at = attached_place(attached, address)
    if low < attached.used and attached.items[low].address == address:
        return &attached.items[low]
    if not insert:
        return NULL
    if attached.used == attached.room:
        items = <AttachedPointer *> realloc(attached.items, (2 * attached.room + 4) * sizeof(AttachedPointer))
        if items == NULL:
            return NULL
        attached.items = items
        attached.room = 2 * attached.room + 4
    memmove(&attached.items[low + 1], &attached.items[low], (attached.used - low) * sizeof(AttachedPointer))
    attached.used += 1
    attached.items[low].address = address
    attached.items[low].count = 0
    attached.items[low].value = 0
    return &attached.items[low]


cdef inline bint holds_pointer(const SplayNode *key, uintptr_t pointer) noexcept nogil:
    """Whether all of a pointer lies in a mapped range."""
    return pointer >= key.host_start and pointer + sizeof(void *) <= key.host_end


cdef int fail_across(const SplayNode *key, uintptr_t pointer, const char *what) noexcept nogil:
    """A pointer that lies across an end of what is mapped: its device copy would be written beside the block.

    It counts as not mapped.  (libgomp writes there.)
    """
    return gompy_fail(b"enclosing struct not mapped for %s: of the pointer at [%p..%p) only what lies in [%p..%p) is "
                      b"mapped; map all of it", what, <void *> pointer, <void *> (pointer + sizeof(void *)),
                      <void *> key.host_start, <void *> key.host_end)


cdef int attach_pointer(DeviceDescr *dev, SplayNode *key, uintptr_t pointer, size_t bias, bint allow_zero_length,
                        Stage *stage, bint allow_null=False) noexcept nogil:
    """Make the device copy of a mapped pointer point to the device copy of its target (libgomp: gomp_attach_pointer).
    """
    cdef AttachedPointer *counter
    cdef SplayNode *target
    cdef uintptr_t value
    cdef uintptr_t data = 0
    if key == NULL:
        return fail_pointer(pointer, b"enclosing struct not mapped for attach")
    if not holds_pointer(key, pointer):
        return fail_across(key, pointer, b"attach")
    counter = find_attached(key, pointer, True)
    if counter == NULL:
        return gompy_fail(b"Out of memory allocating %lu bytes", <unsigned long> sizeof(AttachedPointer))
    counter.count += 1
    if counter.count > 1:
        return 0
    value = (<uintptr_t *> pointer)[0]
    # GCC 14's device code gets NULL: pointers of Fortran's that are not associated are mapped with their types.
    if value == 0 and not (allow_null or key.taken_in or newest_version >= GOMP_VERSION_INDIRECT_FUNCS):
        return fail_pointer(pointer, b"attempt to attach null pointer")
    target = lookup_mapped(&dev.mem_map, value + bias, value + bias + 1) if value else NULL
    if target != NULL:
        data = device_address(target, value)
    elif allow_zero_length or key.taken_in or value == 0:
        data = unmapped_value(value)
    else:
        return fail_pointer(pointer, b"pointer target not mapped for attach")
    return copy_word(dev, device_address(key, pointer), data, stage)


cdef int detach_pointer(DeviceDescr *dev, SplayNode *key, uintptr_t pointer, bint finalize) noexcept nogil:
    """Undo one attach; the last one gives the device copy the host's value (libgomp: gomp_detach_pointer)."""
    cdef AttachedPointer *counter
    if key == NULL:
        return fail_pointer(pointer, b"enclosing struct not mapped for detach")
    if not holds_pointer(key, pointer):
        return fail_across(key, pointer, b"detach")
    if attached_in(key) == NULL:
        return fail_pointer(pointer, b"no attachment counters for struct")
    counter = find_attached(key, pointer, False)
    if not finalize and (counter == NULL or counter.count == 0):
        return fail_pointer(pointer, b"attach count underflow")
    if counter != NULL:
        counter.count = 0 if finalize else counter.count - 1
        if counter.count:
            return 0
    return copy_word(dev, device_address(key, pointer), (<uintptr_t *> pointer)[0], NULL)
