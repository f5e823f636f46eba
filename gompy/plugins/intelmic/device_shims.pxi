# Library functions whose answer differs on the device.  The image finds them here before libgomp's and libc's, since the
# program stands first in the search order and is linked with -rdynamic.  Values: those of GCC 12's nvptx libgomp.


cdef public int omp_is_initial_device() noexcept nogil:
    """Never."""
    return 0


cdef public int32_t omp_is_initial_device_() noexcept nogil:
    """Fortran."""
    return 0


cdef public int omp_get_device_num() noexcept nogil:
    """This device's number."""
    return control.device


cdef public int32_t omp_get_device_num_() noexcept nogil:
    """Fortran."""
    return control.device


cdef public int omp_get_num_devices() noexcept nogil:
    """A device has no devices."""
    return 0


cdef public int32_t omp_get_num_devices_() noexcept nogil:
    """Fortran."""
    return 0


cdef public int omp_get_initial_device() noexcept nogil:
    """The host, as GCC's device libgomp names it."""
    return -2


cdef public int32_t omp_get_initial_device_() noexcept nogil:
    """Fortran."""
    return -2


cdef public int omp_get_default_device() noexcept nogil:
    """Always the first."""
    return 0


cdef public int32_t omp_get_default_device_() noexcept nogil:
    """Fortran."""
    return 0


cdef public void omp_set_default_device(int number) noexcept nogil:
    """Nothing to choose from."""
    pass


cdef public void omp_set_default_device_(const int32_t *number) noexcept nogil:
    """Fortran."""
    pass


cdef public void omp_set_default_device_8_(const int64_t *number) noexcept nogil:
    """Fortran, 8-byte integers."""
    pass


cdef public int omp_pause_resource(int kind, int device) noexcept nogil:
    """Refused, as on GCC's devices."""
    return -1


cdef public int32_t omp_pause_resource_(const int32_t *kind, const int32_t *device) noexcept nogil:
    """Fortran."""
    return -1


cdef public int omp_pause_resource_all(int kind) noexcept nogil:
    """Refused."""
    return -1


cdef public int32_t omp_pause_resource_all_(const int32_t *kind) noexcept nogil:
    """Fortran."""
    return -1


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
    control.death.image_pc = image_address_on_stack(stack_pointer())
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


cdef extern from *:
    """
    static uintptr_t mic_stack_pointer (void) { return (uintptr_t) __builtin_frame_address (0); }
    """
    uintptr_t stack_pointer "mic_stack_pointer"() nogil
