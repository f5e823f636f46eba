# Reverse offload: a region on a device has the host run a function, and waits (`target device (ancestor: 1)`).
#
# The thread that waits for the region in the plugin calls here.  It holds no lock, and the region's maps stay as they
# are.


cdef uintptr_t ancestor_of(DeviceDescr *dev, uintptr_t function) noexcept nogil:
    """The host's function that a device's stands for; ends the program where there is none."""
    cdef uintptr_t host = look_function_up(<FunctionTable *> gompy_load_ptr(&dev.ancestors), function)
    if host == 0:
        gompy_fatal(b"Cannot find reverse-offload function")
    return host


cdef void end_reverse(ReverseJob *job, void *block) noexcept nogil:
    cdef size_t i
    for i in range(job.maps.mapnum):
        free(job.entries[i].block)
    free(block)


cdef void call_host_function(DeviceDescr *dev, uintptr_t function, size_t mapnum, uintptr_t addresses, uintptr_t sizes,
                             uintptr_t kinds) noexcept nogil:
    """Run the host's function of a region's construct; addresses, sizes and kinds are arrays of the device's."""
    cdef region_fn host = <region_fn> ancestor_of(dev, function)
    cdef ReverseJob job
    cdef size_t *words
    cdef int failed
    end_watch()  # the program's function is about to run
    if mapnum == 0 or dev.capabilities & GOMP_OFFLOAD_CAP_SHARED_MEM:
        host(<void *> addresses)
        gompy_output_first()
        return
    words = <size_t *> calloc(mapnum, 3 * sizeof(size_t) + sizeof(ReverseEntry) + sizeof(unsigned short))
    if words == NULL:
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> (mapnum * sizeof(ReverseEntry)))
    job.dev = dev
    job.list = addresses
    job.devices = <uintptr_t *> words
    job.entries = <ReverseEntry *> (words + 3 * mapnum)
    job.maps = map_list(mapnum, <void **> (words + mapnum), words + 2 * mapnum,
                        <unsigned short *> (job.entries + mapnum))
    gompy_lock_acquire(&dev.lock)
    note_construct(dev, NULL, <void *> host)
    failed = (copy_to_host(dev, job.devices, addresses, mapnum * sizeof(void *))
              or copy_to_host(dev, job.maps.sizes, sizes, mapnum * sizeof(size_t))
              or copy_to_host(dev, job.maps.kinds, kinds, mapnum * sizeof(unsigned short)))
    memcpy(job.maps.hostaddrs, job.devices, mapnum * sizeof(void *))
    failed = failed or reverse_begin(&job)
    gompy_lock_release(&dev.lock)
    if failed:
        fatal_failure()
    host(<void *> job.maps.hostaddrs)
    gompy_output_first()  # before what the region prints next
    gompy_lock_acquire(&dev.lock)
    note_construct(dev, NULL, <void *> host)
    failed = reverse_end(&job)
    gompy_lock_release(&dev.lock)
    if failed:
        fatal_failure()
    end_reverse(&job, words)


cdef public void gompy_target_rev(int type, int number, uint64_t function, uint64_t mapnum, uint64_t addresses,
                                  uint64_t sizes, uint64_t kinds) noexcept nogil:
    """For our own plugins, which know a device by its kind and its number there."""
    cdef int i
    for i in range(num_devices):
        if devices[i].type == type and devices[i].target_id == number:
            call_host_function(&devices[i], function, mapnum, addresses, sizes, kinds)
            return
    gompy_fatal(b"Cannot find reverse-offload function")


cdef public void GOMP_PLUGIN_target_rev(uint64_t function, uint64_t mapnum, uint64_t addresses, uint64_t sizes,
                                        uint64_t kinds, int number) noexcept nogil:
    """For GCC's plugins.  What more they pass, each release otherwise, tells how to copy, which they do anyway."""
    if number < 0 or number >= num_devices:
        gompy_fatal(b"Cannot find reverse-offload function")
    call_host_function(&devices[number], function, mapnum, addresses, sizes, kinds)
