# Failures and what the program is told.  Mapping functions return -1 and leave a text in the thread's gompy_failure;
# the entry point that called them releases its locks, then ends the program with it.


cdef unsigned newest_version  # GOMP_VERSION of the newest compiler that an image is of; 0: there is none


cdef int fail_absent(DeviceDescr *dev, uintptr_t start, size_t size) noexcept nogil:
    """What has to be present is not: in the words of the release that the program is of (GCC 14 has others)."""
    if newest_version < GOMP_VERSION_INDIRECT_FUNCS:
        return gompy_fail(b"present clause: !acc_is_present (%p, %lu (0x%lx))", <void *> start, <unsigned long> size,
                          <unsigned long> size)
    return gompy_fail(b"present clause: not present on the device (addr: %p, size: %lu (0x%lx), dev: %d)",
                      <void *> start,
                      <unsigned long> size, <unsigned long> size, dev.number)


cdef inline const char *or_text(const char *text, const char *otherwise) noexcept nogil:
    return otherwise if text == NULL else text


cdef void fatal_failure() noexcept nogil:
    """End the program with the failure text: libgomp's form, or libgompy's own if the text begins so."""
    gompy_wait_for_exit()
    if strncmp(gompy_failure, b"libgompy: ", 10) == 0:
        gompy_note(b"%s", gompy_failure + 10)
        gompy_exit_fatal()
    gompy_fatal(b"%s", gompy_failure)
