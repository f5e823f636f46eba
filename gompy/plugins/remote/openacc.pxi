# OpenACC.  A queue is done at once: each of its operations ends before the next call.


cdef public void *GOMP_OFFLOAD_openacc_create_thread_data(int number) noexcept nogil:
    """A host thread begins to use a device: that is what is kept for it, since openacc_exec has no device number."""
    return device_of(number)


cdef public void GOMP_OFFLOAD_openacc_destroy_thread_data(void *data) noexcept nogil:
    """A host thread ends, or turns to another device."""


cdef void run_construct(RemoteDevice *d, void *function, size_t count, void **hosts, void **devices,
                        unsigned *dims) noexcept nogil:
    """Run a region to its end.  What is absent (no_create) has the host's address."""
    cdef remote_launch launch
    cdef uint64_t *words = <uint64_t *>malloc((3 + 2 * count) * sizeof(uint64_t))
    cdef size_t i
    if words == NULL:
        GOMP_PLUGIN_fatal(b"remote device %d (%s): out of memory", d.number, <const char *>d.host)
    memset(&launch, 0, sizeof(launch))
    launch.function = <uint64_t>function
    for i in range(3):
        words[i] = dims[i] if dims != NULL else 1
    for i in range(count):
        words[3 + i] = <uint64_t>devices[i]
        words[3 + count + i] = <uint64_t>hosts[i]
    run_frame(d, REMOTE_ACC_RUN, &launch, words, 3 + 2 * count)
    free(words)


cdef public void GOMP_OFFLOAD_openacc_exec(void *function, size_t count, void **hostaddrs, void **devaddrs,
                                           unsigned *dims, void *target) noexcept nogil:
    """Run a region to its end."""
    run_construct(<RemoteDevice *>GOMP_PLUGIN_acc_thread(), function, count, hostaddrs, devaddrs, dims)


cdef public void GOMP_OFFLOAD_openacc_async_exec(void *function, size_t count, void **hostaddrs, void **devaddrs,
                                                 unsigned *dims, void *target, void *queue) noexcept nogil:
    run_construct(<RemoteDevice *>queue, function, count, hostaddrs, devaddrs, dims)


cdef public void *GOMP_OFFLOAD_openacc_async_construct(int number) noexcept nogil:
    """A queue is the device itself."""
    return device_of(number)


cdef public c_bool GOMP_OFFLOAD_openacc_async_destruct(void *queue) noexcept nogil:
    return True


cdef public int GOMP_OFFLOAD_openacc_async_test(void *queue) noexcept nogil:
    return 1


cdef public c_bool GOMP_OFFLOAD_openacc_async_synchronize(void *queue) noexcept nogil:
    return True


cdef public c_bool GOMP_OFFLOAD_openacc_async_serialize(void *first, void *then) noexcept nogil:
    return True


cdef public void GOMP_OFFLOAD_openacc_async_queue_callback(void *queue, void (*function)(void *) noexcept nogil,
                                                           void *data) noexcept nogil:
    function(data)


cdef public c_bool GOMP_OFFLOAD_openacc_async_host2dev(int number, void *to, const void *what, size_t n,
                                                       void *queue) noexcept nogil:
    return write_device(device_of(number), <uint64_t>to, what, n)


cdef public c_bool GOMP_OFFLOAD_openacc_async_dev2host(int number, void *to, const void *what, size_t n,
                                                       void *queue) noexcept nogil:
    return read_device(device_of(number), to, <uint64_t>what, n)


cdef public uintptr_t GOMP_OFFLOAD_openacc_get_property(int number, int property) noexcept nogil:
    """Memory and free memory in bytes; name, vendor, driver."""
    cdef uint64_t word = <uint64_t>property
    cdef uint32_t status
    cdef RemoteDevice *d
    if property & GOACC_PROPERTY_STRING_MASK:
        if property == GOACC_PROPERTY_NAME:
            return <uintptr_t><const char *>b"remote"
        return <uintptr_t><const char *>b"gompy" if property == GOACC_PROPERTY_VENDOR else <uintptr_t><const char *>b"1"
    if number < 0 or number >= num_devices:
        return 0
    d = remote_devices[number]
    return ask_worker(d, REMOTE_PROPERTY, &word, 1, &status) if d.running and not remote_forked else 0
