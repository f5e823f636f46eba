# OpenACC's devices by type, and which of them a thread uses (libgomp: oacc-init.c).

cdef DeviceDescr acc_host  # the host as a device: shared memory, always there
cdef DeviceDescr *acc_types[9]  # first device of each type
cdef int acc_types_ready
cdef DeviceDescr *acc_cached_base  # the type that new threads use
cdef int acc_device_num  # and the number
cdef GoaccThread *acc_threads
cdef pthread_key_t acc_thread_key
cdef int acc_initializing
cdef pthread_t acc_init_thread


cdef inline GoaccThread *acc_thread() noexcept nogil:
    return <GoaccThread *> gompy_acc_thread


cdef inline bint acc_shared(DeviceDescr *dev) noexcept nogil:
    return dev.capabilities & GOMP_OFFLOAD_CAP_SHARED_MEM


cdef GoaccThread *acc_active_thread() noexcept nogil:
    """The thread's data.  Whatever a thread calls first gives it the default device, as a directive does: what is on a
    device is all threads'.  (libgomp 12 has no device for a thread that begins with acc_wait, acc_copyout or
    acc_memcpy_*, and ends the program, with a message or without.)"""
    cdef GoaccThread *thr = acc_thread()
    if thr == NULL or thr.dev == NULL:
        acc_lazy_initialize()
        thr = acc_thread()
    return thr


# --- devices by type
# -----------------------------------------------------------------------------------------------------

cdef uintptr_t host_property(int n, int property) noexcept nogil:
    if property == GOACC_PROPERTY_NAME:
        return <uintptr_t> <const char *> b"GOMP"
    if property == GOACC_PROPERTY_VENDOR:
        return <uintptr_t> <const char *> b"GNU"
    if property == GOACC_PROPERTY_DRIVER:
        return <uintptr_t> <const char *> b"1.0"
    return 0


cdef void acc_find_types() noexcept nogil:
    """Build the list of types, once."""
    cdef const char *text
    cdef DeviceDescr *dev
    cdef int i
    global acc_device_num
    get_num_devices()
    if gompy_load(&acc_types_ready):
        return
    gompy_lock_acquire(&gompy_acc_lock)
    if not acc_types_ready:
        acc_host.name = b"host"
        acc_host.type = ACC_DEVICE_HOST
        acc_host.capabilities = (
            GOMP_OFFLOAD_CAP_SHARED_MEM | GOMP_OFFLOAD_CAP_NATIVE_EXEC | GOMP_OFFLOAD_CAP_OPENACC_200
        )
        acc_host.ops.acc_get_property = host_property
        gompy_lock_init(&acc_host.lock)
        acc_types[ACC_DEVICE_HOST] = &acc_host
        for i in range(num_devices):
            dev = &devices[i]
            if not dev.capabilities & GOMP_OFFLOAD_CAP_OPENACC_200 or dev.target_id != 0:
                continue
            if ACC_DEVICE_NONE < dev.type < ACC_DEVICE_HWM:
                acc_types[dev.type] = dev
        text = secure_getenv(b"ACC_DEVICE_NUM")
        if text != NULL and atoi(text) > 0:
            acc_device_num = atoi(text)
        pthread_key_create(&acc_thread_key, forget_acc_thread)
        gompy_store(&acc_types_ready, 1)
    gompy_lock_release(&gompy_acc_lock)


cdef inline int acc_count(DeviceDescr *base) noexcept nogil:
    """How many devices of a type there are."""
    if base == &acc_host:
        return 1
    return plugin_count(&base.ops, 0)


cdef inline bint acc_known_type(int type) noexcept nogil:
    return 0 <= type < ACC_DEVICE_HWM


cdef void acc_check_type(int type) noexcept nogil:
    if not acc_known_type(type):
        gompy_fatal(b"unknown device type %u", <unsigned> type)


cdef const char *acc_type_name(int type) noexcept nogil:
    if type == ACC_DEVICE_NONE:
        return b"none"
    if type == ACC_DEVICE_DEFAULT:
        return b"default"
    if type == ACC_DEVICE_HOST:
        return b"host"
    if type == ACC_DEVICE_NOT_HOST:
        return b"not_host"
    if type == ACC_DEVICE_NVIDIA:
        return b"nvidia"
    if type == ACC_DEVICE_RADEON:
        return b"radeon"
    if type == GOMP_DEVICE_INTEL_MIC:
        return b"intelmic"
    return b"unknown"


