# Which device a construct's number means.
#
# With OMP_TARGET_OFFLOAD=mandatory and no OMP_DEFAULT_DEVICE, libgomp 14 chooses the default device when it is asked
# first: of its own devices, and where it finds none the answer is omp_invalid_device.  Which devices there are is known
# here, so the initial thread's is set before that, and for threads that are not libgomp's that answer means the first
# one.

cdef int invalid_is_meant  # the program has set omp_invalid_device itself
cdef bint default_is_ours  # chosen here, not by the environment


# A region on a device that shares the program's memory runs in this process, also in threads of libgomp's.  All of them
# inherit the default device of the thread that it began in: there it is a number beyond all others.

cdef enum:
    SHARED_NUMBERS = 1 << 24  # the device's own is added

cdef int shared_entered  # there has been such a region


cdef public void gompy_enter_device(int type, int number) noexcept nogil:
    """For plugins whose regions run in this process: this thread, and those that it makes, are a device's from now on.
    """
    cdef int i
    for i in range(num_devices):
        if devices[i].type == type and devices[i].target_id == number and stock_set_default_device != NULL:
            gompy_store(&shared_entered, 1)
            stock_set_default_device(SHARED_NUMBERS + devices[i].number)


cdef inline int device_of_task() noexcept nogil:
    """The device whose region the calling task is of, in this process; -1: none, it is the host's."""
    cdef int device
    if not gompy_load(&shared_entered):
        return -1
    device = stock_default_device()
    return device - SHARED_NUMBERS if SHARED_NUMBERS <= device < SHARED_NUMBERS + num_devices else -1


cdef inline int stock_get_default_device() noexcept nogil:
    """The default-device-var ICV of the task that asks; in a region of a device in this process, that device."""
    cdef int device = device_of_task()
    if device >= 0:
        return device
    device = stock_default_device() if stock_default_device != NULL else 0
    if device == OMP_INVALID_DEVICE and not gompy_load(&invalid_is_meant):
        return 0
    return device


cdef void choose_default_device() noexcept nogil:
    """At the start of the program."""
    global default_is_ours
    if (target_offload == OFFLOAD_MANDATORY and stock_set_default_device != NULL
            and secure_getenv(b"OMP_DEFAULT_DEVICE") == NULL and secure_getenv(b"OMP_DEFAULT_DEVICE_ALL") == NULL):
        stock_set_default_device(0)
        default_is_ours = True


cdef void fatal_mandatory(const char *what) noexcept nogil:
    """OMP_TARGET_OFFLOAD=mandatory cannot be met: say why there is no device, then what libgomp says."""
    print_plugin_reasons()
    gompy_fatal(b"OMP_TARGET_OFFLOAD is set to MANDATORY, but %s", what)


cdef inline bint by_newer_rules() noexcept nogil:
    """Whether device numbers mean what they do from GCC 13 on: an image is of such a release, or there is none."""
    return num_offload_images == 0 or newest_version >= GOMP_VERSION_REQUIRES_MASK


cdef const char *reason_beyond(int count) noexcept nogil:
    """Why a region is on the host whose number is that of the devices."""
    if count:
        return host_number
    return HOST_DISABLED if target_offload == OFFLOAD_DISABLED else HOST_NO_DEVICE


cdef DeviceDescr *resolve_device(int device, const char **reason) noexcept nogil:
    """The device that a construct's number means, ready for use, or NULL for the host, with the reason.

    GCC 13 and later pass -1 of the source as -2 (the initial device), other values from there on less one; -4 is
    omp_invalid_device, -5 the default one.  The default-device-var ICV has the numbers of the source.
    """
    cdef DeviceDescr *dev
    cdef bint by_default = device == GOMP_DEVICE_ICV or device == GOMP_DEVICE_DEFAULT_OMP_61
    cdef int initial = GOMP_DEVICE_HOST_FALLBACK
    cdef int count = get_num_devices()
    if by_default:
        device = stock_get_default_device()
    if rare(device < 0 or device >= count):
        if by_default and by_newer_rules():
            initial = OMP_INITIAL_DEVICE
        if device == initial or (device == count and not (by_default and count == 0)):
            reason[0] = HOST_ASKED_FOR if device != count else reason_beyond(count)
            return NULL
        if device == OMP_INVALID_DEVICE and by_newer_rules():
            gompy_fatal(b"omp_invalid_device encountered")
        if target_offload == OFFLOAD_MANDATORY:
            fatal_mandatory(b"device not found")
        reason[0] = b"there is no device of that number"
        if count == 0:
            reason[0] = reason_beyond(0)
        return NULL
    dev = &devices[device]
    if gompy_load(&dev.state) == DEVICE_UNINITIALIZED:
        init_device(dev)
    if gompy_load(&dev.state) == DEVICE_FINALIZED:
        if target_offload == OFFLOAD_MANDATORY:
            fatal_mandatory(b"device is finalized")
        reason[0] = HOST_FINALIZED
        if dev.epoch:
            reason[0] = b"the device does not serve a forked child"
        return NULL
    return dev


cdef inline DeviceDescr *find_device(int device, const char **reason) noexcept nogil:
    """resolve_device; without a call for the default one that is in use, which is what most constructs mean."""
    cdef DeviceDescr *dev
    cdef int number
    if ((device == GOMP_DEVICE_ICV or device == GOMP_DEVICE_DEFAULT_OMP_61) and gompy_load(&targets_ready)
            and not gompy_load(&shared_entered) and stock_default_device != NULL):
        number = stock_default_device()
        if <unsigned> number < <unsigned> num_devices_openmp:
            dev = &devices[number]
            if gompy_load(&dev.state) == DEVICE_INITIALIZED:
                return dev
    return resolve_device(device, reason)
