# A core of the device's process, with what a debugger needs (device_core.h).

cdef extern from "device_core.h" nogil:
    bint core_is_wanted "mic_core_is_wanted"()
    void keep_image "mic_keep_image"(int number, void *handle, int fd)
    void dump_used "mic_dump_used"(int memory, off_t start, char *base, uint64_t size)
    void end_by_signal "mic_end_by_signal"(int signo, bint again)


cdef void end_with_core(int signo, bint again) noexcept nogil:
    """End by that signal, with a core; returns if ``again``: the instruction that has failed then ends the process."""
    cdef int i
    for i in range(image_count):
        if mic_images[i].handle != NULL:
            keep_image(i, mic_images[i].handle, mic_images[i].fd)
    dump_used(memory_fd, <off_t>MIC_CONTROL_SIZE, <char *>control.arena_base, control.arena_size)
    end_by_signal(signo, again)
