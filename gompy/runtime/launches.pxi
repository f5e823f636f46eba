# What precedes every launch, whichever construct it is of; and Fortran's write statements, which stand before
# libgfortran's own so that a launch inside of one is known (output.h).

cdef extern from "output.h" nogil:
    void gompy_output_first()
    void gompy_begin_statement(void *transfer)
    void gompy_end_statement(void *transfer)


cdef inline void begin_launch(DeviceDescr *dev, const void *region, const char *how) noexcept nogil:
    """A region is launched next: count it, tell it, and write out what the host has printed before."""
    gompy_count(&dev.launches)
    gompy_output_first()
    if gompy_debug_level:
        tell_launch(dev, region, how)


cdef public void begin_statement "_gfortran_st_write"(void *transfer) noexcept nogil:
    """Fortran's begin of a write statement."""
    gompy_begin_statement(transfer)


cdef public void end_statement "_gfortran_st_write_done"(void *transfer) noexcept nogil:
    """Fortran's end of a write statement."""
    gompy_end_statement(transfer)
