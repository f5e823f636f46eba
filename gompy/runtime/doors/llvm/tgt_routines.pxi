# libomptarget's own routines.  omp_target_* and the like are libgompy's for gcc's programs as well (gompy/abi/llvm.py,
# ALIASES).


cdef public void tgt_init_all_rtls "gompy_llvm___tgt_init_all_rtls"() noexcept nogil:
    """Devices are found when they are first asked for."""
    pass


cdef public void tgt_set_info_flag "gompy_llvm___tgt_set_info_flag"(uint32_t level) noexcept nogil:
    """LIBOMPTARGET_INFO from the program."""
    set_tgt_info(level)


cdef public int tgt_print_device_info "gompy_llvm___tgt_print_device_info"(int64_t device) noexcept nogil:
    """For llvm-omp-device-info."""
    if device < 0 or device >= get_num_devices():
        return 0
    fprintf(stdout, b"    Device %ld: %s of gompy\n", device, devices[device].name)
    return 1


cdef int disassociate_pointer(DeviceDescr *dev, uintptr_t start) noexcept nogil:
    """Undo omp_target_associate_ptr on a device that is locked; 0, or -1 after a message."""
    cdef SplayNode *node = lookup_mapped(&dev.mem_map, start, start + 1)
    cdef const char *why = NULL
    if node == NULL or node.host_start != start:
        why = b"Association not found"
    elif held_of(node):
        why = b"Trying to disassociate a pointer with a non-zero hold reference count"
    elif node.ref_kind != REF_INFINITY or of_image(node) or not owns_no_block(node.tgt):
        why = b"Trying to disassociate a pointer which was not mapped via omp_target_associate_ptr"
    if why != NULL:
        tgt_print(b"error: %s\n", why)
        return -1
    tell_associated(dev, node, MAP_REMOVED)
    return remove_key(dev, node)


cdef public int tgt_disassociate_ptr "gompy_llvm_omp_target_disassociate_ptr"(
    const void *host, int number
) noexcept nogil:
    """As libomptarget's, which tells why it fails."""
    cdef DeviceDescr *dev
    cdef Construct construct
    cdef int rc = -1
    if number < 0 or number >= get_num_devices():
        tgt_print(b"error: omp_target_disassociate_ptr: no association possible on the host\n")
        return -1
    dev = tgt_device(number, NULL)
    if dev == NULL:
        return -1
    enter_construct(&construct, b"omp_target_disassociate_ptr", call_site(), NULL, dev)
    gompy_lock_acquire(&dev.lock)
    note_construct(dev, b"omp_target_disassociate_ptr", NULL)
    if dev.state == DEVICE_INITIALIZED:
        rc = disassociate_pointer(dev, <uintptr_t> host)
    gompy_lock_release(&dev.lock)
    leave_construct(&construct, dev)
    return rc


cdef DeviceDescr *told_device(int number) noexcept nogil:
    """A device that routines look something up on; NULL: the host, or none."""
    return &devices[number] if 0 <= number < get_num_devices() else NULL


cdef void *no_such_memory(const char *routine, const char *why) noexcept nogil:
    gompy_note(b"%s: %s", routine, why)
    return NULL


cdef inline bint is_the_program(int number) noexcept nogil:
    """Whether a device is the program itself, which reaches all of its memory; so is the host."""
    return number == get_num_devices() or (
        0 <= number < num_devices and devices[number].capabilities & GOMP_OFFLOAD_CAP_SHARED_MEM != 0)


cdef void *common_memory(const char *routine, size_t size, int device, bint managed) noexcept nogil:
    """Memory that the host and a device reach at the same address, or NULL after a line."""
    cdef DeviceDescr *dev
    cdef void *memory = NULL
    if is_the_program(device):
        return malloc(size)
    dev = told_device(device)
    if dev != NULL and gompy_load(&dev.state) == DEVICE_UNINITIALIZED:
        init_device(dev)
    if dev == NULL or not device_has_common_memory(dev):
        return no_such_memory(routine, b"not implemented: the device has an address space of its own")
    gompy_lock_acquire(&dev.lock)
    if dev.state == DEVICE_INITIALIZED:
        memory = device_alloc_common(dev, size, managed)
    gompy_lock_release(&dev.lock)
    return memory if memory != NULL else no_such_memory(routine, b"no room at an address that host and device have")


