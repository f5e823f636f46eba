# What precedes every launch, whichever construct it is of; and Fortran's write statements, which stand before
# libgfortran's own so that a launch inside of one is known (output.h).

cdef extern from "core/output.h" nogil:
    void gompy_output_first()
    void gompy_begin_statement(void *transfer)
    void gompy_end_statement(void *transfer)

cdef uint64_t host_regions
cdef const char *first_host_reason

cdef extern from *:
    """
    /* Why a region is on the host, where several doors say so.  */
    #define GOMPY_HOST_ASKED_FOR "the host was asked for (if clause, or number of the initial device)"
    #define GOMPY_HOST_DISABLED "OMP_TARGET_OFFLOAD is disabled"
    #define GOMPY_HOST_NO_DEVICE "there is no device"
    #define GOMPY_HOST_FINALIZED "the device is finalized"
    #define GOMPY_HOST_NO_CODE "no image for the device has the region's code"
    #define GOMPY_HOST_OF_THREAD "the host is the thread's device"
    #define GOMPY_HOST_PROGRAM "the program asked for it"
    """
    const char *HOST_ASKED_FOR "GOMPY_HOST_ASKED_FOR"
    const char *HOST_DISABLED "GOMPY_HOST_DISABLED"
    const char *HOST_NO_DEVICE "GOMPY_HOST_NO_DEVICE"
    const char *HOST_FINALIZED "GOMPY_HOST_FINALIZED"
    const char *HOST_NO_CODE "GOMPY_HOST_NO_CODE"
    const char *HOST_OF_THREAD "GOMPY_HOST_OF_THREAD"
    const char *HOST_PROGRAM "GOMPY_HOST_PROGRAM"

cdef char host_number[80]


cdef void name_host_number(int count) noexcept nogil:
    """The devices are counted, and there are some: the number behind theirs is the host's.

    A user may have meant another device by it, of which there is none.
    """
    if count == 1:
        snprintf(host_number, sizeof(host_number), b"number 1 is the host: the only device is number 0")
    else:
        snprintf(host_number, sizeof(host_number), b"number %d is the host: the devices are 0 to %d", count, count - 1)


ctypedef void (*launch_told_fn)(DeviceDescr *, const void *, const char *) noexcept nogil

cdef extern from *:
    launch_told_fn apart_launch "gompy_apart"(launch_told_fn) noexcept nogil


cdef void tell_begin_launch(DeviceDescr *dev, const void *region, const char *how) noexcept nogil:
    """A region is launched next, to the checks and GOMP_DEBUG."""
    if gompy_checking:
        gompy_log_frame()
        gompy_log(EVENT_LAUNCH, 0, dev.number, NULL, region, 0, 0, 0, 0, 0)
    if gompy_debug_level:
        tell_launch(dev, region, how)


cdef inline void count_launch(DeviceDescr *dev, const void *region) noexcept nogil:
    """A region is launched next: count it, and write out what the host has printed before."""
    gompy_count(&dev.launches)
    gompy_store_ptr(<void *> &dev.region, <void *> region)
    gompy_output_first()


cdef inline bint launch_told() noexcept nogil:
    """Whether anybody is told of a launch: hooks, GOMP_DEBUG, the checks."""
    return has_hooks(HOOK_LAUNCH | HOOK_MAP | HOOK_ENTRIES)


cdef inline void begin_launch(DeviceDescr *dev, const void *region, const char *how) noexcept nogil:
    """A region is launched next, `how` it is: count_launch, and tell it."""
    count_launch(dev, region)
    if entries_told():
        apart_launch(tell_begin_launch)(dev, region, how)


cdef public void begin_statement "_gfortran_st_write"(void *transfer) noexcept nogil:
    """Fortran's begin of a write statement."""
    gompy_begin_statement(transfer)


cdef public void end_statement "_gfortran_st_write_done"(void *transfer) noexcept nogil:
    """Fortran's end of a write statement."""
    gompy_end_statement(transfer)


cdef void forget_counts() noexcept nogil:
    """A forked child counts its own regions."""
    global host_regions, first_host_reason
    host_regions = 0
    first_host_reason = NULL


cdef inline void count_host_region(const char *reason) noexcept nogil:
    """A region runs on the host; reason: why, or NULL where the program asked for it."""
    gompy_count(&host_regions)
    if reason != NULL:
        gompy_first(&first_host_reason, reason)
