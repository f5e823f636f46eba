# Reads of memory that has not been written, and of what the host has changed since (device_marks.h).

cdef extern from "device_marks.h" nogil:
    void watch_marks "mic_watch_marks"(unsigned char *marks, void *base, uint64_t size, const mic_outer *outer)
    bint marked_fault "mic_marked_fault"(int signo, void *info, void *context, unsigned *read)
    void change_guards "mic_change_guards"(mic_guards *guards)
    void begin_marked "mic_begin_marked"(mic_guards *guards)


cdef bint map_marks() noexcept nogil:
    """Map the marks, where there are some.  False: impossible."""
    cdef void *p
    if control.marked == 0:
        return True
    p = mmap(NULL, control.arena_size + MIC_OUTER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory_fd,
             <off_t>(MIC_CONTROL_SIZE + control.arena_size))
    if p == <void *>-1:
        return False
    madvise(p, control.arena_size + MIC_OUTER_BYTES, MADV_DONTDUMP)
    watch_marks(<unsigned char *>p, <void *>control.arena_base, control.arena_size, &control.outer)
    return True
