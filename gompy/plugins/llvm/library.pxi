# LLVM's plugin: found, loaded, its functions.

cdef enum:
    KIND_DEFAULT = 3  # TargetAllocTy: what the device takes

cdef struct RtlHandle:
    # 18: what stands for an image on a device (__tgt_device_binary).
    uintptr_t word

cdef struct LlvmRtl:
    # Its functions; NULL where a release has none.
    int32_t (*init_plugin)() noexcept nogil
    int32_t (*is_valid_binary)(TgtDeviceImage *) noexcept nogil
    int32_t (*number_of_devices)() noexcept nogil
    int64_t (*init_requires)(int64_t) noexcept nogil
    int32_t (*init_device)(int32_t) noexcept nogil
    void *(*load_binary)(int32_t, TgtDeviceImage *, RtlHandle *) noexcept nogil
    int32_t (*get_global)(RtlHandle, uint64_t, const char *, void **) noexcept nogil
    int32_t (*get_function)(RtlHandle, const char *, void **) noexcept nogil
    void *(*data_alloc)(int32_t, int64_t, void *, int32_t) noexcept nogil
    int32_t (*data_delete)(int32_t, void *, int32_t) noexcept nogil
    int32_t (*data_submit)(int32_t, void *, void *, int64_t) noexcept nogil
    int32_t (*data_retrieve)(int32_t, void *, void *, int64_t) noexcept nogil
    int32_t (*launch_kernel)(int32_t, void *, void **, ptrdiff_t *, TgtKernelArgs *, void **) noexcept nogil
    int32_t (*run_team_region)(int32_t, void *, void **, ptrdiff_t *, int32_t, int32_t, int32_t,
                               uint64_t) noexcept nogil
    int32_t (*synchronize)(int32_t, void **) noexcept nogil

cdef LlvmRtl rtl
cdef bint rtl_by_name  # 18: entries are asked for one by one, and launches get a word of the runtime's
cdef bint rtl_for_gpus  # it takes machine code of NVIDIA's
cdef bint rtl_refused
cdef bint rtl_is_older  # takes an image for its table of entries, and functions by their addresses


cdef void *opened_library(const char *name) noexcept nogil:
    """LLVM's plugin by its path; by its name where the dynamic linker looks, then beside LLVM's libraries; or NULL."""
    cdef char path[256]
    cdef void *handle = NULL
    cdef int release
    if strchr(name, c'/') != NULL:
        return dlopen(name, RTLD_NOW | RTLD_LOCAL)
    snprintf(path, sizeof(path), b"libomptarget.rtl.%s.so", name)
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)
    for release in range(18, 13, -1):
        if handle == NULL:
            snprintf(path, sizeof(path), b"/usr/lib/llvm-%d/lib/libomptarget.rtl.%s.nextgen.so", release, name)
            handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)
        if handle == NULL:
            snprintf(path, sizeof(path), b"/usr/lib/llvm-%d/lib/libomptarget.rtl.%s.so", release, name)
            handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)
    return handle


cdef void *function_of(void *handle, const char *name) noexcept nogil:
    cdef char symbol[64]
    snprintf(symbol, sizeof(symbol), b"__tgt_rtl_%s", name)
    return dlsym(handle, symbol)


cdef void find_functions(void *handle) noexcept nogil:
    """Fill the table: the names stand in the order of LlvmRtl's fields."""
    global rtl_by_name, rtl_is_older
    cdef const char **names = [
        b"init_plugin", b"is_valid_binary", b"number_of_devices", b"init_requires", b"init_device", b"load_binary",
        b"get_global", b"get_function", b"data_alloc", b"data_delete", b"data_submit", b"data_retrieve",
        b"launch_kernel", b"run_target_team_region", b"synchronize", NULL,
    ]
    cdef void **to = <void **> &rtl
    cdef size_t i
    for i in range(sizeof(rtl) // sizeof(void *)):
        to[i] = function_of(handle, names[i])
    rtl_by_name = rtl.get_function != NULL
    rtl_is_older = rtl.init_plugin == NULL


cdef bint is_complete() noexcept nogil:
    """Whether all is there that this plugin calls."""
    return (rtl.is_valid_binary != NULL and rtl.number_of_devices != NULL and rtl.init_device != NULL
            and rtl.load_binary != NULL and rtl.data_alloc != NULL and rtl.data_delete != NULL
            and rtl.data_submit != NULL and rtl.data_retrieve != NULL
            and (rtl.launch_kernel != NULL or rtl.run_team_region != NULL))


cdef bint open_library() noexcept nogil:
    """Load LLVM's plugin, once; False after a message."""
    global rtl_refused
    if rtl.number_of_devices == NULL and not rtl_refused:
        rtl_refused = not load_library()
    return not rtl_refused


cdef bint takes_image(const char *start, const char *end) noexcept nogil:
    """Whether LLVM's plugin takes an image."""
    cdef TgtDeviceImage image
    memset(&image, 0, sizeof(image))
    image.start = start
    image.end = end
    return rtl.is_valid_binary(&image) != 0


cdef bint load_library() noexcept nogil:
    global rtl_for_gpus
    cdef const char *name = secure_getenv(b"GOMPY_LLVM_RTL")
    cdef char head[128]
    cdef void *handle
    if name == NULL or not name[0]:
        name = b"x86_64"
    handle = opened_library(name)
    if handle == NULL:
        GOMP_PLUGIN_error(b"GOMPY_LLVM_RTL=%s: no such plugin of LLVM 14 to 18 (%s): install libomp-16-dev, or name "
                          b"its file", name, dlerror())
        return False
    if function_of(handle, b"is_gompy") != NULL:
        GOMP_PLUGIN_error(b"GOMPY_LLVM_RTL=%s: that is gompy's own plugin for LLVM, whose folder LD_LIBRARY_PATH "
                          b"names: name LLVM's file", name)
        return False
    find_functions(handle)
    if is_complete() and (rtl.init_plugin == NULL or rtl.init_plugin() == 0):
        memset(head, 0, sizeof(head))
        gompy_wrap_ptx(head)
        rtl_for_gpus = takes_image(head, head + sizeof(head))
        return True
    rtl.number_of_devices = NULL
    GOMP_PLUGIN_error(b"GOMPY_LLVM_RTL=%s: not a plugin of LLVM 14 to 18", name)
    return False
