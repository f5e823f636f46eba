# Images come and go: what the constructors and destructors of programs and libraries call (libgomp: target.c).


cdef unsigned stock_version() noexcept nogil:
    """The stock libgomp's GOMP_VERSION, by names that came with it."""
    if stock_symbol(b"GOMP_target_map_indirect_ptr") != NULL:
        return GOMP_VERSION_INDIRECT_FUNCS
    return GOMP_VERSION_REQUIRES_MASK if stock_symbol(b"omp_get_mapped_ptr") != NULL else GOMP_VERSION


cdef void forward_registration(const char *name, unsigned version, const void *host_table, int type,
                               const void *data) noexcept nogil:
    """Tell the stock libgomp of an image that its own devices may take (OpenACC is still its business)."""
    cdef void *fn
    if type == GOMP_DEVICE_INTEL_MIC or type == GOMP_DEVICE_HOST or version >> 16 > stock_version():
        return  # an older one ends the program
    fn = stock_symbol(name)
    if fn != NULL:
        (<void (*)(unsigned, const void *, int, const void *) noexcept nogil> fn)(version, host_table, type, data)


cdef public void GOMP_offload_register_ver(unsigned version, const void *host_table, int target_type,
                                           const void *target_data) noexcept nogil:
    """An image says that it is there."""
    gompy_offload_register(version, host_table, target_type, target_data,
                           our_target_data(version, target_type, described_data(version, target_data)))


cdef void refuse_newer(unsigned version) noexcept nogil:
    """End the program: its tables, launch arguments and device numbers may mean other things (gompy/abi/gcc.py)."""
    if version > GOMP_VERSION_NEWEST:
        gompy_fatal(b"Library too old for offload (version %u < %u): the program was linked by a newer gcc than gompy "
                    b"knows", <unsigned> GOMP_VERSION_NEWEST, version)


cdef const void *described_data(unsigned version, const void *data) noexcept nogil:
    """The target data behind the mask of `omp requires`, which stands in front of it from GCC 13 on."""
    return <const uintptr_t *> data + 1 if version >> 16 >= GOMP_VERSION_REQUIRES_MASK else data


cdef public void gompy_offload_register(unsigned version, const void *host_table, int target_type,
                                        const void *target_data, const void *description) noexcept nogil:
    """The same, with a description of its objects in our form or NULL; devices that are in use get it at once."""
    global newest_version, offload_images, num_offload_images
    cdef OffloadImage *images
    cdef DeviceDescr *dev
    cdef int i
    refuse_newer(version >> 16)
    gompy_lock_acquire(&gompy_register_lock)
    images = <OffloadImage *> realloc(offload_images, (num_offload_images + 1) * sizeof(OffloadImage))
    if images == NULL:
        gompy_lock_release(&gompy_register_lock)
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> sizeof(OffloadImage))
    offload_images = images
    newest_version = max(newest_version, version >> 16)
    if version >> 16 >= GOMP_VERSION_REQUIRES_MASK:
        state_requires(<unsigned> (<const uintptr_t *> target_data)[0])
    images[num_offload_images].version = version
    images[num_offload_images].type = target_type
    images[num_offload_images].host_table = host_table
    images[num_offload_images].target_data = described_data(version, target_data)
    images[num_offload_images].description = <const TargetData *> description
    num_offload_images += 1
    note_constants(host_table)
    for i in range(num_devices):
        dev = &devices[i]
        if dev.type != target_type:
            continue
        gompy_lock_acquire(&dev.lock)
        if dev.state == DEVICE_INITIALIZED and load_image(dev, &images[num_offload_images - 1]):
            gompy_lock_release(&dev.lock)
            gompy_lock_release(&gompy_register_lock)
            fatal_failure()
        gompy_lock_release(&dev.lock)
    gompy_lock_release(&gompy_register_lock)
    forward_registration(b"GOMP_offload_register_ver", version, host_table, target_type, target_data)


cdef public void GOMP_offload_unregister_ver(unsigned version, const void *host_table, int target_type,
                                             const void *target_data) noexcept nogil:
    """An image goes (dlclose, or the end of the program)."""
    global num_offload_images
    cdef DeviceDescr *dev
    cdef int i, d
    if rare(gompy_checking):
        gompy_log_closed(host_table)
    if not gompy_lock_at_exit(&gompy_register_lock):
        return
    for i in range(num_offload_images):
        if offload_images[i].target_data != described_data(version, target_data):
            continue
        for d in range(num_devices):
            dev = &devices[d]
            if dev.type != target_type or not gompy_lock_at_exit(&dev.lock):
                continue
            if dev.state == DEVICE_INITIALIZED and unload_image(dev, &offload_images[i]):
                gompy_lock_release(&dev.lock)
                gompy_lock_release(&gompy_register_lock)
                fatal_failure()
            gompy_lock_release(&dev.lock)
        num_offload_images -= 1
        forget_constants(host_table)
        memmove(&offload_images[i], &offload_images[i + 1], (num_offload_images - i) * sizeof(OffloadImage))
        break
    gompy_lock_release(&gompy_register_lock)
    forward_registration(b"GOMP_offload_unregister_ver", version, host_table, target_type, target_data)


cdef public void GOMP_offload_register(const void *host_table, int target_type, const void *target_data) noexcept nogil:
    GOMP_offload_register_ver(0, host_table, target_type, target_data)


cdef public void GOMP_offload_unregister(const void *host_table, int target_type,
                                         const void *target_data) noexcept nogil:
    GOMP_offload_unregister_ver(0, host_table, target_type, target_data)
