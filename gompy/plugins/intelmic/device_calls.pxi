# Calls of the C library that hand a region's memory to the kernel: device_call_table.h has them.  The image finds them
# here before libc's (see device_shims.pxi); so do language libraries.  What libc itself writes by its own way, as
# printf does, it has copied before, but for strings of kilobytes.

cdef extern from "device_calls.h" nogil:
    unsigned open_for_kernel "mic_open_for_kernel"(const void *p, size_t size, bint writes, bint exact, uint64_t *where)
    size_t text_size "mic_text_size"(const char *text)


cdef public void kernel_uses "mic_kernel_uses"(const void *p, size_t size, bint writes, void *pc) noexcept nogil:
    """Open what the kernel is to use, and note a read of what is doubtful."""
    cdef uint64_t where = 0
    cdef unsigned mark
    if p == NULL:
        return
    mark = open_for_kernel(p, size, writes, control.exact != 0, &where)
    if mark:
        note_doubtful(mark, where, <uintptr_t>pc - 1, stack_pointer(), 0)


cdef public void kernel_reads_text "mic_kernel_reads_text"(const char *text) noexcept nogil:
    """The same of a string, whose bytes are judged as they are read here."""
    kernel_uses(text, text_size(text), True, NULL)
