# omp_target_* and the questions about devices (libgomp: target.c, icv-device.c; the last four are of GCC 13).


# --- questions about devices
# -----------------------------------------------------------------------------------------------

cdef public int omp_get_num_devices() noexcept nogil:
    return get_num_devices()


cdef public int omp_get_initial_device() noexcept nogil:
    """The host's device number is one past the last device."""
    return get_num_devices()


cdef public int omp_get_device_num() noexcept nogil:
    cdef int device = device_of_task()
    return device if device >= 0 else get_num_devices()


cdef public int omp_is_initial_device() noexcept nogil:
    return device_of_task() < 0


cdef public int omp_get_default_device() noexcept nogil:
    return stock_get_default_device()


cdef public void omp_set_default_device(int device) noexcept nogil:
    if device_of_task() >= 0:
        return  # on a device there is nothing to choose from
    if device == OMP_INVALID_DEVICE:
        gompy_store(&invalid_is_meant, 1)
    if stock_set_default_device != NULL:
        stock_set_default_device(device)


cdef public int omp_pause_resource(int kind, int device) noexcept nogil:
    """Devices have nothing to give up; the host is the stock libgomp's business."""
    if device == get_num_devices():
        return omp_pause_resource_all(kind)
    return -1 if device < 0 or device >= num_devices_openmp else 0


cdef public int omp_pause_resource_all(int kind) noexcept nogil:
    return stock_pause_all(kind) if stock_pause_all != NULL else -1


# --- memory
# ------------------------------------------------------------------------------------------------------------------

cdef int memory_device(int device, DeviceDescr **dev) noexcept nogil:
    """The device whose memory a number means, NULL for the host's; EINVAL if there is none of that number."""
    cdef const char *reason = NULL
    dev[0] = NULL
    if device == GOMP_DEVICE_DEFAULT_OMP_61 and stock_knows_default:
        device = stock_get_default_device()
    if device == get_num_devices() or (device == OMP_INITIAL_DEVICE and by_newer_rules()):
        return 0
    if device == OMP_INVALID_DEVICE and by_newer_rules():
        gompy_fatal(b"omp_invalid_device encountered")
    if device < 0:
        return EINVAL
    dev[0] = resolve_device(device, &reason)
    if dev[0] == NULL:
        return EINVAL
    if not keeps_table(dev[0]):
        dev[0] = NULL
    return 0


ctypedef void *(*alloc_told_fn)(DeviceDescr *, size_t, const void *) noexcept nogil
ctypedef void (*free_told_fn)(DeviceDescr *, void *, const void *) noexcept nogil

cdef extern from *:
    alloc_told_fn apart_alloc "gompy_apart"(alloc_told_fn) noexcept nogil
    free_told_fn apart_free "gompy_apart"(free_told_fn) noexcept nogil


cdef inline void *alloc_locked(DeviceDescr *dev, size_t size) noexcept nogil:
    cdef void *ptr
    gompy_lock_acquire(&dev.lock)
    ptr = device_alloc(dev, size)
    gompy_lock_release(&dev.lock)
    return ptr


cdef inline void free_locked(DeviceDescr *dev, void *ptr) noexcept nogil:
    cdef int rc
    gompy_lock_acquire(&dev.lock)
    rc = free_device_memory(dev, ptr)
    gompy_lock_release(&dev.lock)
    if rc:
        fatal_failure()


cdef void *told_target_alloc(DeviceDescr *dev, size_t size, const void *where) noexcept nogil:
    """omp_target_alloc, to whoever wants to know: one look less than enter_construct where nobody does."""
    cdef Construct construct
    cdef void *ptr
    begin_construct(&construct, b"omp_target_alloc", where, NULL, dev)
    ptr = alloc_locked(dev, size)
    end_construct(&construct, dev)
    return ptr


cdef void told_target_free(DeviceDescr *dev, void *ptr, const void *where) noexcept nogil:
    """The same of omp_target_free."""
    cdef Construct construct
    begin_construct(&construct, b"omp_target_free", where, NULL, dev)
    free_locked(dev, ptr)
    end_construct(&construct, dev)


cdef public void *omp_target_alloc(size_t size, int device) noexcept nogil:
    cdef DeviceDescr *dev
    if memory_device(device, &dev):
        return NULL
    if dev == NULL:
        return malloc(size)
    if anybody_asks():
        return apart_alloc(told_target_alloc)(dev, size, call_site())
    return alloc_locked(dev, size)


cdef public void omp_target_free(void *ptr, int device) noexcept nogil:
    cdef DeviceDescr *dev
    if ptr == NULL or memory_device(device, &dev):
        return
    if dev == NULL:
        free(ptr)
    elif anybody_asks():
        apart_free(told_target_free)(dev, ptr, call_site())
    else:
        free_locked(dev, ptr)