cdef const char *acc_plugin_name(DeviceDescr *dev) noexcept nogil:
    """The name that ACC_DEVICE_TYPE gives a plugin's devices."""
    if strcmp(dev.name, b"nvptx") == 0:
        return b"nvidia"
    if strcmp(dev.name, b"gcn") == 0:
        return b"radeon"
    return acc_type_name(dev.type) if strcmp(dev.name, b"remote") == 0 else dev.name


cdef const char *acc_type_missing(const char *name) noexcept nogil:
    """Why there is no device of a type that has a name, in the words of the link that would bring one; or what is
    empty.
    """
    if word_is(name, b"nvidia") and not has_image_of(GOMP_DEVICE_NVIDIA_PTX):
        return b": the program has no code for it; link it with -foffload=nvptx-none"
    if word_is(name, b"radeon") and not has_image_of(GOMP_DEVICE_GCN):
        return b": the program has no code for it; link it with -foffload=amdgcn-amdhsa"
    if word_is(name, b"intelmic") and not has_image_of(GOMP_DEVICE_INTEL_MIC):
        return b": the program has no code for it; link it by gompcc, with -foffload=intelmic"
    return b""


cdef DeviceDescr *acc_unsupported(bint fatal, const char *name) noexcept nogil:
    """There is no device of a type; gompy_acc_lock is held."""
    if fatal:
        gompy_lock_release(&gompy_acc_lock)
        print_plugin_reasons()
        gompy_fatal(b"device type %s not supported%s", name, acc_type_missing(name))
    return NULL


cdef DeviceDescr *acc_resolve(int type, bint fatal) noexcept nogil:
    """The first device of a type.

    gompy_acc_lock is held; without such a device NULL or, if fatal, the program's end.
    """
    cdef const char *wanted
    cdef int i
    if type == ACC_DEVICE_DEFAULT:
        wanted = secure_getenv(b"ACC_DEVICE_TYPE")
        if wanted != NULL and wanted[0]:
            for i in range(ACC_DEVICE_HOST, ACC_DEVICE_HWM):
                if acc_types[i] != NULL and acc_count(acc_types[i]) > 0 \
                        and word_is(wanted, acc_plugin_name(acc_types[i])):
                    return acc_types[i]
            return acc_unsupported(fatal, wanted)
    if type == ACC_DEVICE_DEFAULT or type == ACC_DEVICE_NOT_HOST:
        for i in range(ACC_DEVICE_NOT_HOST + 1, ACC_DEVICE_HWM):
            if acc_types[i] != NULL and acc_count(acc_types[i]) > 0:
                return acc_types[i]
        if type == ACC_DEVICE_DEFAULT:
            return &acc_host
        if fatal:
            gompy_lock_release(&gompy_acc_lock)
            print_plugin_reasons()
            gompy_fatal(b"no device found")
        return NULL
    if not acc_known_type(type) or acc_types[type] == NULL:
        return acc_unsupported(fatal, acc_type_name(type))
    return acc_types[type]


cdef void acc_out_of_range(int type, int number, int count) noexcept nogil:
    if count == 0:
        gompy_fatal(b"no devices of type %s available", acc_type_name(type))
    gompy_fatal(b"device %u out of range", <unsigned> number)


cdef void acc_start_device(DeviceDescr *dev) noexcept nogil:
    if dev == &acc_host:
        gompy_store(&dev.state, DEVICE_INITIALIZED)
    elif gompy_load(&dev.state) == DEVICE_UNINITIALIZED:
        init_device(dev)


cdef DeviceDescr *acc_init_type(int type, int construct, bint implicit) noexcept nogil:
    """Initialise the device of the default number of a type; gompy_acc_lock is held."""
    global acc_initializing, acc_init_thread
    cdef ProfScope scope
    cdef DeviceDescr *base
    cdef int count
    scope.on = prof_wanted(acc_thread())
    scope.construct.on = False
    acc_init_thread = pthread_self()
    gompy_store(&acc_initializing, 1)
    if scope.on:
        prof_fill(&scope, type, acc_device_num, ACC_ASYNC_SYNC)
        scope.event.parent_construct = construct
        scope.event.implicit = implicit
        scope.dev = NULL
        begin_construct(&scope.construct, b"acc_init", NULL, NULL, NULL, ACC_EV_DEVICE_INIT_START, &scope)
    base = acc_resolve(type, True)
    count = acc_count(base)
    if count <= 0 or acc_device_num >= count:
        gompy_lock_release(&gompy_acc_lock)
        acc_out_of_range(type, acc_device_num, count)
    if not implicit and base[acc_device_num].state == DEVICE_INITIALIZED:
        gompy_lock_release(&gompy_acc_lock)
        gompy_fatal(b"device already active")
    acc_start_device(&base[acc_device_num])
    leave_construct(&scope.construct, NULL)
    gompy_store(&acc_initializing, 0)
    return base