cdef void free_common_memory(const char *routine, void *memory, int device, bint managed) noexcept nogil:
    """Give it back; at the program's end, when the device has ended, there is nothing to give back any more."""
    cdef DeviceDescr *dev
    cdef bint good = True
    if is_the_program(device):
        free(memory)
        return
    dev = told_device(device)
    if memory == NULL or dev == NULL or not device_has_common_memory(dev):
        return
    gompy_lock_acquire(&dev.lock)
    if dev.state == DEVICE_INITIALIZED:
        good = device_free_common(dev, memory, managed)
    gompy_lock_release(&dev.lock)
    if not good:
        gompy_note(b"%s: %p is not the beginning of such memory on device %d", routine, memory, device)


cdef public void *tgt_alloc_host "gompy_llvm_llvm_omp_target_alloc_host"(size_t size, int device) noexcept nogil:
    """Memory of the host that the device reaches at the same address."""
    return common_memory(b"llvm_omp_target_alloc_host", size, device, False)


cdef public void *tgt_alloc_shared "gompy_llvm_llvm_omp_target_alloc_shared"(size_t size, int device) noexcept nogil:
    """The same, of both."""
    return common_memory(b"llvm_omp_target_alloc_shared", size, device, True)


cdef public void tgt_free_host "gompy_llvm_llvm_omp_target_free_host"(void *memory, int device) noexcept nogil:
    free_common_memory(b"llvm_omp_target_free_host", memory, device, False)


cdef public void tgt_free_shared "gompy_llvm_llvm_omp_target_free_shared"(void *memory, int device) noexcept nogil:
    free_common_memory(b"llvm_omp_target_free_shared", memory, device, True)


cdef public void *tgt_dynamic_shared "gompy_llvm_llvm_omp_target_dynamic_shared_alloc"() noexcept nogil:
    """A team's memory on a GPU; the host has none."""
    return NULL


cdef public void *tgt_lock_mem "gompy_llvm_llvm_omp_target_lock_mem"(
    void *memory, size_t size, int device
) noexcept nogil:
    """Page-locked memory under an address for the device: only where that is the program's own."""
    if is_the_program(device):
        return memory
    return no_such_memory(b"llvm_omp_target_lock_mem", b"not implemented: the device has an address space of its own")


cdef public void tgt_unlock_mem "gompy_llvm_llvm_omp_target_unlock_mem"(void *memory, int device) noexcept nogil:
    pass


# --- routines that tell LIBOMPTARGET_INFO what they do
# -----------------------------------------------------------------------------------------------------

cdef extern from *:
    # libgompy's own, which another door has.  The program finds omp_target_* in libomptarget, so those of TOLD
    # (gompy/abi/llvm.py) have other names within.
    int routine_is_present "gompy_is_present"(const void *, int) nogil
    void *routine_mapped_ptr "gompy_mapped_pointer"(const void *, int) nogil
    int routine_memcpy "gompy_copy_memory"(void *, const void *, size_t, size_t, size_t, int, int, const void *) nogil
    int routine_memcpy_rect "omp_target_memcpy_rect"(
        void *, const void *, size_t, int, const size_t *, const size_t *, const size_t *, const size_t *,
        const size_t *, int, int) nogil
    void *routine_memset "omp_target_memset"(void *, int, size_t, int) nogil


cdef void tell_lookup(const void *host, int number) noexcept nogil:
    """That a routine looks up whether a byte is mapped."""
    cdef DeviceDescr *dev = told_device(number)
    cdef TgtFound found
    if dev == NULL or gompy_load(&dev.state) != DEVICE_INITIALIZED:
        return
    gompy_lock_acquire(&dev.lock)
    find_mapped(dev, <uintptr_t> host, 1, &found)
    if found.contained:
        tell_use(dev, found.node, <uintptr_t> host, 1)
    gompy_lock_release(&dev.lock)


cdef public int tgt_is_present "gompy_llvm_omp_target_is_present"(const void *host, int number) noexcept nogil:
    if tgt_info() & TGT_INFO_EXISTS:
        tell_lookup(host, number)
    return routine_is_present(host, number)


cdef public void *tgt_mapped_ptr "gompy_llvm_omp_get_mapped_ptr"(const void *host, int number) noexcept nogil:
    if tgt_info() & TGT_INFO_EXISTS:
        tell_lookup(host, number)
    return routine_mapped_ptr(host, number)


cdef void tell_memcpy(uintptr_t dst, uintptr_t src, size_t length, int dst_device, int src_device) noexcept nogil:
    """The copies of omp_target_memcpy; from device to device by way of the host."""
    cdef DeviceDescr *source = told_device(src_device)
    cdef DeviceDescr *target = told_device(dst_device)
    if source != NULL:
        tell_copy(source, False, dst if target == NULL else 0, src, <int64_t> length, NULL)
    if target != NULL:
        tell_copy(target, True, src if source == NULL else 0, dst, <int64_t> length, NULL)