cdef public int omp_target_is_present(const void *ptr, int device) noexcept nogil:
    return is_present(ptr, device)


cdef public int is_present "gompy_is_present"(const void *ptr, int device) noexcept nogil:
    """A `declare target link` variable is present without a map, too, as in GCC: its pointer is."""
    cdef DeviceDescr *dev
    cdef bint found
    if ptr == NULL or memory_device(device, &dev):
        return 0
    if dev == NULL:
        return 1
    gompy_lock_acquire(&dev.lock)
    found = (range_lookup(&dev.mem_map, <uintptr_t> ptr, <uintptr_t> ptr + 1) != NULL
             or find_link(dev, <uintptr_t> ptr, <uintptr_t> ptr + 1) != NULL)
    gompy_lock_release(&dev.lock)
    return found


cdef bint copy_between(DeviceDescr *dst_dev, char *dst, DeviceDescr *src_dev, const char *src,
                       size_t size) noexcept nogil:
    """Copy between two places; from a device to another by way of the host (libgomp 12 refuses that)."""
    if size == 0:
        return True
    if dst_dev == NULL and src_dev == NULL:
        memcpy(dst, src, size)
        return True
    if src_dev == NULL:
        begin_copy(dst_dev, True, src, size)
        return end_copy(dst_dev, device_host2dev(dst_dev, dst, src, size))
    if dst_dev == NULL:
        begin_copy(src_dev, False, dst, size)
        return end_copy(src_dev, device_dev2host(src_dev, dst, src, size))
    if dst_dev == src_dev:
        return device_dev2dev(src_dev, dst, src, size)
    return copy_through_host(dst_dev, dst, src_dev, src, size)


cdef bint copy_through_host(DeviceDescr *dst_dev, char *dst, DeviceDescr *src_dev, const char *src,
                            size_t size) noexcept nogil:
    """Copy from a device to another, in pieces of 1 MiB at most."""
    cdef char small[4096]
    cdef char *buffer = small
    cdef size_t room = sizeof(small), part
    cdef bint good = True
    if size > room:
        room = size if size < 1 << 20 else 1 << 20
        buffer = <char *> malloc(room)
        if buffer == NULL:
            return False
    while size and good:
        part = size if size < room else room
        good = (device_dev2host(src_dev, buffer, src, part)
                and device_host2dev(dst_dev, dst, buffer, part))
        src += part
        dst += part
        size -= part
    if buffer != small:
        free(buffer)
    return good


cdef inline void doing_copy(DeviceDescr *dev, const char *what, const void *where) noexcept nogil:
    """Note a routine's name, for messages."""
    if dev != NULL:
        note_construct(dev, what, where)
        dev.copying.kind = -1


cdef int copy_devices(int dst, int src, DeviceDescr **dst_dev, DeviceDescr **src_dev, const char *what,
                      const void *where) noexcept nogil:
    """The devices of a copy, locked; EINVAL, nothing locked, if it cannot be.  what: the routine, where: its call."""
    if memory_device(dst, dst_dev) or memory_device(src, src_dev):
        return EINVAL
    # two devices in the order of their numbers, so that nobody waits for a lock in a circle
    if src_dev[0] != NULL and (dst_dev[0] == NULL or src_dev[0].number < dst_dev[0].number):
        gompy_lock_acquire(&src_dev[0].lock)
    if dst_dev[0] != NULL:
        gompy_lock_acquire(&dst_dev[0].lock)
    if src_dev[0] != NULL and dst_dev[0] != NULL and src_dev[0].number > dst_dev[0].number:
        gompy_lock_acquire(&src_dev[0].lock)
    doing_copy(src_dev[0], what, where)
    doing_copy(dst_dev[0], what, where)
    return 0


cdef void release_devices(DeviceDescr *dst_dev, DeviceDescr *src_dev) noexcept nogil:
    if src_dev != NULL:
        gompy_lock_release(&src_dev.lock)
    if dst_dev != NULL and dst_dev != src_dev:
        gompy_lock_release(&dst_dev.lock)


cdef public int omp_target_memcpy(void *dst, const void *src, size_t length, size_t dst_offset, size_t src_offset,
                                  int dst_device, int src_device) noexcept nogil:
    return copy_memory(dst, src, length, dst_offset, src_offset, dst_device, src_device, call_site())


