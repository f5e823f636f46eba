# What OpenMP's and OpenACC's device routines answer in a region; values: those of GCC 12's nvptx libgomp.  What is
# included before defines device_number ().


cdef public int omp_is_initial_device() noexcept nogil:
    """Never."""
    return 0


cdef public int32_t omp_is_initial_device_() noexcept nogil:
    """Fortran."""
    return 0


cdef public int omp_get_device_num() noexcept nogil:
    """This device's number."""
    return device_number()


cdef public int32_t omp_get_device_num_() noexcept nogil:
    """Fortran."""
    return device_number()


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


cdef public int acc_on_device(int type) noexcept nogil:
    """Whether the caller runs on a device of a type: acc_device_not_host, or 6, the Intel MIC's."""
    return type == 4 or type == 6


cdef public int32_t acc_on_device_h_(const int32_t *type) noexcept nogil:
    """Fortran."""
    return acc_on_device(type[0])
