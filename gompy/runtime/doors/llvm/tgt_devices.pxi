# Which device a construct is for, and what is to be done before its first one: constructors of the device's variables.

cdef struct TgtDevice:
    # What is known of a device; made when the first construct comes to it.
    uint64_t epoch  # DeviceDescr.epoch + 1 when it was looked at
    int changes  # tgt_changes then
    uintptr_t caller  # the device's function that calls kernels

cdef TgtDevice *tgt_devices  # one for each in `devices`
ctypedef int (*default_device_fn)() noexcept nogil
cdef default_device_fn tgt_default_device


cdef int run_plain(DeviceDescr *dev, uintptr_t caller, const void *host) noexcept nogil:
    """Run a constructor or destructor: a kernel without words."""
    cdef char small[KERNEL_BLOCK_SMALL]
    cdef TgtMaps maps = tgt_maps(0, NULL, NULL, NULL, NULL, NULL, NULL)
    cdef TgtLaunch l
    cdef uintptr_t kernel = find_function(dev, <uintptr_t> host)
    cdef int rc
    if kernel == 0:
        return 0
    memset(&l, 0, sizeof(l))
    l.dev = dev
    l.maps = &maps
    l.shape.teams = l.shape.threads = 1
    gompy_lock_acquire(&dev.lock)
    rc = make_block(&l, kernel, small)
    gompy_lock_release(&dev.lock)
    if rc:
        return -1
    run_block(&l, kernel, caller, host, NULL)
    gompy_lock_acquire(&dev.lock)
    rc = free_block(&l)
    gompy_lock_release(&dev.lock)
    return rc


cdef enum:
    CALLED_BY_DRIVER = 1  # the kernels of a GPU


cdef uintptr_t caller_on(DeviceDescr *dev, const TgtLibrary *library) noexcept nogil:
    """What calls a library's kernels on a device; 0: it has no image there."""
    if dev.type != library.type:
        return 0
    if dev.type == GOMP_DEVICE_NVIDIA_PTX:
        return CALLED_BY_DRIVER
    return find_function(dev, <uintptr_t> &library.caller)


cdef int fill_references(DeviceDescr *dev, const TgtLibrary *library) noexcept nogil:
    """With unified_shared_memory variables are pointers on a device, which get the host's values."""
    cdef const TgtEntry *entry = library.descriptor.entries
    cdef SplayNode *node
    cdef int rc = 0
    gompy_lock_acquire(&dev.lock)
    while entry < library.descriptor.entries_end and rc == 0:
        if is_variable(entry):
            node = lookup_mapped(&dev.mem_map, <uintptr_t> entry.address, <uintptr_t> entry.address + entry.size)
            if node != NULL:
                rc = copy_to_device(dev, device_address(node, <uintptr_t> entry.address), entry.address, entry.size,
                                    NULL)
        entry += 1
    gompy_lock_release(&dev.lock)
    return rc


cdef int place_functions(DeviceDescr *dev, const TgtLibrary *library) noexcept nogil:
    """Functions of `declare target indirect`: their images have variables with the addresses that they are mapped to.
    """
    cdef const void *image = record_of(library)
    cdef uintptr_t place, function
    cdef SplayNode *node
    cdef unsigned i
    cdef int rc = 0
    gompy_lock_acquire(&dev.lock)
    for i in range(library.num_indirect):
        node = lookup_mapped(&dev.mem_map, library.indirect[i], library.indirect[i] + 1)
        if node == NULL or node.tgt.lasting.image != image or rc:
            continue  # another library's, which has the same inline function
        place = device_address(node, library.indirect[i])
        if tgt_info() & TGT_INFO_COPIES:
            tell_copy(dev, False, <uintptr_t> &function, place, sizeof(function), NULL)
        rc = copy_to_host(dev, &function, place, sizeof(function))
        node.tgt_offset += function - place
    gompy_lock_release(&dev.lock)
    return rc


cdef int run_constructors(DeviceDescr *dev, TgtLibrary *library, uintptr_t caller) noexcept nogil:
    """Build the variables of a library on a device, in the order of their entries."""
    cdef const TgtEntry *entry = library.descriptor.entries
    if shares_memory(dev) and fill_references(dev, library):
        return -1
    if library.num_indirect and place_functions(dev, library):
        return -1
    library.built |= <uint64_t> 1 << (dev.number & 63)
    while entry < library.descriptor.entries_end:
        if entry.flags & TGT_ENTRY_CTOR and run_plain(dev, caller, entry.address):
            return -1
        entry += 1
    return 0


cdef void run_destructors(TgtLibrary *library) noexcept nogil:
    """Destroy them on all devices, the last one first."""
    cdef const TgtEntry *entry
    cdef DeviceDescr *dev
    cdef uintptr_t caller
    cdef int i
    for i in range(num_devices):
        dev = &devices[i]
        if not library.built >> (i & 63) & 1 or gompy_load(&dev.state) != DEVICE_INITIALIZED:
            continue
        caller = caller_on(dev, library)
        entry = library.descriptor.entries_end - 1
        while caller != 0 and entry >= library.descriptor.entries:
            if entry.flags & TGT_ENTRY_DTOR and run_plain(dev, caller, entry.address):
                fatal_failure()
            entry -= 1
    library.built = 0