cdef public int copy_memory "gompy_copy_memory"(
        void *dst, const void *src, size_t length, size_t dst_offset, size_t src_offset, int dst_device, int src_device,
        const void *site) noexcept nogil:
    """omp_target_memcpy; site: the call."""
    cdef DeviceDescr *dst_dev
    cdef DeviceDescr *src_dev
    cdef Construct construct
    cdef bint done
    if copy_devices(dst_device, src_device, &dst_dev, &src_dev, b"omp_target_memcpy", site):
        return EINVAL
    enter_construct(&construct, b"omp_target_memcpy", site, NULL, dst_dev if dst_dev != NULL else src_dev)
    done = copy_between(dst_dev, <char *> dst + dst_offset, src_dev, <const char *> src + src_offset, length)
    check_copied(dst_dev, <char *> dst + dst_offset, src_dev, <const char *> src + src_offset, length, done)
    leave_construct(&construct, dst_dev if dst_dev != NULL else src_dev)
    release_devices(dst_dev, src_dev)
    return 0 if done else EINVAL


cdef extern from *:
    bint __builtin_mul_overflow(size_t, size_t, size_t *) noexcept nogil
    bint __builtin_add_overflow(size_t, size_t, size_t *) noexcept nogil


cdef bint box_ends(const void *base, size_t element, int dims, const size_t *volume, const size_t *offsets,
                   const size_t *dimensions) noexcept nogil:
    """Whether a box that is not empty ends at an address that there is."""
    cdef size_t slice_size = element, part = 0, end = <size_t> base
    cdef int i = dims - 1
    while i >= 0:
        if __builtin_add_overflow(offsets[i], volume[i], &part) or __builtin_mul_overflow(part, slice_size, &part):
            return False
        if __builtin_add_overflow(end, part, &end):
            return False
        if i and (dimensions[i] == 0 or __builtin_mul_overflow(slice_size, dimensions[i], &slice_size)):
            return False
        i -= 1
    return True


cdef bint box_is_empty(size_t element, int dims, const size_t *volume) noexcept nogil:
    cdef int i
    for i in range(dims):
        if volume[i] == 0:
            return True
    return element == 0


cdef int copy_rect(char *dst, const char *src, size_t element, int dims, const size_t *volume,
                   const size_t *dst_offsets, const size_t *src_offsets, const size_t *dst_dims,
                   const size_t *src_dims, DeviceDescr *dst_dev, DeviceDescr *src_dev) noexcept nogil:
    """Copy a box of `volume` elements in each dimension, outermost first; 0 or EINVAL."""
    cdef size_t dst_slice = element
    cdef size_t src_slice = element
    cdef size_t dst_at, src_at, length, n
    cdef int i
    for i in range(1, dims):
        if (__builtin_mul_overflow(dst_slice, dst_dims[i], &dst_slice)
                or __builtin_mul_overflow(src_slice, src_dims[i], &src_slice)):
            return EINVAL
    if (__builtin_mul_overflow(dst_slice, dst_offsets[0], &dst_at)
            or __builtin_mul_overflow(src_slice, src_offsets[0], &src_at)):
        return EINVAL
    if dims == 1:
        if __builtin_mul_overflow(element, volume[0], &length):
            return EINVAL
        return 0 if copy_between(dst_dev, dst + dst_at, src_dev, src + src_at, length) else EINVAL
    for n in range(volume[0]):
        if copy_rect(dst + dst_at, src + src_at, element, dims - 1, volume + 1, dst_offsets + 1, src_offsets + 1,
                     dst_dims + 1, src_dims + 1, dst_dev, src_dev):
            return EINVAL
        dst_at += dst_slice
        src_at += src_slice
    return 0


cdef public int omp_target_memcpy_rect(void *dst, const void *src, size_t element_size, int num_dims,
                                       const size_t *volume, const size_t *dst_offsets, const size_t *src_offsets,
                                       const size_t *dst_dimensions, const size_t *src_dimensions, int dst_device,
                                       int src_device) noexcept nogil:
    """With two NULL pointers: how many dimensions there may be."""
    cdef DeviceDescr *dst_dev
    cdef DeviceDescr *src_dev
    cdef Construct construct
    cdef int rc
    if dst == NULL and src == NULL:
        return INT_MAX
    if num_dims < 1 or copy_devices(dst_device, src_device, &dst_dev, &src_dev, b"omp_target_memcpy_rect", call_site()):
        return EINVAL
    enter_construct(&construct, b"omp_target_memcpy_rect", call_site(), NULL, dst_dev if dst_dev != NULL else src_dev)
    if box_is_empty(element_size, num_dims, volume):
        rc = 0
    elif not (box_ends(dst, element_size, num_dims, volume, dst_offsets, dst_dimensions)
              and box_ends(src, element_size, num_dims, volume, src_offsets, src_dimensions)):
        rc = EINVAL
    else:
        rc = copy_rect(<char *> dst, <const char *> src, element_size, num_dims, volume, dst_offsets, src_offsets,
                       dst_dimensions, src_dimensions, dst_dev, src_dev)
    leave_construct(&construct, dst_dev if dst_dev != NULL else src_dev)
    release_devices(dst_dev, src_dev)
    return rc


