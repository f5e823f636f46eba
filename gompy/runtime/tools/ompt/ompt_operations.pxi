# What an event of the runtime is in OMPT's terms.


cdef int ompt_operation(const HookEvent *event, void **src, int *src_device, void **dest,
                        int *dest_device) noexcept nogil:
    """Which operation on data an event is, OMPT_TARGET_DATA_*, from where to where; 0: none."""
    cdef int host = ompt_host_number()
    src[0] = <void *> event.host
    src_device[0] = host
    dest[0] = <void *> event.target
    dest_device[0] = event.device
    if event.kind == HOOK_ALLOC:
        src[0] = NULL
        return OMPT_TARGET_DATA_ALLOC
    if event.kind == HOOK_FREE:
        src[0] = <void *> event.target
        src_device[0] = event.device
        dest[0] = NULL
        dest_device[0] = host
        return OMPT_TARGET_DATA_DELETE
    if event.kind == HOOK_MAP:
        return OMPT_TARGET_DATA_ASSOCIATE if event.detail == MAP_NEW else OMPT_TARGET_DATA_DISASSOCIATE
    if event.kind != HOOK_COPY:
        return 0
    if event.detail == COPY_TO_HOST:
        src[0] = <void *> event.target
        src_device[0] = event.device
        dest[0] = <void *> event.host
        dest_device[0] = host
        return OMPT_TARGET_DATA_TRANSFER_FROM_DEVICE
    if event.detail == COPY_WITHIN:  # the standard has no word for it; LLVM calls it so
        src_device[0] = event.device
        return OMPT_TARGET_DATA_TRANSFER_FROM_DEVICE
    return OMPT_TARGET_DATA_TRANSFER_TO_DEVICE


cdef unsigned ompt_map_flags(const HookEvent *event) noexcept nogil:
    """OMPT_TARGET_MAP_FLAG_* of a directive's entry."""
    cdef unsigned flags = 0
    cdef int kind = event.map_kind
    if event.detail == MAP_OWN:
        return OMPT_TARGET_MAP_FLAG_TO
    if kind == GOMP_MAP_RELEASE:
        return OMPT_TARGET_MAP_FLAG_RELEASE
    if has_property(kind, KIND_DELETE):
        return OMPT_TARGET_MAP_FLAG_DELETE
    if has_property(kind, KIND_FILLED):
        flags |= OMPT_TARGET_MAP_FLAG_TO
    if has_property(kind, KIND_FROM):
        flags |= OMPT_TARGET_MAP_FLAG_FROM
    return flags if flags else OMPT_TARGET_MAP_FLAG_ALLOC


cdef bint ompt_is_map(const HookEvent *event) noexcept nogil:
    """Whether an entry's event is one of OMPT's: not the end of a construct, nor update."""
    cdef int kind = ompt_construct_kind(event.construct)
    if event.detail == MAP_KEPT or event.detail == MAP_REMOVED:
        return event.map_kind == GOMP_MAP_DELETE or strcmp(event.construct.what, b"target exit data") == 0
    return kind != 0 and (event.detail == MAP_NEW or event.detail == MAP_PRESENT or event.detail == MAP_OWN)
