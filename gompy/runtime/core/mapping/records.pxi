# The records of mappings in host memory: a TargetMem with its nodes behind it.
#
# Of the million mappings that a program may have, each was made by an enter data for itself.  Their records are all of
# one size, and come from slabs (slabs.h).  A construct that lasts has one of its own size; a device keeps the last one
# that has gone for the next: malloc and free take a tenth of what the host does for a small region.

cdef enum:
    SPARE_RECORD = 1024  # bytes: six new mappings
    NO_BLOCK = 0xFFFFFFFF  # TargetMem.padding

cdef Lasting lone_record
cdef Lasting several_record


cdef inline size_t lone_size() noexcept nogil:
    return sizeof(TargetMem) + sizeof(SplayNode)


cdef TargetMem *target_mem_with(DeviceDescr *dev, size_t nodes) noexcept nogil:
    """A record of an enter data with room for nodes, which are not zeroed (take_node); NULL if there is no memory."""
    cdef TargetMem *tgt
    if nodes <= 1:
        tgt = <TargetMem *> gompy_slabs_take(&dev.records, lone_size())
    else:
        tgt = <TargetMem *> malloc(sizeof(TargetMem) + nodes * sizeof(SplayNode))
    if tgt != NULL:
        tgt.tgt_start = 0
        tgt.refcount = 0
        tgt.padding = NO_BLOCK
        tgt.lasting = &lone_record if nodes <= 1 else &several_record
    return tgt


cdef TargetMem *lasting_target_mem(DeviceDescr *dev, size_t entries, size_t nodes) noexcept nogil:
    """A record of a construct that lasts, or of an image, with room for entries and nodes; NULL if there is no memory.

    The entries are zeroed, the nodes not: of a construct with many present maps no node is taken (take_node).
    """
    cdef size_t size = sizeof(TargetMem) + sizeof(Lasting) + entries * sizeof(MapEntry)
    cdef size_t whole = size + nodes * sizeof(SplayNode)
    cdef bint spare = GOMPY_SLABS and entries and whole <= SPARE_RECORD
    cdef TargetMem *tgt = NULL
    cdef Lasting *lasting
    if spare and dev.spare != NULL:
        tgt = dev.spare
        dev.spare = NULL
    else:
        tgt = <TargetMem *> malloc(SPARE_RECORD if spare else whole)
    if tgt != NULL:
        memset(tgt, 0, size)
        lasting = <Lasting *> (tgt + 1)
        tgt.padding = NO_BLOCK
        tgt.lasting = lasting
        lasting.spare_size = spare
        lasting.device = dev
        lasting.list_count = lasting.words = <uint32_t> entries
        lasting.num_nodes = <uint32_t> nodes
        lasting.list = <MapEntry *> (lasting + 1)
        lasting.nodes = <SplayNode *> (lasting.list + entries)
        if dev != NULL:
            lasting.epoch = dev.epoch
    return tgt


cdef inline bint owns_no_block(const TargetMem *tgt) noexcept nogil:
    """Whether it is of device memory that is the program's own, or an image's."""
    return tgt.padding == NO_BLOCK


cdef inline SplayNode *nodes_of(TargetMem *tgt) noexcept nogil:
    """A record's first node."""
    if tgt.lasting == &lone_record or tgt.lasting == &several_record:
        return <SplayNode *> (tgt + 1)
    return tgt.lasting.nodes


cdef TargetMem *new_target_mem(DeviceDescr *dev) noexcept nogil:
    """A record of one mapping, its node zeroed: of memory that is the program's own."""
    cdef TargetMem *tgt = target_mem_with(dev, 1)
    if tgt != NULL:
        memset(tgt + 1, 0, sizeof(SplayNode))
    return tgt


cdef void free_target_mem(DeviceDescr *dev, TargetMem *tgt) noexcept nogil:
    """Nobody refers to a record any more."""
    if tgt.lasting == &lone_record:
        gompy_slabs_give(&dev.records, tgt)
    elif tgt.lasting.spare_size and dev.spare == NULL:
        dev.spare = tgt
    else:
        free(tgt)


# --- what few nodes have

cdef inline AttachList *attached_in(const SplayNode *key) noexcept nogil:
    """The pointers attached in a mapped range; NULL: none."""
    return key.more.attached if key.more != NULL else NULL


cdef inline uintptr_t held_of(const SplayNode *key) noexcept nogil:
    """How many references of a mapped range are held (ompx_hold)."""
    return key.more.held if key.more != NULL else 0


cdef inline void *notes_of(const SplayNode *key) noexcept nogil:
    """What a door has noted of a mapped range, or NULL."""
    return key.more.notes if key.more != NULL else NULL


cdef MoreOfNode *more_of(SplayNode *key) noexcept nogil:
    """Room for what few mapped ranges have; NULL with a failure text if there is no memory."""
    if key.more == NULL:
        key.more = <MoreOfNode *> calloc(1, sizeof(MoreOfNode))
        if key.more == NULL:
            gompy_fail(b"Out of memory allocating %lu bytes", <unsigned long> sizeof(MoreOfNode))
    return key.more


cdef void end_more(SplayNode *key) noexcept nogil:
    """A range is mapped no more: give back what few have."""
    cdef MoreOfNode *more = key.more
    if more == NULL:
        return
    key.more = NULL
    if more.attached != NULL:
        free(more.attached.items)
        free(more.attached)
    if not more.inside:
        free(more)
