# Loading plugins and asking for their GOMP_OFFLOAD_* functions (libgomp: gomp_load_plugin_for_device).

cdef enum:
    MAX_PLUGINS = 16
    REASON_SIZE = 512

cdef struct PluginReason:
    # A plugin that gives no device, and why.
    char name[64]
    char text[REASON_SIZE]

cdef PluginReason plugin_reasons[MAX_PLUGINS]
cdef int num_plugin_reasons


cdef void print_plugin_reasons() noexcept nogil:
    cdef int i
    if target_offload == OFFLOAD_DISABLED:
        gompy_note(b"no device: OMP_TARGET_OFFLOAD is set to DISABLED")
    for i in range(num_plugin_reasons):
        gompy_note(b"no device of plugin %s: %s", plugin_reasons[i].name, plugin_reasons[i].text)


cdef void refuse_plugin(const char *name, const char *text, bint tell) noexcept nogil:
    """Keep the reason why a plugin is not used; tell the user at once if it is a defect."""
    global num_plugin_reasons
    if num_plugin_reasons < MAX_PLUGINS:
        snprintf(plugin_reasons[num_plugin_reasons].name, 64, b"%s", name)
        snprintf(plugin_reasons[num_plugin_reasons].text, REASON_SIZE, b"%s", text)
        num_plugin_reasons += 1
    if tell:
        gompy_error(b"while loading libgomp-plugin-%s.so.1: %s", name, text)
    else:
        gompy_debug(b"plugin %s: %s\n", name, text)


cdef void *open_plugin(const char *name, char *reason) noexcept nogil:
    """dlopen a plugin: from libgompy's own folder, else wherever the dynamic linker looks."""
    cdef char path[4096]
    cdef Dl_info info
    cdef const char *slash
    cdef void *handle
    cdef const char *error
    if dladdr(<void *> &open_plugin, &info) and info.dli_fname != NULL:
        slash = strrchr(info.dli_fname, c'/')
        if slash != NULL:
            snprintf(path, sizeof(path), b"%.*s/libgomp-plugin-%s.so.1", <int> (slash - info.dli_fname),
                     info.dli_fname, name)
            if access(path, F_OK) == 0:
                handle = dlopen(path, RTLD_LAZY)
                if handle == NULL:
                    error = dlerror()
                    snprintf(reason, REASON_SIZE, b"%s", or_text(error, b"dlopen failed"))
                return handle
    snprintf(path, sizeof(path), b"libgomp-plugin-%s.so.1", name)
    handle = dlopen(path, RTLD_LAZY)
    if handle == NULL:
        error = dlerror()
        snprintf(reason, REASON_SIZE, b"%s", or_text(error, b"dlopen failed"))
    return handle


cdef bint plugin_symbol(void *handle, const char *name, void **place, const char **missing) noexcept nogil:
    """Look GOMP_OFFLOAD_<name> up; remember the first one that is missing."""
    cdef char symbol[96]
    snprintf(symbol, sizeof(symbol), b"GOMP_OFFLOAD_%s", name)
    place[0] = dlsym(handle, symbol)
    if place[0] == NULL:
        if missing[0] == NULL:
            missing[0] = name
        return False
    return True