cdef public int omp_target_associate_ptr(const void *host_ptr, const void *device_ptr, size_t size,
                                         size_t device_offset, int device) noexcept nogil:
    cdef DeviceDescr *dev
    cdef Construct construct
    cdef SplayNode *node
    cdef TargetMem *tgt
    cdef uintptr_t start = <uintptr_t> host_ptr
    cdef uintptr_t address = 0, end = 0
    cdef int rc = EINVAL
    if memory_device(device, &dev) or dev == NULL:
        return EINVAL
    if (__builtin_add_overflow(start, size, &end) or __builtin_add_overflow(<uintptr_t> device_ptr, device_offset,
            &address)
            or __builtin_add_overflow(address, size, &end)):
        return EINVAL
    enter_construct(&construct, b"omp_target_associate_ptr", call_site(), NULL, dev)
    gompy_lock_acquire(&dev.lock)
    note_construct(dev, b"omp_target_associate_ptr", NULL)
    if size:
        node = lookup_mapped(&dev.mem_map, start, start + size)
    else:
        node = lookup_pointer(&dev.mem_map, start)
    if node != NULL:
        if node.tgt.tgt_start + node.tgt_offset == address and node.host_start <= start \
                and start + size <= node.host_end:
            rc = 0
    else:
        tgt = new_target_mem(dev)
        if tgt != NULL:
            tgt.refcount = 1
            node = nodes_of(tgt)
            node.host_start = start
            node.host_end = start + size
            node.tgt = tgt
            node.tgt_offset = address
            node.ref_kind = REF_INFINITY
            node.null_pointer = 1
            if range_insert(&dev.mem_map, node) == 0:
                rc = 0
                tell_associated(dev, node, MAP_NEW)
    gompy_lock_release(&dev.lock)
    leave_construct(&construct, dev)
    return rc


cdef public int omp_target_disassociate_ptr(const void *ptr, int device) noexcept nogil:
    cdef DeviceDescr *dev
    cdef Construct construct
    cdef SplayNode *node
    cdef int rc = EINVAL
    if memory_device(device, &dev) or dev == NULL:
        return EINVAL
    enter_construct(&construct, b"omp_target_disassociate_ptr", call_site(), NULL, dev)
    gompy_lock_acquire(&dev.lock)
    note_construct(dev, b"omp_target_disassociate_ptr", NULL)
    node = lookup_pointer(&dev.mem_map, <uintptr_t> ptr)
    if (node != NULL and node.host_start == <uintptr_t> ptr and node.ref_kind == REF_INFINITY
            and not of_image(node) and owns_no_block(node.tgt)):
        tell_associated(dev, node, MAP_REMOVED)
        remove_key(dev, node)
        rc = 0
    gompy_lock_release(&dev.lock)
    leave_construct(&construct, dev)
    return rc


# --- GCC 13's
# ------------------------------------------------------------------------------------------------------------------

cdef public void *omp_get_mapped_ptr(const void *ptr, int device) noexcept nogil:
    return mapped_pointer(ptr, device)


cdef public void *mapped_pointer "gompy_mapped_pointer"(const void *ptr, int device) noexcept nogil:
    """The device address that a host address is mapped to; the host's is itself, NULL if there is none."""
    cdef DeviceDescr *dev
    cdef SplayNode *node
    cdef void *mapped = NULL
    if memory_device(device, &dev):
        return NULL
    if dev == NULL:
        return <void *> ptr
    gompy_lock_acquire(&dev.lock)
    node = lookup_section(&dev.mem_map, <uintptr_t> ptr, <uintptr_t> ptr)
    if node != NULL:
        mapped = <void *> device_address(node, <uintptr_t> ptr)
    gompy_lock_release(&dev.lock)
    return mapped


cdef public int omp_target_is_accessible(const void *ptr, size_t size, int device) noexcept nogil:
    """Whether a device reaches memory: its own, but the host's only without one."""
    cdef DeviceDescr *dev
    if ptr == NULL or size == 0 or memory_device(device, &dev):
        return 0
    return dev == NULL or device_accesses(dev, ptr, size)


