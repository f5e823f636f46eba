# What `gompy run --check` is told of mappings.

from gompy.native.own_threads cimport own_counts

cdef extern from "core/check_stale.h" nogil:
    own_counts gompy_own_counts_here
    void gompy_stale_removed(int device, uintptr_t host, size_t size)
    void gompy_stale_unloaded(int device, uintptr_t host, size_t size)
    bint gompy_heap_begins(uintptr_t host)
    size_t gompy_heap_short(uintptr_t host, size_t size)
    size_t gompy_heap_before(uintptr_t host)


cdef void check_block(DeviceDescr *dev, int kind, uintptr_t start, size_t size) noexcept nogil:
    """Log an entry that maps, and copies, more than there is in its block of the heap."""
    cdef size_t there, before
    if is_pointer_kind(kind) or not has_property(kind, KIND_FILLED) and not has_property(kind, KIND_FROM):
        return
    there = gompy_heap_short(start, size)
    before = gompy_heap_before(start) if size and not there else 0
    if there or before:
        gompy_log(EVENT_BLOCK, kind, dev.number, logged_what(dev), dev.where, start, size, before, there, 0)


cdef void check_copied(DeviceDescr *dst_dev, const void *dst, DeviceDescr *src_dev, const void *src, size_t size,
                       bint done) noexcept nogil:
    """Log what a routine has copied, or was to; a device is NULL for the host."""
    cdef uintptr_t here = <uintptr_t>(dst if dst_dev == NULL else src if src_dev == NULL else NULL)
    cdef unsigned flags = 0 if done else COPIED_REFUSED
    cdef DeviceDescr *dev = dst_dev if dst_dev != NULL else src_dev
    if not gompy_checking or size == 0 or dev == NULL:
        return
    gompy_log_frame()
    if dst_dev != NULL:
        gompy_log(EVENT_COPIED, 0, dst_dev.number, dst_dev.what, dst_dev.where, here, size, <uintptr_t>dst, 0, flags)
    if src_dev != NULL:
        gompy_log(EVENT_COPIED, 1, src_dev.number, src_dev.what, src_dev.where, here, size, <uintptr_t>src, 0, flags)


cdef void check_maps(MapJob *job) noexcept nogil:
    """Log the entries of a construct that has been mapped."""
    cdef DeviceDescr *dev = job.dev
    cdef MapEntry *entry
    cdef size_t i
    cdef int kind
    cdef unsigned flags
    cdef uintptr_t address, count
    gompy_log_frame()
    for i in range(job.maps.mapnum):
        entry = &job.list[i]
        kind = kind_at(&job.maps, i)
        if job.maps.hostaddrs[i] == NULL or kind == GOMP_MAP_FIRSTPRIVATE_INT or kind == GOMP_MAP_STRUCT:
            continue
        flags = ENTRY_IMPLICIT if is_implicit_at(&job.maps, i) else 0
        address = 0
        count = 0
        if entry.key != NULL:
            address = argument_word(job, i)
            count = count_owner(entry.key).refcount
            if entry.key.ref_kind == REF_INFINITY:
                flags |= ENTRY_FOR_EVER
            elif entry.key.tgt == job.tgt:
                flags |= ENTRY_NEW
                if gompy_heap_begins(start_at(&job.maps, i)):
                    flags |= ENTRY_BLOCK
        elif kind == GOMP_MAP_FIRSTPRIVATE or entry.is_own:
            flags |= ENTRY_OWN
        else:
            flags |= ENTRY_UNMAPPED
        if is_attach_kind(kind):
            flags |= ENTRY_ATTACH
        gompy_log(EVENT_ENTRY, kind, dev.number, logged_what(dev), dev.where, start_at(&job.maps, i),
                  end_at(&job.maps, i) - start_at(&job.maps, i), address, count, flags)
        if flags & ENTRY_NEW:
            check_block(dev, kind, start_at(&job.maps, i), end_at(&job.maps, i) - start_at(&job.maps, i))


cdef void check_associated(DeviceDescr *dev, SplayNode *key) noexcept nogil:
    """Log a mapping that a routine has made of device memory of the program's own."""
    gompy_log_frame()
    gompy_log(EVENT_ENTRY, GOMP_MAP_ALLOC, dev.number, dev.what, dev.where, key.host_start,
              key.host_end - key.host_start, device_address(key, key.host_start), 0, ENTRY_NEW | ENTRY_FOR_EVER)


cdef void check_remove(DeviceDescr *dev, SplayNode *key) noexcept nogil:
    """Log the end of a mapping."""
    if not gompy_checking:
        return
    gompy_log_frame()
    gompy_log(EVENT_REMOVE, 0, dev.number, logged_what(dev), dev.where, key.host_start, key.host_end - key.host_start,
              device_address(key, key.host_start), 0, 0)
    gompy_stale_removed(dev.number, key.host_start, key.host_end - key.host_start)


cdef TargetMem *images_seen  # whose variables are tracked


cdef void check_unloaded(DeviceDescr *dev, SplayNode *key) noexcept nogil:
    """Forget a variable of an image that has gone.  The device is locked."""
    global images_seen
    if gompy_checking:
        images_seen = NULL  # another image may be where it was
        gompy_stale_unloaded(dev.number, key.host_start, key.host_end - key.host_start)


cdef void check_left(DeviceDescr *dev) noexcept nogil:
    """Log what is mapped when the program ends.  The device is locked."""
    cdef RangeCursor place = all_ranges(&dev.mem_map)
    cdef SplayNode *node
    while True:
        node = next_range(&place)
        if node == NULL:
            break
        if node.ref_kind == REF_COUNTED or node.ref_kind == REF_STRUCT_ELEMENT:
            gompy_log(EVENT_LEFT, 0, dev.number, NULL, NULL, node.host_start, node.host_end - node.host_start,
                      device_address(node, node.host_start), count_owner(node).refcount, 0)


cdef public uint32_t gompy_check_thread() noexcept nogil:
    """The calling thread's number in the log, for gompy_check_text; 0: nothing is logged."""
    return gompy_number_in_log() if gompy_checking else 0


cdef public own_counts *gompy_own_threads() noexcept nogil:
    """For the emulated GPU: where its own threads are counted."""
    return &gompy_own_counts_here


cdef public void gompy_check_text(uint32_t thread, const char *text) noexcept nogil:
    """For plugins and the emulated CUDA driver: what they have told the program, for the log; of that thread, 0: of the
    calling one."""
    if gompy_checking:
        gompy_log_text(thread, text, strlen(text))


cdef void host_fault "gompy_host_fault"(uintptr_t address, uintptr_t pc) noexcept nogil:
    """In the handler: the program is about to end by a fault of its own, maybe as it uses an address of a device's."""
    if gompy_checking and not gompy_is_own_code(pc):
        gompy_log(EVENT_HOST_FAULT, 0, -1, NULL, <const void *> gompy_log_fault(pc), address, 0, 0, 0, 0)
        gompy_end_checks()
