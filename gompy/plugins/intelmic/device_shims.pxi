# Library functions whose answer differs on the device.  The image finds them here before libgomp's and libc's, since
# the program stands first in the search order and is linked with -rdynamic.

cdef public void device_exit "exit"(int status) noexcept nogil:
    """exit called in a region: it ends the whole program, and the host has to hear of it.

    What the region has printed is written first, as exit would.
    """
    fflush(NULL)
    store32(&units_written, 1, RELAXED)
    flush_output()
    only_one_dies()
    control.death.kind = MIC_DEATH_EXIT
    control.death.code = status
    control.death.slot = mic_thread_slot
    control.death.image_pc = image_address_on_stack(stack_pointer(), &control.death.outer_pc)
    tell_death()
    _exit(status)


cdef public void write_done "_gfortran_st_write_done"(void *transfer) noexcept nogil:
    """Fortran's end of a write statement: the real one, and a note that units may hold output."""
    cdef void (*real)(void *) noexcept nogil
    cdef void *library = dlopen(b"libgfortran.so.5", RTLD_NOW | RTLD_NOLOAD)
    real = <void (*)(void *) noexcept nogil>dlsym(library, b"_gfortran_st_write_done")
    real(transfer)
    dlclose(library)
    store32(&units_written, 1, RELAXED)


cdef public void *called_function "GOMP_target_map_indirect_ptr"(void *function) noexcept nogil:
    """What an accelerator compiler of GCC 14 and later asks before an indirect call: the host's address is right, for
    there is a jump (device_indirect.pxi).  libgomp's own is for other devices, and has no body."""
    return function
