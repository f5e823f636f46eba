# Calls that need no program.

cdef public const char *nvrtcGetErrorString(int result) noexcept nogil:
    """A result's name."""
    return nvrtc_result_name(result)


cdef public int nvrtcVersion(int *major, int *minor) noexcept nogil:
    """The version of the interface."""
    if major == NULL or minor == NULL:
        return NVRTC_ERROR_INVALID_INPUT
    major[0], minor[0] = NVRTC_MAJOR, NVRTC_MINOR
    return NVRTC_SUCCESS


cdef public int nvrtcGetNumSupportedArchs(int *count) noexcept nogil:
    """How many architectures there are."""
    if count == NULL:
        return NVRTC_ERROR_INVALID_INPUT
    count[0] = NVRTC_ARCHITECTURES
    return NVRTC_SUCCESS


cdef public int nvrtcGetSupportedArchs(int *numbers) noexcept nogil:
    """Their numbers, rising."""
    if numbers == NULL:
        return NVRTC_ERROR_INVALID_INPUT
    for i in range(NVRTC_ARCHITECTURES):
        numbers[i] = nvrtc_architectures[i]
    return NVRTC_SUCCESS
