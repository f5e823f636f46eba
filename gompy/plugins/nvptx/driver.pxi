# Which driver: the machine's own libcuda.so.1, or the emulated one (GOMPY_CUDA); and how its errors are told.

cdef enum:
    DRIVER_UNKNOWN = 0  # nobody has asked for a device yet
    DRIVER_NONE = 1
    DRIVER_REAL = 2
    DRIVER_EMULATED = 3

    TEXT = 512

cdef int driver_kind
cdef int driver_devices  # how many it has
cdef bint driver_announced
cdef char driver_reason[TEXT]  # why the machine's own driver is not used
cdef bint driver_broken  # there is one, and it says that something is wrong with it
cdef char driver_version_text[30]
cdef CUresult context_lost  # an error that has been told and that every later call repeats; 0: none
cdef pthread_mutex_t driver_lock  # zeros are PTHREAD_MUTEX_INITIALIZER
cdef pid_t driver_process  # the process that has initialised it: a driver does not survive fork


cdef const char *error_text(CUresult rc) noexcept nogil:
    """The driver's words for an error."""
    cdef const char *text = NULL
    if cuda.error_string == NULL or cuda.error_string(rc, &text) != CUDA_SUCCESS or text == NULL:
        return b"unknown cuda error"
    return text


cdef const char *error_name(CUresult rc, char *room) noexcept nogil:
    """The driver's name of an error, else its number.  ``room``: TEXT bytes."""
    cdef const char *name = NULL
    if cuda.error_name != NULL and cuda.error_name(rc, &name) == CUDA_SUCCESS and name != NULL:
        return name
    snprintf(room, TEXT, b"error %d", rc)
    return room


cdef bint call_failed(CUresult rc, const char *what) noexcept nogil:
    """Tell of an error, if there is one and it is not what a lost context repeats; whether there is one."""
    global context_lost
    cdef char room[TEXT]
    if rc == CUDA_SUCCESS:
        return False
    if rc == context_lost:
        return True
    if cuda_is_sticky(rc):
        context_lost = rc
    GOMP_PLUGIN_error(b"%s error: %s (%s)", what, error_text(rc), error_name(rc, room))
    return True


cdef void must_succeed(CUresult rc, const char *what) noexcept nogil:
    """End the program with an error, if there is one."""
    global context_lost
    cdef char room[TEXT]
    if rc != CUDA_SUCCESS:
        if cuda_is_sticky(rc):
            context_lost = rc
        GOMP_PLUGIN_fatal(b"%s error: %s (%s)", what, error_text(rc), error_name(rc, room))


cdef bint wait_failed(CUresult rc, const char *what) noexcept nogil:
    """Tell of a wait's error, if there is one; whether there is.

    It is that of the work that was waited for, whatever its number: every later call repeats it.
    """
    global context_lost
    cdef bint failed = call_failed(rc, what)
    if failed:
        context_lost = rc
    return failed


cdef int open_driver(const char *path) noexcept nogil:
    """Load a driver and count its devices; 0 if it has none or cannot be used, with driver_reason set."""
    global driver_broken
    cdef char room[TEXT]
    cdef const char *missing
    cdef const char *what = b"cuInit"
    cdef int count = 0
    cdef CUresult rc
    cdef void *library = dlopen(path, RTLD_LAZY)
    if library == NULL:
        snprintf(driver_reason, TEXT, b"%s", dlerror())
        return 0
    missing = cuda_load(library)
    if missing != NULL:
        snprintf(driver_reason, TEXT, b"%s has no %s", path, missing)
        return 0
    rc = cuda.init(0)
    if rc == CUDA_SUCCESS:
        what = b"cuDeviceGetCount"
        rc = cuda.device_count(&count)
    if rc != CUDA_SUCCESS:
        snprintf(driver_reason, TEXT, b"%s: %s (%s)%s", what, error_text(rc), error_name(rc, room),
                 gompy_limit_hint(ENOMEM if rc == CUDA_ERROR_OUT_OF_MEMORY else 0))
        driver_broken = rc != CUDA_ERROR_NO_DEVICE
        return 0
    if count <= 0:
        snprintf(driver_reason, TEXT, b"the driver has no device")
        return 0
    return count


cdef bint kind_wanted() noexcept nogil:
    """Whether the program has code for this kind of device; under another runtime than libgompy nobody can tell."""
    cdef bint (*has_image)(int) noexcept nogil
    has_image = <bint (*)(int) noexcept nogil> dlsym(RTLD_DEFAULT, b"gompy_has_image")
    return has_image == NULL or has_image(GOMP_DEVICE_NVIDIA_PTX)


cdef void choose_driver() noexcept nogil:
    """Do what GOMPY_CUDA says, once; driver_kind and driver_devices are set afterwards."""
    global driver_kind, driver_devices, driver_process
    cdef char path[4096]
    cdef int choice = gompy_driver_choice()
    driver_kind = DRIVER_NONE
    driver_process = getpid()
    if choice == GOMPY_DRIVER_UNKNOWN:
        GOMP_PLUGIN_error(b"nvptx: GOMPY_CUDA=%s is not one of real, emulated, auto", secure_getenv(b"GOMPY_CUDA"))
        return
    if choice != GOMPY_DRIVER_EMULATED:
        driver_devices = open_driver(b"libcuda.so.1")
        if driver_devices:
            driver_kind = DRIVER_REAL
            return
        GOMP_PLUGIN_debug(0, b"nvptx: no CUDA device: %s\n", <const char *> driver_reason)
    if choice == GOMPY_DRIVER_EMULATED or (choice == GOMPY_DRIVER_AUTO and kind_wanted()):
        if not gompy_emulated_driver(path, sizeof(path)):
            if choice == GOMPY_DRIVER_EMULATED:
                GOMP_PLUGIN_error(b"nvptx: GOMPY_CUDA=emulated, but there is no %s", <const char *> path)
            return
        # With "auto", driver_reason goes on saying why it is not the machine's own.
        driver_devices = open_driver(path)
        if driver_devices:
            driver_kind = DRIVER_EMULATED
        elif choice == GOMPY_DRIVER_EMULATED:
            GOMP_PLUGIN_error(b"nvptx: GOMPY_CUDA=emulated: %s", <const char *> driver_reason)


cdef int count_devices() noexcept nogil:
    """The number of devices; 0 without a driver, and in a forked child of a process that has used it."""
    pthread_mutex_lock(&driver_lock)
    if driver_kind == DRIVER_UNKNOWN:
        choose_driver()
    pthread_mutex_unlock(&driver_lock)
    return driver_devices


cdef void announce_emulation() noexcept nogil:
    """One line, at the first use of an emulated device that nobody asked for by name."""
    global driver_announced
    cdef const char *why = b"no CUDA device"
    if driver_broken:
        why = driver_reason
    if driver_kind == DRIVER_EMULATED and not driver_announced and gompy_driver_choice() != GOMPY_DRIVER_EMULATED:
        fprintf(stderr, b"libgompy: nvptx: %s, regions run on the emulated GPU (GOMPY_CUDA=emulated or "
                        b"real to choose)\n", why)
    driver_announced = True
