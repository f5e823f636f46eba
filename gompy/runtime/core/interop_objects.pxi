# Interoperability objects: how they are made, waited for and ended, whichever compiler's directive it is.

cdef struct InteropWork:
    # What is left for a task: objects to wait for, and variables whose objects end.  Both arrays stand behind it.
    int num_used
    int num_ended
    InteropObject **used
    InteropObject ***ended


cdef DeviceDescr *interop_device(const InteropObject *object) noexcept nogil:
    """An object's device, NULL: there is no object, or its device is no longer in use."""
    cdef DeviceDescr *dev
    if object == NULL or object.device_num < 0 or object.device_num >= num_devices:
        return NULL
    dev = &devices[object.device_num]
    return dev if gompy_load(&dev.state) == DEVICE_INITIALIZED and device_has_interop(dev) else NULL


cdef void make_interop(DeviceDescr *dev, InteropObject **variable, int wanted, const char *preferred) noexcept nogil:
    """An object of a device; omp_interop_none, NULL, of the host and of a device that has none."""
    cdef InteropObject *object
    variable[0] = NULL
    if dev == NULL or not device_has_interop(dev):
        return
    object = <InteropObject *> calloc(1, sizeof(InteropObject))
    if object == NULL:
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> sizeof(InteropObject))
    object.device_num = dev.number
    device_interop(dev, object, GOMP_INTEROP_FLAG_INIT, wanted & GOMP_INTEROP_TARGETSYNC, preferred)
    variable[0] = object


cdef void finish_interop(const InteropWork *work) noexcept nogil:
    """Wait for the streams of objects in use; end those that are to go."""
    cdef InteropObject *object
    cdef DeviceDescr *dev
    cdef int i
    for i in range(work.num_ended):
        object = work.ended[i][0]
        if object == NULL:
            continue
        dev = interop_device(object)
        if dev != NULL:
            device_interop(dev, object, GOMP_INTEROP_FLAG_DESTROY, False, NULL)
        free(object)
        work.ended[i][0] = NULL
    for i in range(work.num_used):
        dev = interop_device(work.used[i])
        if dev != NULL:
            device_interop(dev, work.used[i], GOMP_INTEROP_FLAG_USE, False, NULL)