cdef bint acc_is_initializing() noexcept nogil:
    """Whether this very thread is in acc_init_type (a callback asks)."""
    return gompy_load(&acc_initializing) and acc_init_thread == pthread_self()


# --- threads
# ---------------------------------------------------------------------------------------------------------------

cdef void forget_acc_thread(void *data) noexcept nogil:
    """A thread ends."""
    cdef GoaccThread *thr = <GoaccThread *> data
    cdef GoaccThread **at = &acc_threads
    gompy_lock_acquire(&gompy_acc_lock)
    while at[0] != NULL and at[0] != thr:
        at = &at[0].next
    if at[0] == thr:
        at[0] = thr.next
        if thr.dev != NULL:
            device_end_thread(thr.dev, thr.target_tls)
        free(thr)
    gompy_lock_release(&gompy_acc_lock)


cdef void acc_forget_threads() noexcept nogil:
    """In a forked child: OpenACC begins anew."""
    global gompy_acc_thread, acc_threads, acc_cached_base
    gompy_lock_init(&gompy_acc_lock)
    gompy_lock_init(&gompy_prof_lock)
    gompy_lock_init(&gompy_gapped_lock)
    gompy_acc_thread = NULL
    acc_threads = NULL
    acc_cached_base = NULL


cdef void acc_attach_thread(int number) noexcept nogil:
    """Have the thread use device `number` of its type, or of the default one; -1: the default number."""
    global gompy_acc_thread, acc_threads
    cdef GoaccThread *thr = acc_thread()
    cdef DeviceDescr *base
    cdef int count
    if thr != NULL and thr.dev != NULL and (thr.dev.target_id == number or number < 0):
        return
    if number < 0:
        number = acc_device_num
    base = thr.base_dev if thr != NULL and thr.base_dev != NULL else acc_cached_base
    count = acc_count(base)
    if count <= 0 or number >= count:
        acc_out_of_range(base.type, number, count)
    if thr == NULL:
        thr = <GoaccThread *> GOMP_PLUGIN_malloc_cleared(sizeof(GoaccThread))
        gompy_acc_thread = thr
        pthread_setspecific(acc_thread_key, thr)
        gompy_lock_acquire(&gompy_acc_lock)
        thr.next = acc_threads
        acc_threads = thr
        gompy_lock_release(&gompy_acc_lock)
    acc_start_device(&base[number])
    thr.base_dev = base
    thr.dev = &base[number]
    thr.saved_bound_dev = NULL
    thr.mapped_data = NULL
    thr.prof_info = NULL
    thr.api_info = NULL
    thr.prof_callbacks_enabled = True
    thr.target_tls = device_new_thread(thr.dev, number)


cdef void acc_lazy_initialize() noexcept nogil:
    """First OpenACC call of the program or of a thread."""
    global acc_cached_base
    cdef GoaccThread *thr = acc_thread()
    if thr != NULL and thr.dev != NULL:
        return
    if acc_is_initializing():
        gompy_fatal(b"no device active: a profiling callback for its start has called OpenACC, which needs the device")
    acc_find_types()
    gompy_lock_acquire(&gompy_acc_lock)
    if acc_cached_base == NULL:
        acc_cached_base = acc_init_type(ACC_DEVICE_DEFAULT, ACC_CONSTRUCT_PARALLEL, True)
    gompy_lock_release(&gompy_acc_lock)
    acc_attach_thread(-1)


# --- what plugins ask
# ------------------------------------------------------------------------------------------------------

cdef public void *GOMP_PLUGIN_acc_thread() noexcept nogil:
    """The plugin's own data of the calling thread."""
    cdef GoaccThread *thr = acc_thread()
    return thr.target_tls if thr != NULL else NULL


cdef public void *GOMP_PLUGIN_goacc_thread() noexcept nogil:
    """OpenACC's data of the calling thread, or NULL."""
    return acc_thread()


cdef public int GOMP_PLUGIN_acc_default_dim(unsigned i) noexcept nogil:
    """GOMP_OPENACC_DIM=gangs:workers:vector length: part i, 0 where it is not given."""
    cdef const char *text = secure_getenv(b"GOMP_OPENACC_DIM")
    while text != NULL and i:
        text = strchr(text, c':')
        if text != NULL:
            text += 1
        i -= 1
    if text == NULL:
        return 0
    return max(atoi(text), 0)


cdef public void GOMP_PLUGIN_async_unmap_vars(void *ptr, int queue) noexcept nogil:
    """No plugin of GCC 12 calls it."""
    gompy_fatal(b"invalid plugin function")
