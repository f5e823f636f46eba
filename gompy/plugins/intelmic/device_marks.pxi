# Reads of memory that has not been written, and of what the host has changed since (device_marks.h).

cdef extern from "device_marks.h" nogil:
    void watch_marks "mic_watch_marks"(unsigned char *marks, void *base, uint64_t size, const mic_outer *outer)
    mic_pages marked_pages "mic_marked_pages"
    bint marked_fault "mic_marked_fault"(int signo, void *info, void *context, unsigned *read)
    void change_guards "mic_change_guards"(mic_guards *guards)
    void *mic_map_aligned(size_t size, int fd, off_t offset)
    void begin_marked "mic_begin_marked"(mic_guards *guards)


cdef bint map_marks() noexcept nogil:
    """Map the marks, where there are some.  False: impossible.

    With them the arena once more, unless pages are open as regions begin: they are filled before regions have access.
    """
    cdef uint64_t again = 0 if control.exact else control.arena_size
    cdef uint64_t size = again + marks_size(control.arena_size)
    cdef unsigned char *marks
    cdef void *p
    if control.marked == 0:
        return True
    p = mic_map_aligned(size, memory_fd, <off_t>(MIC_CONTROL_SIZE + control.arena_size - again))
    if p == NULL:
        return False
    madvise(p, size, MADV_DONTDUMP)
    if again:
        madvise(<char *>p + control.split, control.arena_size - control.split, MADV_HUGEPAGE)
    marks = <unsigned char *>p + again
    watch_marks(marks, <void *>control.arena_base, control.arena_size, &control.outer)
    open_pages_marks(&marked_pages, marks, <char *>p, control.arena_size, control.exact, control.spread,
                     &control.guards.stay_open)
    return True
