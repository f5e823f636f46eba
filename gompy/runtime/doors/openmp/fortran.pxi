# Fortran's names (libgomp: fortran.c).  omp_target_* have none: their interfaces are bind(c).


cdef public int omp_get_num_devices_() noexcept nogil:
    return omp_get_num_devices()


cdef public int omp_is_initial_device_() noexcept nogil:
    return omp_is_initial_device()


cdef public int omp_get_initial_device_() noexcept nogil:
    return omp_get_initial_device()


cdef public int omp_get_device_num_() noexcept nogil:
    return omp_get_device_num()


cdef public int omp_get_default_device_() noexcept nogil:
    return omp_get_default_device()


cdef public void omp_set_default_device_(const int32_t *device) noexcept nogil:
    omp_set_default_device(device[0])


cdef public void omp_set_default_device_8_(const int64_t *device) noexcept nogil:
    cdef int64_t n = device[0]
    omp_set_default_device(INT_MAX if n > INT_MAX else -INT_MAX - 1 if n < -INT_MAX - 1 else <int> n)


cdef public int omp_pause_resource_(const int32_t *kind, const int32_t *device) noexcept nogil:
    return omp_pause_resource(kind[0], device[0])


cdef public int omp_pause_resource_all_(const int32_t *kind) noexcept nogil:
    return omp_pause_resource_all(kind[0])