cdef struct CopyTask:
    void *dst
    const void *src
    size_t length
    size_t dst_offset
    size_t src_offset
    int dst_device
    int src_device
    int num_dims
    size_t *lists  # volume, offsets, offsets, dimensions, dimensions; num_dims each


cdef void copy_task_body(void *data) noexcept nogil:
    cdef CopyTask *task = (<CopyTask **> data)[0]
    cdef int n = task.num_dims
    if n == 0:
        omp_target_memcpy(task.dst, task.src, task.length, task.dst_offset, task.src_offset, task.dst_device,
                          task.src_device)
    else:
        omp_target_memcpy_rect(task.dst, task.src, task.length, n, task.lists, task.lists + n, task.lists + 2 * n,
                               task.lists + 3 * n, task.lists + 4 * n, task.dst_device, task.src_device)
    free(task)


cdef void **depend_objects(int count, void **objects) noexcept nogil:
    """GOMP_task's list of dependences on omp_depend_t objects, of two words each; NULL without any."""
    cdef void **depend
    cdef int i
    if count <= 0:
        return NULL
    depend = <void **> calloc(count + 5, sizeof(void *))
    if depend == NULL:
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> (count + 5) * sizeof(void *))
    depend[1] = <void *> <uintptr_t> count
    for i in range(count):
        depend[5 + i] = &objects[2 * i]
    return depend


cdef int defer_copy(CopyTask *values, int depobj_count, void **depobj_list) noexcept nogil:
    """Make a copy a task of the stock libgomp."""
    cdef CopyTask *task
    cdef void **depend
    task = <CopyTask *> malloc(sizeof(CopyTask) + 5 * values.num_dims * sizeof(size_t))
    if task == NULL:
        return EINVAL
    task[0] = values[0]
    task.lists = <size_t *> (task + 1)
    if values.num_dims:
        memcpy(task.lists, values.lists, 5 * values.num_dims * sizeof(size_t))
    depend = depend_objects(depobj_count, depobj_list)
    GOMP_task(copy_task_body, &task, copy_task_pointer, sizeof(void *), sizeof(void *), True,
              GOMP_TASK_FLAG_DEPEND if depend != NULL else 0, depend, 0, NULL)
    free(depend)
    return 0


cdef public int omp_target_memcpy_async(void *dst, const void *src, size_t length, size_t dst_offset,
                                        size_t src_offset, int dst_device, int src_device, int depobj_count,
                                        void **depobj_list) noexcept nogil:
    cdef CopyTask task
    cdef DeviceDescr *dst_dev
    cdef DeviceDescr *src_dev
    if copy_devices(dst_device, src_device, &dst_dev, &src_dev, b"omp_target_memcpy_async", call_site()):
        return EINVAL
    release_devices(dst_dev, src_dev)
    memset(&task, 0, sizeof(task))
    task.dst = dst
    task.src = src
    task.length = length
    task.dst_offset = dst_offset
    task.src_offset = src_offset
    task.dst_device = dst_device
    task.src_device = src_device
    return defer_copy(&task, depobj_count, depobj_list)


cdef public int omp_target_memcpy_rect_async(void *dst, const void *src, size_t element_size, int num_dims,
                                             const size_t *volume, const size_t *dst_offsets,
                                             const size_t *src_offsets, const size_t *dst_dimensions,
                                             const size_t *src_dimensions, int dst_device, int src_device,
                                             int depobj_count, void **depobj_list) noexcept nogil:
    cdef CopyTask task
    cdef DeviceDescr *dst_dev
    cdef DeviceDescr *src_dev
    cdef size_t n = num_dims
    cdef int rc
    if dst == NULL and src == NULL:
        return INT_MAX
    if num_dims < 1 or copy_devices(dst_device, src_device, &dst_dev, &src_dev, b"omp_target_memcpy_rect", call_site()):
        return EINVAL
    release_devices(dst_dev, src_dev)
    memset(&task, 0, sizeof(task))
    task.lists = <size_t *> malloc(5 * n * sizeof(size_t))
    if task.lists == NULL:
        return EINVAL
    memcpy(task.lists, volume, n * sizeof(size_t))
    memcpy(task.lists + n, dst_offsets, n * sizeof(size_t))
    memcpy(task.lists + 2 * n, src_offsets, n * sizeof(size_t))
    memcpy(task.lists + 3 * n, dst_dimensions, n * sizeof(size_t))
    memcpy(task.lists + 4 * n, src_dimensions, n * sizeof(size_t))
    task.dst = dst
    task.src = src
    task.length = element_size
    task.num_dims = num_dims
    task.dst_device = dst_device
    task.src_device = src_device
    rc = defer_copy(&task, depobj_count, depobj_list)
    free(task.lists)
    return rc
