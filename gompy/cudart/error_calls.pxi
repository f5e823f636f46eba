# Errors and versions.

cdef public int cudaGetLastError() noexcept nogil:
    """The last error of this thread; one of a kernel that broke the context comes back with the next call."""
    cdef int r = runtime_thread.last_error
    runtime_thread.last_error = CUDA_SUCCESS
    return r


cdef public int cudaPeekAtLastError() noexcept nogil:
    """The same, and it stays."""
    return runtime_thread.last_error


cdef public const char *cudaGetErrorName(int error) noexcept nogil:
    """A result's name."""
    cdef const char *name = cudart_error_name(error)
    if name == NULL:
        return b"unrecognized error code"
    return name


cdef public const char *cudaGetErrorString(int error) noexcept nogil:
    """A result's words."""
    cdef const char *text = cudart_error_text(error)
    if text == NULL:
        return b"unrecognized error code"
    return text


cdef public int cudaDriverGetVersion(int *version) noexcept nogil:
    """The driver's version; 0 without a driver."""
    if version == NULL:
        return note_error(cudaErrorInvalidValue)
    version[0] = 0
    if enter_runtime() == cudaErrorInsufficientDriver:
        return CUDA_SUCCESS
    return note_error(driver.driver_version(version))


cdef public int cudaRuntimeGetVersion(int *version) noexcept nogil:
    """This library's."""
    if version == NULL:
        return note_error(cudaErrorInvalidValue)
    version[0] = CUDART_VERSION
    return CUDA_SUCCESS


cdef public int cudaProfilerStart() noexcept nogil:
    """There is no profiler."""
    return note_error(enter_device())


cdef public int cudaProfilerStop() noexcept nogil:
    """There is no profiler."""
    return note_error(enter_device())