cdef bint openacc_complete(void *handle, PluginOps *ops, char *reason) noexcept nogil:
    """A plugin that says it can OpenACC must have all of its functions; CUDA's four all or none."""
    cdef const char *missing = NULL
    cdef int cuda = 0
    plugin_symbol(handle, b"openacc_exec", <void **> &ops.acc_exec, &missing)
    plugin_symbol(handle, b"openacc_create_thread_data", <void **> &ops.acc_create_thread_data, &missing)
    plugin_symbol(handle, b"openacc_destroy_thread_data", <void **> &ops.acc_destroy_thread_data, &missing)
    plugin_symbol(handle, b"openacc_async_construct", <void **> &ops.acc_async_construct, &missing)
    plugin_symbol(handle, b"openacc_async_destruct", <void **> &ops.acc_async_destruct, &missing)
    plugin_symbol(handle, b"openacc_async_test", <void **> &ops.acc_async_test, &missing)
    plugin_symbol(handle, b"openacc_async_synchronize", <void **> &ops.acc_async_synchronize, &missing)
    plugin_symbol(handle, b"openacc_async_serialize", <void **> &ops.acc_async_serialize, &missing)
    plugin_symbol(handle, b"openacc_async_queue_callback", <void **> &ops.acc_async_queue_callback, &missing)
    plugin_symbol(handle, b"openacc_async_exec", <void **> &ops.acc_async_exec, &missing)
    plugin_symbol(handle, b"openacc_async_dev2host", <void **> &ops.acc_async_dev2host, &missing)
    plugin_symbol(handle, b"openacc_async_host2dev", <void **> &ops.acc_async_host2dev, &missing)
    plugin_symbol(handle, b"openacc_get_property", <void **> &ops.acc_get_property, &missing)
    if missing != NULL:
        snprintf(reason, REASON_SIZE, b"plugin missing OpenACC handler function (GOMP_OFFLOAD_%s)", missing)
        return False
    missing = NULL
    cuda += plugin_symbol(
        handle, b"openacc_cuda_get_current_device", <void **> &ops.acc_cuda_get_current_device, &missing
    )
    cuda += plugin_symbol(
        handle, b"openacc_cuda_get_current_context", <void **> &ops.acc_cuda_get_current_context, &missing
    )
    cuda += plugin_symbol(handle, b"openacc_cuda_get_stream", <void **> &ops.acc_cuda_get_stream, &missing)
    cuda += plugin_symbol(handle, b"openacc_cuda_set_stream", <void **> &ops.acc_cuda_set_stream, &missing)
    if cuda != 0 and cuda != 4:
        snprintf(reason, REASON_SIZE, b"plugin missing OpenACC CUDA handler function (GOMP_OFFLOAD_%s)", missing)
        return False
    plugin_symbol(handle, b"openacc_async_dev2dev", <void **> &ops.acc_async_dev2dev, &missing)
    ops.extent = <ops_extent_fn> dlsym(handle, b"gompy_block_extent")
    return True


cdef void find_checks(void *handle, PluginOps *ops) noexcept nogil:
    """What a plugin knows of its memory for `gompy run --check`."""
    ops.mark_stale = <ops_stale_fn> dlsym(handle, b"gompy_mark_stale")
    ops.stale_left = <ops_stale_fn> dlsym(handle, b"gompy_stale_left")
    ops.find_unset = <ops_stale_fn> dlsym(handle, b"gompy_find_unset")
    ops.may_be_written = <ops_written_fn> dlsym(handle, b"gompy_may_be_written")
    ops.may_be_unset = <ops_written_fn> dlsym(handle, b"gompy_may_be_unset")
    ops.new_contents = <ops_stale_fn> dlsym(handle, b"gompy_new_contents")
    ops.use_memory = <ops_use_fn> dlsym(handle, b"gompy_use_memory")
    ops.hold_memory = <ops_hold_fn> dlsym(handle, b"gompy_hold_memory")
    ops.check_spent = <ops_spent_fn> dlsym(handle, b"gompy_check_spent")
    ops.check_less = <ops_less_fn> dlsym(handle, b"gompy_check_less")