cdef public int tgt_memcpy "gompy_llvm_omp_target_memcpy"(
        void *dst, const void *src, size_t length, size_t dst_offset, size_t src_offset, int dst_device,
        int src_device) noexcept nogil:
    if tgt_info() & TGT_INFO_COPIES and length:
        tell_memcpy(<uintptr_t> dst + dst_offset, <uintptr_t> src + src_offset, length, dst_device, src_device)
    return routine_memcpy(dst, src, length, dst_offset, src_offset, dst_device, src_device, call_site())


# --- what LLVM 17 to 19 have added
# ---------------------------------------------------------------------------------------------------------------------

cdef struct TgtDependence:
    # A task's dependence, as libomp has it (kmp_depend_info_t).
    intptr_t base
    size_t size
    uint64_t flags

ctypedef int (*thread_number_fn)(const TgtIdent *where) noexcept nogil
ctypedef void (*wait_deps_fn)(const TgtIdent *where, int thread, int count, TgtDependence *list, int more,
                              TgtDependence *more_list) noexcept nogil


cdef enum:
    NO_MEMORY = 12  # ENOMEM


cdef int await_dependences(int count, void **objects) noexcept nogil:
    """Have libomp wait for what depend objects stand for: each is the address of a kmp_depend_info_t."""
    cdef thread_number_fn thread_number = <thread_number_fn> dlsym(NULL, b"__kmpc_global_thread_num")
    cdef wait_deps_fn wait_deps = <wait_deps_fn> dlsym(NULL, b"__kmpc_omp_wait_deps")
    cdef TgtDependence *list
    cdef int i
    if count <= 0 or objects == NULL or thread_number == NULL or wait_deps == NULL:
        return 0
    list = <TgtDependence *> malloc(<size_t> count * sizeof(TgtDependence))
    if list == NULL:
        return gompy_fail(b"Out of memory allocating %lu bytes", <unsigned long> (count * sizeof(TgtDependence)))
    for i in range(count):
        list[i] = (<TgtDependence *> objects[i])[0]
    wait_deps(NULL, thread_number(NULL), count, list, 0, NULL)
    free(list)
    return 0


cdef public int tgt_memcpy_async "gompy_llvm_omp_target_memcpy_async"(
        void *dst, const void *src, size_t length, size_t dst_offset, size_t src_offset, int dst_device,
        int src_device, int count, void **objects) noexcept nogil:
    """Done at once, when what it depends on has been done."""
    if await_dependences(count, objects):
        return NO_MEMORY
    if tgt_info() & TGT_INFO_COPIES and length:
        tell_memcpy(<uintptr_t> dst + dst_offset, <uintptr_t> src + src_offset, length, dst_device, src_device)
    return routine_memcpy(dst, src, length, dst_offset, src_offset, dst_device, src_device, call_site())


cdef public int tgt_memcpy_rect_async "gompy_llvm_omp_target_memcpy_rect_async"(
        void *dst, const void *src, size_t element_size, int dimensions, const size_t *volume,
        const size_t *dst_offsets, const size_t *src_offsets, const size_t *dst_dimensions,
        const size_t *src_dimensions, int dst_device, int src_device, int count, void **objects) noexcept nogil:
    """The same; without memory: how many dimensions there may be."""
    if dst == NULL and src == NULL:
        return INT_MAX
    if await_dependences(count, objects):
        return NO_MEMORY
    return routine_memcpy_rect(dst, src, element_size, dimensions, volume, dst_offsets, src_offsets, dst_dimensions,
                               src_dimensions, dst_device, src_device)


cdef public void *tgt_memset_async "gompy_llvm_omp_target_memset_async"(
        void *ptr, int value, size_t size, int device, int count, void **objects) noexcept nogil:
    """The same."""
    if await_dependences(count, objects):
        return NULL
    return routine_memset(ptr, value, size, device)


cdef public void tgt_dump_tables "gompy_llvm_ompx_dump_mapping_tables"() noexcept nogil:
    """The tables of mappings, of all devices."""
    tell_all_tables(NULL)


cdef public void tgt_rtl_init "gompy_llvm___tgt_rtl_init"() noexcept nogil:
    """Devices are found when they are first asked for."""
    pass


cdef public void tgt_rtl_deinit "gompy_llvm___tgt_rtl_deinit"() noexcept nogil:
    """They end with the program."""
    pass


cdef public int tgt_activate_record "gompy_llvm___tgt_activate_record_replay"(
        int64_t device, uint64_t memory_size, void *address, bint records, bint saves_output,
        uint64_t *offset) noexcept nogil:
    """Of llvm-omp-kernel-replay: not implemented."""
    gompy_note(b"__tgt_activate_record_replay is not implemented")
    return -1
