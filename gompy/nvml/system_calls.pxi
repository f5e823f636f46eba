# nvmlInit, nvmlSystem*: start and versions.

cdef extern from *:
    """
    #include "gompy/native/nvml_version.h"
    """
    const char *GOMPY_VERSION


cdef public int nvmlInitWithFlags(unsigned flags) noexcept nogil:
    """Begin; to be undone by nvmlShutdown as often.  Flags: having no GPU is no error (1)."""
    global starts
    cdef int r = NVML_SUCCESS
    pthread_mutex_lock(&nvml_lock)
    if starts == 0:
        r = ask_driver()
    if r == NVML_SUCCESS and device_count == 0 and not flags & NVML_INIT_FLAG_NO_GPUS:
        r = NVML_ERROR_GPU_NOT_FOUND
    if r == NVML_SUCCESS:
        starts += 1
    pthread_mutex_unlock(&nvml_lock)
    return r


cdef public int nvmlInit_v2() noexcept nogil:
    """Begin."""
    return nvmlInitWithFlags(0)


cdef public int nvmlInit() noexcept nogil:
    """The name before NVML 5."""
    return nvmlInitWithFlags(0)


cdef public int nvmlShutdown() noexcept nogil:
    """Undo one nvmlInit."""
    global starts
    pthread_mutex_lock(&nvml_lock)
    starts -= starts > 0
    pthread_mutex_unlock(&nvml_lock)
    return NVML_SUCCESS


cdef public int nvmlSystemGetDriverVersion(char *to, unsigned room) noexcept nogil:
    """The driver is gompy's, and so is its version."""
    return answer_text(to, room, GOMPY_VERSION)


cdef public int nvmlSystemGetNVMLVersion(char *to, unsigned room) noexcept nogil:
    """The same."""
    return answer_text(to, room, GOMPY_VERSION)


cdef public int nvmlSystemGetCudaDriverVersion(int *to) noexcept nogil:
    """cuDriverGetVersion's answer, which GOMPY_CUDA_VERSION sets: 13000."""
    if device_count == 0:
        return NVML_ERROR_NOT_FOUND
    to[0] = devices[0].driver_version
    return NVML_SUCCESS


cdef public int nvmlSystemGetCudaDriverVersion_v2(int *to) noexcept nogil:
    """The same: there is no other driver to ask."""
    return nvmlSystemGetCudaDriverVersion(to)


cdef public int nvmlSystemGetProcessName(unsigned pid, char *to, unsigned room) noexcept nogil:
    """The program of a process, cut to the buffer."""
    cdef char path[64]
    cdef char name[4096]
    cdef ssize_t n
    snprintf(path, sizeof(path), b"/proc/%u/exe", pid)
    n = readlink(path, name, sizeof(name) - 1)
    if n < 0:
        return NVML_ERROR_NO_PERMISSION if errno != 2 else NVML_ERROR_NOT_FOUND
    name[n] = 0
    snprintf(to, room, b"%s", name)
    return NVML_SUCCESS


cdef public int nvmlGetExcludedDeviceCount(unsigned *to) noexcept nogil:
    """None."""
    to[0] = 0
    return NVML_SUCCESS


cdef public int nvmlUnitGetCount(unsigned *to) noexcept nogil:
    """None."""
    to[0] = 0
    return NVML_SUCCESS
