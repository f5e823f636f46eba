# The API's routines for devices (libgomp: oacc-init.c).


cdef public int acc_get_num_devices(int type) noexcept nogil:
    """How many devices of a type there are."""
    cdef DeviceDescr *base
    acc_check_type(type)
    if type == ACC_DEVICE_NONE:
        return 0
    acc_find_types()
    gompy_lock_acquire(&gompy_acc_lock)
    base = acc_resolve(type, False)
    gompy_lock_release(&gompy_acc_lock)
    return max(acc_count(base), 0) if base != NULL else 0


cdef public void acc_init(int type) noexcept nogil:
    """Initialise a device of a type."""
    global acc_cached_base
    acc_check_type(type)
    acc_find_types()
    gompy_lock_acquire(&gompy_acc_lock)
    acc_cached_base = acc_init_type(type, ACC_CONSTRUCT_RUNTIME_API, False)
    gompy_lock_release(&gompy_acc_lock)
    acc_attach_thread(-1)


cdef int acc_reset_device(DeviceDescr *dev) noexcept nogil:
    """End a device with all that is mapped there; the image list and the device are locked."""
    cdef int i
    if dev == &acc_host:
        gompy_store(&dev.state, DEVICE_UNINITIALIZED)
        return 0
    pthread_mutex_lock(&dev.queues_lock)
    end_queues(dev)
    pthread_mutex_unlock(&dev.queues_lock)
    for i in range(num_offload_images):
        if offload_images[i].type == dev.type and unload_image(dev, &offload_images[i]):
            return -1
    while dev.mem_map.count:
        if remove_key(dev, count_owner(node_from(&dev.mem_map, 0))):
            return -1
    if not device_fini(dev):
        return gompy_fail(b"device finalization failed")
    dev.epoch += 1
    gompy_store(&dev.state, DEVICE_UNINITIALIZED)
    return 0


cdef void acc_detach_threads(DeviceDescr *base) noexcept nogil:
    """Before a shutdown: no thread uses a device of the type any more; gompy_acc_lock is held."""
    cdef GoaccThread *walk = acc_threads
    while walk != NULL:
        if walk.base_dev == base:
            if walk.mapped_data != NULL or walk.saved_bound_dev != NULL:
                gompy_lock_release(&gompy_acc_lock)
                if walk.mapped_data != NULL:
                    gompy_fatal(b"shutdown in 'acc data' region")
                gompy_fatal(b"shutdown during host fallback")
            device_end_thread(base, walk.target_tls)
            walk.target_tls = NULL
            walk.dev = NULL
            walk.base_dev = NULL
        walk = walk.next


cdef public void acc_shutdown(int type) noexcept nogil:
    """End the devices of a type."""
    cdef DeviceDescr *base
    cdef DeviceDescr *dev
    cdef bint active = False
    cdef int i
    cdef int rc = 0
    acc_check_type(type)
    acc_find_types()
    gompy_lock_acquire(&gompy_acc_lock)
    base = acc_resolve(type, True)
    acc_detach_threads(base)
    gompy_lock_acquire(&gompy_register_lock)
    for i in range(acc_count(base)):
        dev = &base[i]
        gompy_lock_acquire(&dev.lock)
        if dev.state == DEVICE_INITIALIZED:
            active = True
            rc = acc_reset_device(dev)
        gompy_lock_release(&dev.lock)
        if rc:
            break
    gompy_lock_release(&gompy_register_lock)
    gompy_lock_release(&gompy_acc_lock)
    if rc:
        fatal_failure()
    if not active:
        gompy_fatal(b"no device initialized")


cdef public void acc_set_device_type(int type) noexcept nogil:
    """Have this thread, and new ones, use devices of a type."""
    global acc_cached_base
    cdef GoaccThread *thr = acc_thread()
    cdef DeviceDescr *base
    cdef ProfScope scope
    cdef int count
    acc_check_type(type)
    prof_call(&scope, thr, ACC_ASYNC_SYNC, b"acc_set_device_type", call_site())
    if scope.on:
        scope.info.device_type = type
    acc_find_types()
    gompy_lock_acquire(&gompy_acc_lock)
    base = acc_resolve(type, True)
    acc_cached_base = base
    count = acc_count(base)
    if acc_device_num >= count:
        gompy_lock_release(&gompy_acc_lock)
        acc_out_of_range(type, acc_device_num, count)
    acc_start_device(&base[acc_device_num])
    gompy_lock_release(&gompy_acc_lock)
    if thr != NULL and thr.base_dev != base:
        thr.base_dev = NULL
        thr.dev = NULL
        if thr.mapped_data != NULL:
            gompy_fatal(b"acc_set_device_type in 'acc data' region")
    acc_attach_thread(-1)
    prof_end(&scope)


