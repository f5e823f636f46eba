# Interoperability objects.  The emulated MIC has no library of its own that a program could call, so the foreign
# runtime is gompy's: a stream is a queue of acc_queue.pxi, and doors/openmp/interop.pxi has what is put into it.

from gompy.native.interop cimport (
    GOMPY_INTEROP_ID, GOMP_INTEROP_FLAG_DESTROY, GOMP_INTEROP_FLAG_USE, OMP_IPR_DEVICE, OMP_IPR_DEVICE_NUM,
    OMP_IPR_FR_ID, OMP_IPR_FR_NAME, OMP_IPR_TARGETSYNC, OMP_IPR_VENDOR, OMP_IPR_VENDOR_NAME, OMP_IRC_NO_VALUE,
    OMP_IRC_TYPE_INT, OMP_IRC_TYPE_PTR, OMP_IRC_TYPE_STR,
)
from gompy.native.plugin_types cimport InteropObject


cdef public void GOMP_OFFLOAD_interop(InteropObject *object, int number, int action, c_bool targetsync,
                                      const char *preferred) noexcept nogil:
    """Make an object, wait for what its stream holds, or end it."""
    cdef mic_acc_queue *q = <mic_acc_queue *>object.stream
    cdef bint good = True
    if action == GOMP_INTEROP_FLAG_USE or action == GOMP_INTEROP_FLAG_DESTROY:
        if q != NULL:
            good = queue_synchronize(q)
            if action == GOMP_INTEROP_FLAG_DESTROY:
                queue_close(q)
                object.stream = NULL
        if not good:
            GOMP_PLUGIN_fatal(b"device %d (intelmic): a copy in an interoperability object's stream failed", number)
        return
    object.fr = GOMPY_INTEROP_ID
    object.device_data = device_of(number)
    if targetsync:
        object.stream = queue_open(device_of(number))
        if object.stream == NULL:
            GOMP_PLUGIN_fatal(b"device %d (intelmic): no stream for an interoperability object", number)


cdef int interop_value(InteropObject *object, int property, intptr_t *word) noexcept nogil:
    """A property: what it is (OMP_IRC_TYPE_*, OMP_IRC_NO_VALUE), and its value."""
    if property == OMP_IPR_FR_ID or property == OMP_IPR_VENDOR:
        word[0] = GOMPY_INTEROP_ID
    elif property == OMP_IPR_DEVICE_NUM:
        word[0] = object.device_num
    elif property == OMP_IPR_DEVICE:
        word[0] = (<mic_device *>object.device_data).number
    elif property == OMP_IPR_FR_NAME or property == OMP_IPR_VENDOR_NAME:
        word[0] = <intptr_t><const char *>b"gompy"
        return OMP_IRC_TYPE_STR
    elif property == OMP_IPR_TARGETSYNC and object.stream != NULL:
        word[0] = <intptr_t>object.stream
        return OMP_IRC_TYPE_PTR
    else:
        return OMP_IRC_NO_VALUE
    return OMP_IRC_TYPE_INT


cdef const char *interop_type(InteropObject *object, int property) noexcept nogil:
    """The type of device or targetsync; of others "N/A"."""
    if property == OMP_IPR_DEVICE:
        return b"int"
    return b"void *" if property == OMP_IPR_TARGETSYNC else b"N/A"
