# What `gompy run --check` is told of the host's side (check_log.h): entries, ends of mappings, copies, launches.  All
# of it costs one look at gompy_checking where nobody asks.

cdef extern from "core/check_log.h" nogil:
    int gompy_checking
    bint gompy_rests
    enum:
        COPY_LOGGED_TO_DEVICE "GOMPY_LOGGED_TO_DEVICE"
        COPY_LOGGED_SAME "GOMPY_LOGGED_SAME"
    void gompy_log(int op, int kind, int device, const char *what, const void *where, uintptr_t start, size_t size,
                   uintptr_t address, uint64_t count, unsigned flags)
    void gompy_log_copy(int device, int kind, const char *what, const void *where, uintptr_t start, size_t size,
                        uintptr_t address, unsigned flags, uint64_t before)
    uint64_t gompy_hash(const void *p, size_t n)
    void gompy_log_named(int op, int kind, int device, uintptr_t start, size_t size, uintptr_t address,
                         uint64_t count, unsigned flags, const char *what, const char *name)
    void gompy_log_frame()
    bint gompy_again_wanted
    void gompy_frame_changes(bint inside, bint outermost, uintptr_t call)
    void *gompy_keep_frame()
    void gompy_in_frame(const void *kept)
    uintptr_t gompy_log_fault(uintptr_t pc)
    void gompy_log_maps()
    void gompy_log_closed(const void *within)
    void gompy_log_flush()
    void gompy_log_text(uint32_t thread, const char *text, size_t n)
    uint32_t gompy_number_in_log()
    void gompy_begin_checks(const char *path)
    void gompy_end_checks()
    bint gompy_is_own_code(uintptr_t pc)


cdef const char *logged_what(const DeviceDescr *dev) noexcept nogil:
    """What the device's lock is taken for, in the words of the source; NULL for a region of OpenMP's."""
    cdef const Construct *construct = construct_now
    if dev.what != NULL:
        return dev.what
    while construct != NULL:
        if strcmp(construct.what, b"acc parallel") == 0:
            return b"parallel"  # or kernels, or serial: the compiler does not say
        construct = construct.outer
    return NULL


cdef inline void check_copy(DeviceDescr *dev, uintptr_t start, size_t size, uintptr_t address, bint to_device,
                            uint64_t before, bint same) noexcept nogil:
    """Log a copy of a mapped range, before one to the device and after one from it.

    before: what the host's hashed to; same: it had these contents.
    """
    if rare(gompy_checking):
        gompy_log_copy(dev.number, dev.copying.kind, logged_what(dev), dev.where, start, size, address,
                       (COPY_LOGGED_TO_DEVICE if to_device else 0) | (COPY_LOGGED_SAME if same else 0), before)


cdef inline void check_entry(DeviceDescr *dev, int event, int kind, uintptr_t start, size_t size) noexcept nogil:
    """Log an entry of update or exit data, or (kind -1) a construct that fails."""
    if rare(gompy_checking):
        gompy_log_frame()
        gompy_log(event, kind, dev.number, logged_what(dev), dev.where, start, size, 0, 0, 0)


cdef extern from *:
    """
    /* The pointer of the host's that the thread's failure is about; 0: its text has the addresses.  */
    static __thread uintptr_t gompy_failed_pointer;
    """
    uintptr_t failed_pointer "gompy_failed_pointer"


cdef int fail_pointer(uintptr_t pointer, const char *text) noexcept nogil:
    """A failure whose text, which is libgomp's, does not say which pointer it is about.  -1."""
    global failed_pointer
    failed_pointer = pointer
    return gompy_fail(b"%s", text)


ctypedef void (*failure_told_fn)(DeviceDescr *) noexcept nogil

cdef extern from *:
    failure_told_fn apart_failure "gompy_apart"(failure_told_fn) noexcept nogil


cdef void log_failure(DeviceDescr *dev) noexcept nogil:
    check_entry(dev, EVENT_ABSENT, -1, failed_pointer, sizeof(void *) if failed_pointer else 0)


cdef inline void check_failure(DeviceDescr *dev, int failed) noexcept nogil:
    """Log a construct that fails, while its device is still locked."""
    if rare(failed):
        apart_failure(log_failure)(dev)
