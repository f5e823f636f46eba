# What regions have printed.


cdef inline void flush_output() noexcept nogil:
    """Write what regions have printed, so that it stands before whatever the host prints next."""
    cdef int i
    if load32(&units_written, RELAXED) != 0:
        store32(&units_written, 0, RELAXED)
        for i in range(image_count):
            if mic_images[i].flush_units != NULL:
                mic_images[i].flush_units(NULL)
                break
    if __fpending(stdout) != 0:
        fflush(stdout)
