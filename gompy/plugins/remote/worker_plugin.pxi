# The plugin that a worker drives.

from gompy.native.dlfcn cimport RTLD_NOW, dlerror, dlopen, dlsym

cdef struct Driven:
    # Its functions.
    unsigned (*get_caps)() noexcept nogil
    int (*get_type)() noexcept nogil
    int (*get_num_devices)(unsigned) noexcept nogil
    c_bool (*init_device)(int) noexcept nogil
    c_bool (*fini_device)(int) noexcept nogil
    int (*load_image)(int, unsigned, const void *, AddrPair **, uint64_t **, const uint64_t *) noexcept nogil
    c_bool (*unload_image)(int, unsigned, const void *) noexcept nogil
    void *(*alloc)(int, size_t) noexcept nogil
    c_bool (*free)(int, void *) noexcept nogil
    c_bool (*to_device)(int, void *, const void *, size_t) noexcept nogil
    c_bool (*to_host)(int, void *, const void *, size_t) noexcept nogil
    c_bool (*within)(int, void *, const void *, size_t) noexcept nogil
    void (*run)(int, void *, void *, void **) noexcept nogil
    uint64_t (*start_region)(int, void *, void *, void **) noexcept nogil
    void (*await_region)(int, uint64_t) noexcept nogil
    size_t (*guard_step)(int) noexcept nogil
    bint (*guard)(int, uintptr_t, size_t) noexcept nogil
    char *(*device_view)(int, const void *, size_t, bint) noexcept nogil
    void *(*thread_data)(int) noexcept nogil
    void (*acc_exec)(void *, size_t, void **, void **, unsigned *, void *) noexcept nogil
    size_t (*property)(int, int) noexcept nogil

cdef Driven driven
cdef int device  # its number
cdef bint device_started
cdef void *acc_data


cdef public void *GOMP_PLUGIN_malloc(size_t size) noexcept nogil:
    return malloc(size)


cdef public void GOMP_PLUGIN_target_task_completion(void *data) noexcept nogil:
    """Not called: a worker uses no async_run."""


cdef public void *GOMP_PLUGIN_acc_thread() noexcept nogil:
    """The device that openacc_exec is for."""
    return acc_data


cdef public int GOMP_PLUGIN_acc_default_dim(unsigned dim) noexcept nogil:
    return 0


cdef bint find_function(void *handle, const char *name, void **place) noexcept nogil:
    place[0] = dlsym(handle, name)
    if place[0] == NULL:
        snprintf(reasons, sizeof(reasons), b"its plugin lacks %s", name)
    return place[0] != NULL


cdef bint open_plugin(const char *folder, const char *kind) noexcept nogil:
    """Load it.  False: `reasons` tells why."""
    cdef char path[8192]
    cdef void *handle
    cdef Driven *d = &driven
    snprintf(path, sizeof(path), b"%s/libgomp-plugin-%s.so.1", folder, kind)
    handle = dlopen(path, RTLD_NOW)
    if handle == NULL:
        snprintf(reasons, sizeof(reasons), b"%s", dlerror())
        return False
    d.start_region = <uint64_t (*)(int, void *, void *, void **) noexcept nogil>dlsym(handle, b"gompy_start_region")
    d.await_region = <void (*)(int, uint64_t) noexcept nogil>dlsym(handle, b"gompy_await_region")
    d.guard_step = <size_t (*)(int) noexcept nogil>dlsym(handle, b"gompy_guard_step")
    d.guard = <bint (*)(int, uintptr_t, size_t) noexcept nogil>dlsym(handle, b"gompy_guard")
    d.device_view = <char *(*)(int, const void *, size_t, bint) noexcept nogil>dlsym(handle, b"gompy_device_view")
    return (
        find_function(handle, b"GOMP_OFFLOAD_get_caps", <void **>&d.get_caps)
        and find_function(handle, b"GOMP_OFFLOAD_get_type", <void **>&d.get_type)
        and find_function(handle, b"GOMP_OFFLOAD_get_num_devices", <void **>&d.get_num_devices)
        and find_function(handle, b"GOMP_OFFLOAD_init_device", <void **>&d.init_device)
        and find_function(handle, b"GOMP_OFFLOAD_fini_device", <void **>&d.fini_device)
        and find_function(handle, b"GOMP_OFFLOAD_load_image", <void **>&d.load_image)
        and find_function(handle, b"GOMP_OFFLOAD_unload_image", <void **>&d.unload_image)
        and find_function(handle, b"GOMP_OFFLOAD_alloc", <void **>&d.alloc)
        and find_function(handle, b"GOMP_OFFLOAD_free", <void **>&d.free)
        and find_function(handle, b"GOMP_OFFLOAD_host2dev", <void **>&d.to_device)
        and find_function(handle, b"GOMP_OFFLOAD_dev2host", <void **>&d.to_host)
        and find_function(handle, b"GOMP_OFFLOAD_dev2dev", <void **>&d.within)
        and find_function(handle, b"GOMP_OFFLOAD_run", <void **>&d.run)
        and find_function(handle, b"GOMP_OFFLOAD_openacc_create_thread_data", <void **>&d.thread_data)
        and find_function(handle, b"GOMP_OFFLOAD_openacc_exec", <void **>&d.acc_exec)
        and find_function(handle, b"GOMP_OFFLOAD_openacc_get_property", <void **>&d.property)
    )
