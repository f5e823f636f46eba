# Routines of OpenMP 6.0 that libgomp has from GCC 15 (uids) and 16 (omp_target_memset) on (libgomp: target.c,
# fortran.c).

cdef enum:
    SET_AT_ONCE = 1 << 16  # bytes of the host's that a copy to the device begins with

cdef char *device_uids[64]


cdef public void *omp_target_memset(void *ptr, int value, size_t count, int device) noexcept nogil:
    """Fill memory of a device; the pointer again."""
    cdef DeviceDescr *dev
    cdef char *block
    cdef size_t done = 0, part
    cdef bint good = True
    if count == 0 or memory_device(device, &dev):
        return ptr
    if dev == NULL:
        return memset(ptr, value, count)
    part = min(count, <size_t> SET_AT_ONCE)
    block = <char *> malloc(part)
    if block == NULL:
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> part)
    memset(block, value, part)
    gompy_lock_acquire(&dev.lock)
    doing_copy(dev, b"omp_target_memset", call_site())
    while done < count and good:
        part = min(part, count - done)
        good = copy_between(dev, <char *> ptr + done, NULL, block, part)
        done += part
    gompy_lock_release(&dev.lock)
    free(block)
    if not good:
        gompy_fatal(b"omp_target_memset failed")
    return ptr


cdef struct SetTask:
    void *ptr
    size_t count
    int value
    int device


cdef void set_task_body(void *data) noexcept nogil:
    cdef SetTask *task = <SetTask *> data
    omp_target_memset(task.ptr, task.value, task.count, task.device)


cdef public void *omp_target_memset_async(void *ptr, int value, size_t count, int device, int depobj_count,
                                          void **depobj_list) noexcept nogil:
    """The same as a task of the stock libgomp."""
    cdef DeviceDescr *dev
    cdef SetTask task
    cdef void **depend
    if count == 0 or memory_device(device, &dev):
        return ptr
    task.ptr = ptr
    task.count = count
    task.value = value
    task.device = device
    depend = depend_objects(depobj_count, depobj_list)
    GOMP_task(set_task_body, &task, NULL, sizeof(SetTask), sizeof(void *), True,
              GOMP_TASK_FLAG_DEPEND if depend != NULL else 0, depend, 0, NULL)
    free(depend)
    return ptr


cdef const char *uid_of(DeviceDescr *dev) noexcept nogil:
    """By the plugin's word, which it may need the device for, else by its number."""
    cdef char *text = device_uids[dev.number]
    if text != NULL:
        return text
    if device_names_itself(dev) and gompy_load(&dev.state) == DEVICE_UNINITIALIZED:
        init_device(dev)
    gompy_lock_acquire(&dev.lock)
    text = device_uids[dev.number]
    if text == NULL and dev.state == DEVICE_INITIALIZED:
        text = device_uid(dev)
    if text == NULL:
        text = <char *> malloc(32)
        if text == NULL:
            gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> 32)
        snprintf(text, 32, b"OMP_DEV_%d", dev.number)
    device_uids[dev.number] = text
    gompy_lock_release(&dev.lock)
    return text


cdef public const char *omp_get_uid_from_device(int device) noexcept nogil:
    """A device's name that is its own in the process; NULL if there is none of that number."""
    cdef int count = get_num_devices()
    if device == GOMP_DEVICE_DEFAULT_OMP_61:
        device = stock_get_default_device()
    if device == OMP_INITIAL_DEVICE or device == count:
        return b"OMP_INITIAL_DEVICE"
    if device < 0 or device > count or device >= <int> (sizeof(device_uids) / sizeof(device_uids[0])):
        return NULL
    return uid_of(&devices[device])


cdef public int omp_get_device_from_uid(const char *uid) noexcept nogil:
    """The number of the device with a name, omp_invalid_device if there is none."""
    cdef int device
    if uid == NULL:
        return OMP_INVALID_DEVICE
    if strcmp(uid, b"OMP_INITIAL_DEVICE") == 0:
        return OMP_INITIAL_DEVICE
    for device in range(get_num_devices()):
        if omp_get_uid_from_device(device) != NULL and strcmp(uid, omp_get_uid_from_device(device)) == 0:
            return device
    return OMP_INVALID_DEVICE


cdef public int omp_get_device_from_uid_(const char *uid, size_t length) noexcept nogil:
    """Fortran."""
    cdef char text[64]
    if length >= sizeof(text):
        return OMP_INVALID_DEVICE
    memcpy(text, uid, length)
    text[length] = 0
    return omp_get_device_from_uid(text)


cdef public void omp_get_uid_from_device_(const char **result, size_t *length, int32_t device) noexcept nogil:
    """Fortran: a pointer to the characters, and how many."""
    result[0] = omp_get_uid_from_device(device)
    length[0] = strlen(result[0]) if result[0] != NULL else 0


cdef public void omp_get_uid_from_device_8_(const char **result, size_t *length, int64_t device) noexcept nogil:
    """Fortran, 8-byte integers."""
    omp_get_uid_from_device_(result, length, <int32_t> device)