cdef void destroy_all() noexcept nogil:
    """Before the devices end: the library that registered last goes first."""
    cdef TgtLibrary *library
    cdef TgtLibrary *last
    while True:
        last = NULL
        library = tgt_libraries
        while library != NULL:
            if library.built:
                last = library
            library = library.next
        if last == NULL:
            return
        run_destructors(last)


cdef int prepare_device(DeviceDescr *dev) noexcept nogil:
    """Build what libraries that have registered since the last time have on a device."""
    global tgt_devices, tgt_at_end
    cdef TgtLibrary *library
    cdef TgtDevice *known
    cdef uintptr_t caller
    cdef int changes, rc = 0
    gompy_lock_acquire(&gompy_register_lock)
    if tgt_devices == NULL:
        gompy_store_ptr(&tgt_devices, calloc(<size_t> num_devices, sizeof(TgtDevice)))
        if tgt_devices == NULL:
            gompy_lock_release(&gompy_register_lock)
            return gompy_fail(b"Out of memory allocating %lu bytes", <unsigned long> (num_devices * sizeof(TgtDevice)))
    tgt_at_end = destroy_all
    known = &tgt_devices[dev.number]
    changes = tgt_changes
    if known.epoch != dev.epoch + 1:
        known.caller = 0
    library = tgt_libraries
    while library != NULL and rc == 0:
        caller = caller_on(dev, library)
        if caller != 0:
            known.caller = caller
            if not library.built >> (dev.number & 63) & 1:
                rc = run_constructors(dev, library, caller)
        library = library.next
    known.epoch = dev.epoch + 1
    gompy_store(&known.changes, changes)
    gompy_lock_release(&gompy_register_lock)
    return rc


cdef inline bint is_prepared(const DeviceDescr *dev) noexcept nogil:
    cdef TgtDevice *known = <TgtDevice *> gompy_load_ptr(&tgt_devices)
    return (known != NULL and gompy_load(&known[dev.number].changes) == gompy_load(&tgt_changes)
            and known[dev.number].epoch == dev.epoch + 1)


cdef int default_device() noexcept nogil:
    """The default device of the OpenMP runtime that the program uses: of clang's programs libomp's."""
    global tgt_default_device
    if tgt_default_device == NULL:
        tgt_default_device = <default_device_fn> dlsym(NULL, b"omp_get_default_device")
    return tgt_default_device() if tgt_default_device != NULL else 0


cdef DeviceDescr *tgt_device(int64_t number, const TgtIdent *where) noexcept nogil:
    """The device of a construct, ready for use; NULL: the host (LLVM: checkDeviceAndCtors).

    With devices, what cannot be done there is the end of the program; without any, the host does all.
    """
    cdef int count = get_num_devices()
    cdef DeviceDescr *dev
    if target_offload == OFFLOAD_DISABLED or (count == 0 and target_offload != OFFLOAD_MANDATORY):
        return NULL
    if tgt_libraries == NULL and target_offload != OFFLOAD_MANDATORY:  # no image by clang: no device for LLVM
        return NULL
    if number == -1:
        number = default_device()
    if number == count and count:
        return NULL
    if number < 0 or number > count or count == 0:
        if count == 0:
            print_plugin_reasons()
        else:
            tgt_print(b"error: Device %ld is not ready.\n", number)
        tgt_failed(where)
        return NULL
    dev = &devices[number]
    if gompy_load(&dev.state) == DEVICE_UNINITIALIZED:
        init_device(dev)
    if gompy_load(&dev.state) != DEVICE_INITIALIZED:
        return NULL
    if not is_prepared(dev) and prepare_device(dev):
        tell_failure(b"error")
        tgt_failed(where)
        return NULL
    if dev.capabilities & GOMP_OFFLOAD_CAP_SHARED_MEM and tgt_devices[dev.number].caller == 0:
        return NULL  # no image for it: the host has the same memory
    return dev


cdef const char *tgt_host_reason(int64_t number) noexcept nogil:
    """Why tgt_device has answered NULL."""
    cdef int count = get_num_devices()
    if target_offload == OFFLOAD_DISABLED:
        return HOST_DISABLED
    if count == 0:
        return HOST_NO_DEVICE
    if tgt_libraries == NULL:
        return HOST_NO_CODE
    if number == -1:
        number = default_device()
    if number == count:
        return host_number
    if 0 <= number < count and gompy_load(&devices[number].state) == DEVICE_FINALIZED:
        return HOST_FINALIZED
    return HOST_NO_CODE


cdef void (*tgt_when_empty)() noexcept nogil  # called when the last library has gone, or NULL


cdef public void tgt_unregister_lib "gompy_llvm___tgt_unregister_lib"(const TgtDescriptor *descriptor) noexcept nogil:
    """A program ends, or a library goes."""
    cdef TgtLibrary *library
    if rare(gompy_checking):
        gompy_log_closed(descriptor)
    while True:
        if not gompy_lock_at_exit(&gompy_register_lock):
            return
        library = take_library(descriptor)
        if library != NULL and library.built:
            run_destructors(library)
        gompy_lock_release(&gompy_register_lock)
        if library == NULL:
            return
        GOMP_offload_unregister_ver(TGT_REGISTERED_VERSION, library.table, library.type, record_of(library))
        free_library(library)
        if tgt_libraries == NULL and tgt_when_empty != NULL:
            tgt_when_empty()
