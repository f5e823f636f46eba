# The devices: what the driver in the same folder says of them.

cdef enum:
    MAX_DEVICES = 16

cdef gpu_description devices[MAX_DEVICES]
cdef int device_count
cdef int starts                # nvmlInit without nvmlShutdown; guarded by nvml_lock


cdef int ask_driver() noexcept nogil:
    """Fill the table of devices."""
    global device_count
    cdef Dl_info info
    cdef char path[4096]
    cdef const char *slash = NULL
    cdef void *driver
    cdef int (*count)() noexcept nogil
    cdef void (*describe)(int ordinal, gpu_description *to) noexcept nogil
    cdef int i, n
    if dladdr(<void *>&devices[0], &info) != 0 and info.dli_fname != NULL:
        slash = strrchr(info.dli_fname, 47)
    if slash == NULL:
        return NVML_ERROR_LIBRARY_NOT_FOUND
    snprintf(path, sizeof(path), b"%.*s/libcuda.so.1", <int>(slash - info.dli_fname), info.dli_fname)
    driver = dlopen(path, RTLD_NOW | RTLD_LOCAL)
    if driver == NULL:
        fprintf(stderr, b"libnvidia-ml (gompy): error: %s\n", dlerror())
        return NVML_ERROR_DRIVER_NOT_LOADED
    count = <int (*)() noexcept nogil>dlsym(driver, b"gompy_gpu_count")
    describe = <void (*)(int, gpu_description *) noexcept nogil>dlsym(driver, b"gompy_describe_gpu")
    if count == NULL or describe == NULL:
        fprintf(stderr, b"libnvidia-ml (gompy): error: %s is of another version of gompy\n", path)
        return NVML_ERROR_LIB_RM_VERSION_MISMATCH
    n = count()
    if n < 0:  # a line is out
        return NVML_ERROR_UNKNOWN
    for i in range(n):
        describe(i, &devices[i])
    device_count = n
    return NVML_SUCCESS


cdef public int nvml_started() noexcept nogil:
    """What each call begins with (calls.h)."""
    return NVML_SUCCESS if starts > 0 else NVML_ERROR_UNINITIALIZED


cdef public int nvml_device_or_error(const gpu_description *p) noexcept nogil:
    """Whether a word that the program passed is a device (calls.h)."""
    cdef size_t offset = <size_t>p - <size_t>&devices[0]
    if offset % sizeof(gpu_description) == 0 and offset / sizeof(gpu_description) < <size_t>device_count:
        return NVML_SUCCESS
    return NVML_ERROR_INVALID_ARGUMENT


cdef inline int number_of(const gpu_description *g) noexcept nogil:
    """A device's index."""
    return <int>(g - &devices[0])


cdef int answer_text(char *to, unsigned room, const char *text) noexcept nogil:
    """Copy a text to the program's buffer."""
    cdef size_t n = strlen(text) + 1
    if n > room:
        return NVML_ERROR_INSUFFICIENT_SIZE
    memcpy(to, text, n)
    return NVML_SUCCESS