cdef bint load_plugin(const char *name, PluginOps *ops, unsigned *caps, bint asked_for) noexcept nogil:
    """Fill a plugin's function table; False and a kept reason if it cannot be used.

    asked_for: the user named it (GOMPY_PLUGINS), so its absence is worth a message.
    """
    cdef char reason[REASON_SIZE]
    cdef const char *missing = NULL
    cdef const char *optional = NULL
    cdef void *handle = open_plugin(name, reason)
    memset(ops, 0, sizeof(ops[0]))
    if handle == NULL:
        refuse_plugin(name, reason, asked_for)
        return False
    plugin_symbol(handle, b"version", <void **> &ops.version, &missing)
    # GOMP_VERSION 2 and 3 gave get_num_devices and load_image more arguments: older plugins do not look at them.
    if missing == NULL and not GOMP_VERSION <= plugin_version(ops) <= GOMP_VERSION_NEWEST:
        snprintf(reason, REASON_SIZE, b"plugin version mismatch (it has %u, this libgompy needs %u to %u)",
                 plugin_version(ops),
                 <unsigned> GOMP_VERSION, <unsigned> GOMP_VERSION_NEWEST)
        refuse_plugin(name, reason, True)
        dlclose(handle)
        return False
    if missing == NULL:
        ops.interface = plugin_version(ops)
    plugin_symbol(handle, b"get_name", <void **> &ops.get_name, &missing)
    plugin_symbol(handle, b"get_caps", <void **> &ops.get_caps, &missing)
    plugin_symbol(handle, b"get_type", <void **> &ops.get_type, &missing)
    plugin_symbol(handle, b"get_num_devices", <void **> &ops.get_num_devices, &missing)
    plugin_symbol(handle, b"init_device", <void **> &ops.init_device, &missing)
    plugin_symbol(handle, b"fini_device", <void **> &ops.fini_device, &missing)
    plugin_symbol(handle, b"load_image", <void **> &ops.load_image, &missing)
    plugin_symbol(handle, b"unload_image", <void **> &ops.unload_image, &missing)
    plugin_symbol(handle, b"alloc", <void **> &ops.alloc, &missing)
    plugin_symbol(handle, b"free", <void **> &ops.free, &missing)
    plugin_symbol(handle, b"dev2host", <void **> &ops.dev2host, &missing)
    plugin_symbol(handle, b"host2dev", <void **> &ops.host2dev, &missing)
    ops.run_kernel = <ops_run_kernel_fn> dlsym(handle, b"gompy_run_kernel")
    ops.start_region = <ops_start_region_fn> dlsym(handle, b"gompy_start_region")
    ops.await_region = <ops_await_region_fn> dlsym(handle, b"gompy_await_region")
    if ops.await_region == NULL:
        ops.start_region = NULL
    ops.alloc_common = <ops_alloc_common_fn> dlsym(handle, b"gompy_alloc_common")
    ops.free_common = <ops_free_common_fn> dlsym(handle, b"gompy_free_common")
    if ops.free_common == NULL:
        ops.alloc_common = NULL
    ops.fulfils = <ops_unsigned_fn> dlsym(handle, b"gompy_fulfils")
    ops.sets_icvs = <ops_device_fn> dlsym(handle, b"gompy_sets_icvs")
    ops.view = <ops_view_fn> dlsym(handle, b"gompy_device_view")
    ops.guard_step = <ops_guard_step_fn> dlsym(handle, b"gompy_guard_step")
    ops.guard = <ops_guard_fn> dlsym(handle, b"gompy_guard")
    ops.alloc_words = <ops_alloc_fn> dlsym(handle, b"gompy_alloc_words")
    find_checks(handle, ops)
    if plugin_symbol(handle, b"interop", <void **> &ops.interop, &optional):
        plugin_symbol(handle, b"get_interop_int", <void **> &ops.interop_int, &missing)
        plugin_symbol(handle, b"get_interop_ptr", <void **> &ops.interop_ptr, &missing)
        plugin_symbol(handle, b"get_interop_str", <void **> &ops.interop_str, &missing)
        plugin_symbol(handle, b"get_interop_type_desc", <void **> &ops.interop_type, &missing)
    plugin_symbol(handle, b"get_uid", <void **> &ops.get_uid, &optional)
    plugin_symbol(handle, b"is_accessible_ptr", <void **> &ops.is_accessible, &optional)
    if missing == NULL:
        caps[0] = plugin_caps(ops)
        if caps[0] & GOMP_OFFLOAD_CAP_OPENMP_400:
            plugin_symbol(handle, b"run", <void **> &ops.run, &missing)
            plugin_symbol(handle, b"dev2dev", <void **> &ops.dev2dev, &missing)
            plugin_symbol(handle, b"async_run", <void **> &ops.async_run, &optional)
            plugin_symbol(handle, b"can_run", <void **> &ops.can_run, &optional)
    if missing != NULL:
        snprintf(reason, REASON_SIZE, b"undefined symbol: GOMP_OFFLOAD_%s", missing)
        refuse_plugin(name, reason, True)
        dlclose(handle)
        return False
    if caps[0] & GOMP_OFFLOAD_CAP_OPENACC_200 and not openacc_complete(handle, ops, reason):
        refuse_plugin(name, reason, True)
        dlclose(handle)
        return False
    return True
