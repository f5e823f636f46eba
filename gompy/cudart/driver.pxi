# Which driver: the machine's own libcuda.so.1, or the emulated one (GOMPY_CUDA), as the nvptx plugin chooses.

cdef enum:
    TEXT = 512
    MAX_DEVICES = 32

cdef bint driver_chosen
cdef int driver_answer  # of all calls, where there is no device
cdef int driver_devices
cdef char driver_reason[TEXT]  # why a driver is not used


cdef int open_driver(const char *path) noexcept nogil:
    """Load a driver and count its devices; 0 and why not, or how many."""
    cdef const char *missing
    cdef int count = 0
    cdef int r
    cdef void *library = dlopen(path, RTLD_LAZY)
    global driver_answer
    driver_answer = cudaErrorInsufficientDriver
    if library == NULL:
        snprintf(driver_reason, TEXT, b"%s", dlerror())
        return 0
    missing = driver_load(library)
    if missing != NULL:
        snprintf(driver_reason, TEXT, b"%s has no %s", path, missing)
        return 0
    r = driver.init(0)
    if r == CUDA_SUCCESS:
        r = driver.device_count(&count)
    if r == CUDA_SUCCESS and count <= 0:
        r = CUDA_ERROR_NO_DEVICE
    if r != CUDA_SUCCESS:
        snprintf(driver_reason, TEXT, b"%s", cudart_error_text(r))
        driver_answer = r
        return 0
    driver_answer = CUDA_SUCCESS
    return count if count < MAX_DEVICES else MAX_DEVICES


cdef void choose_driver() noexcept nogil:
    """Do what GOMPY_CUDA says."""
    global driver_devices, driver_answer
    cdef char path[4096]
    cdef int choice = gompy_driver_choice()
    if choice == GOMPY_DRIVER_UNKNOWN:
        fprintf(stderr, b"libcudart (gompy): error: GOMPY_CUDA=%s is not one of real, emulated, auto\n",
                secure_getenv(b"GOMPY_CUDA"))
        driver_answer = cudaErrorInitializationError
        return
    if choice != GOMPY_DRIVER_EMULATED:
        driver_devices = open_driver(b"libcuda.so.1")
        if driver_devices or choice == GOMPY_DRIVER_REAL:
            return
    if not gompy_emulated_driver(path, sizeof(path)):
        if choice == GOMPY_DRIVER_EMULATED:
            fprintf(stderr, b"libcudart (gompy): error: GOMPY_CUDA=emulated, but there is no %s\n",
                    <const char *> path)
            driver_answer = cudaErrorInsufficientDriver
        return
    if (choice == GOMPY_DRIVER_AUTO and driver_answer != cudaErrorNoDevice
            and driver_answer != cudaErrorInsufficientDriver):
        return  # the machine's driver says that something is wrong with it
    driver_devices = open_driver(path)
    if driver_devices == 0 and choice == GOMPY_DRIVER_EMULATED:
        fprintf(stderr, b"libcudart (gompy): error: GOMPY_CUDA=emulated: %s\n", <const char *> driver_reason)
    elif driver_devices and choice == GOMPY_DRIVER_AUTO:
        fprintf(stderr, b"libcudart (gompy): no CUDA device, kernels run on the emulated GPU (GOMPY_CUDA=emulated or "
                        b"real to choose)\n")


cdef int enter_runtime() noexcept nogil:
    """What each call begins with: there is a driver with devices, or an error says why there is none."""
    global driver_chosen
    if not driver_chosen:
        pthread_mutex_lock(&runtime_lock)
        if not driver_chosen:
            choose_driver()
            driver_chosen = True
        pthread_mutex_unlock(&runtime_lock)
    return driver_answer