cdef public int acc_get_device_type() noexcept nogil:
    """The type of device that this thread uses, or would use."""
    cdef GoaccThread *thr = acc_thread()
    cdef DeviceDescr *base
    if thr != NULL and thr.base_dev != NULL:
        return thr.base_dev.type
    if acc_is_initializing():
        return ACC_DEVICE_NONE
    acc_find_types()
    gompy_lock_acquire(&gompy_acc_lock)
    base = acc_resolve(ACC_DEVICE_DEFAULT, True)
    gompy_lock_release(&gompy_acc_lock)
    return base.type


cdef public int acc_get_device_num(int type) noexcept nogil:
    """The number, in its type, of the device that this thread uses."""
    cdef GoaccThread *thr = acc_thread()
    cdef DeviceDescr *base
    acc_check_type(type)
    acc_find_types()
    gompy_lock_acquire(&gompy_acc_lock)
    base = acc_resolve(type, True)
    gompy_lock_release(&gompy_acc_lock)
    if thr != NULL and thr.base_dev == base and thr.dev != NULL:
        return thr.dev.target_id
    return acc_device_num


cdef public void acc_set_device_num(int number, int type) noexcept nogil:
    """Have this thread use a device; type 0: of its type."""
    global acc_cached_base, acc_device_num
    cdef GoaccThread *thr = acc_thread()
    cdef DeviceDescr *base
    cdef int count
    acc_check_type(type)
    acc_find_types()
    if number < 0:
        number = acc_device_num
    if type == 0:
        if acc_cached_base == NULL:
            acc_lazy_initialize()
    else:
        gompy_lock_acquire(&gompy_acc_lock)
        base = acc_resolve(type, True)
        acc_cached_base = base
        count = acc_count(base)
        if count <= 0 or number >= count:
            gompy_lock_release(&gompy_acc_lock)
            acc_out_of_range(type, number, count)
        acc_start_device(&base[number])
        gompy_lock_release(&gompy_acc_lock)
        if thr != NULL and thr.base_dev != base:
            thr.base_dev = NULL
            thr.dev = NULL
    acc_attach_thread(number)
    acc_device_num = number


cdef uintptr_t acc_property(int number, int type, int property) noexcept nogil:
    cdef GoaccThread *thr
    cdef DeviceDescr *base
    cdef int count
    acc_lazy_initialize()
    thr = acc_thread()
    if type == ACC_DEVICE_CURRENT:
        return device_property(thr.dev, thr.dev.target_id, property)
    gompy_lock_acquire(&gompy_acc_lock)
    base = acc_resolve(type, True)
    count = acc_count(base)
    if count <= 0 or number < 0 or number >= count:
        gompy_lock_release(&gompy_acc_lock)
        acc_out_of_range(type, number, count)
    acc_start_device(&base[number])
    gompy_lock_release(&gompy_acc_lock)
    return device_property(&base[number], number, property)


cdef public size_t acc_get_property(int number, int type, int property) noexcept nogil:
    """A number that describes a device; 0 if the property is a text or not known."""
    if type != ACC_DEVICE_CURRENT:
        acc_check_type(type)
    return 0 if property & GOACC_PROPERTY_STRING_MASK else acc_property(number, type, property)


cdef public const char *acc_get_property_string(int number, int type, int property) noexcept nogil:
    """A text that describes a device; NULL if the property is a number or not known."""
    if type != ACC_DEVICE_CURRENT:
        acc_check_type(type)
    return <const char *> acc_property(number, type, property) if property & GOACC_PROPERTY_STRING_MASK else NULL


cdef public int acc_on_device(int type) noexcept nogil:
    """Whether the caller runs on a device of a type: on the host (a device process has its own answer)."""
    return type == ACC_DEVICE_HOST or type == ACC_DEVICE_NONE
