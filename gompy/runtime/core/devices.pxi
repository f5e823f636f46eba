# The device list: built once, at the first call that needs it (libgomp: gomp_target_init); devices are initialised at
# their first use and finalised by an atexit handler, before the images' destructors.

cdef DeviceDescr *devices
cdef int num_devices
cdef int num_devices_openmp
cdef int targets_ready  # the list is built

cdef enum:
    MAX_FORGETTING = 4

cdef void (*forgetting[MAX_FORGETTING])() noexcept nogil  # what doors do in a forked child
cdef int num_forgetting


cdef void forget_in_child(void (*forget)() noexcept nogil) noexcept nogil:
    """Have a function called in a forked child, when the devices of the parent have been forgotten."""
    global num_forgetting
    forgetting[num_forgetting] = forget
    num_forgetting += 1


cdef void (*ending[MAX_FORGETTING])() noexcept nogil  # what doors do before the devices end
cdef int num_ending


cdef void before_devices_end(void (*end)() noexcept nogil) noexcept nogil:
    """Have a function called at the end of the program, while all devices are still there."""
    global num_ending
    ending[num_ending] = end
    num_ending += 1


cdef void (*when_known[MAX_FORGETTING])() noexcept nogil  # what tools do when the device list is there
cdef int num_when_known
cdef void (*when_ended[MAX_FORGETTING])() noexcept nogil  # and when the devices have ended
cdef int num_when_ended


cdef void when_devices_are_known(void (*begin)() noexcept nogil) noexcept nogil:
    """Have a function called when the device list has been built, before anybody uses it."""
    global num_when_known
    when_known[num_when_known] = begin
    num_when_known += 1


cdef void after_devices_end(void (*end)() noexcept nogil) noexcept nogil:
    """Have a function called at the end of the program, when the devices have ended."""
    global num_when_ended
    when_ended[num_when_ended] = end
    num_when_ended += 1


cdef bint keeps_device_away(const char *name, int count, unsigned fulfilled) noexcept nogil:
    """Whether a plugin's devices do not fulfil what the program requires; that is said once, and the host runs all."""
    cdef char text[200]
    cdef char clauses[128]
    cdef unsigned lacking = asked_of_devices() & ~fulfilled
    if lacking == 0:
        return False
    requires_text(lacking, clauses, sizeof(clauses))
    snprintf(text, sizeof(text), b"its devices do not fulfil 'omp requires %s'", clauses)
    refuse_plugin(name, text, False)
    gompy_note(b"%d device%s of plugin %s cannot be used: 'omp requires %s' is not fulfilled there%s", count,
               b"s" if count != 1 else b"", name, clauses, <const char *> (
                   b"; GOMPY_SHARED_MEMORY=1 gives a device that shares the program's memory"
                   if lacking & (GOMP_REQUIRES_UNIFIED_SHARED_MEMORY | GOMP_REQUIRES_SELF_MAPS) else b""))
    return True


cdef void add_devices(const char *name, bint asked_for) noexcept nogil:
    """Append the devices of one plugin."""
    global devices, num_devices
    cdef PluginOps ops
    cdef unsigned caps = 0
    cdef int count, i
    cdef DeviceDescr *more
    cdef DeviceDescr *dev
    if not load_plugin(name, &ops, &caps, asked_for):
        return
    count = plugin_count(&ops, asked_of_devices())
    if count == -1 and asked_of_devices():
        keeps_device_away(name, 1, 0)
        return
    if count < 1:
        refuse_plugin(name, b"it finds no device", False)
        return
    # What a plugin that does not look at the mask has not: memory that is shared, calls of the host.
    if keeps_device_away(name, count, plugin_fulfils(&ops)):
        return
    if plugin_name(&ops) == NULL:
        refuse_plugin(name, b"GOMP_OFFLOAD_get_name gives no name", True)
        return
    more = <DeviceDescr *> realloc(devices, (num_devices + count) * sizeof(DeviceDescr))
    if more == NULL:
        refuse_plugin(name, b"out of memory", True)
        return
    devices = more
    for i in range(count):
        dev = &devices[num_devices]
        memset(dev, 0, sizeof(DeviceDescr))
        dev.ops = ops
        dev.capabilities = caps
        dev.name = plugin_name(&ops)
        dev.type = plugin_type(&ops)
        dev.target_id = i
        num_devices += 1


cdef void order_devices() noexcept nogil:
    """Devices that can run OpenMP regions get the first numbers."""
    global num_devices_openmp
    cdef DeviceDescr swapped
    cdef int i, j
    cdef int front = 0
    for i in range(num_devices):
        if devices[i].capabilities & GOMP_OFFLOAD_CAP_OPENMP_400:
            swapped = devices[i]
            j = i
            while j > front:
                devices[j] = devices[j - 1]
                j -= 1
            devices[front] = swapped
            front += 1
    num_devices_openmp = front
    if front:
        name_host_number(front)
    for i in range(num_devices):
        devices[i].number = i
        devices[i].icvs.nteams = device_icv(b"OMP_NUM_TEAMS", i)
        devices[i].icvs.teams_thread_limit = device_icv(b"OMP_TEAMS_THREAD_LIMIT", i)
        gompy_lock_init(&devices[i].lock)
        pthread_mutex_init(&devices[i].queues_lock, NULL)
        pthread_mutex_init(&devices[i].writes_lock, NULL)


cdef bint has_image_of(int type) noexcept nogil:
    """Whether an image of a device type is registered."""
    cdef int i
    for i in range(num_offload_images):
        if offload_images[i].type == type:
            return True
    return False


cdef public const void *gompy_image_data(int type, int index, unsigned *version) noexcept nogil:
    """Target data of the index-th registered image of a device type, NULL: there are not so many.

    For plugins that have to know of all images before they start a device.  Not part of GCC's interface.
    """
    cdef int i
    for i in range(num_offload_images):
        if offload_images[i].type == type:
            if index == 0:
                version[0] = offload_images[i].version
                return offload_images[i].target_data
            index -= 1
    return NULL


cdef public bint gompy_has_image(int type) noexcept nogil:
    """For plugins: whether an image of a device type is registered.  Called while the device list is built."""
    return has_image_of(type)


cdef bint shared_memory_requested  # by a door: its compiler's own library has a device for what the program requires


cdef void request_shared_memory() noexcept nogil:
    """Have the device that shares the program's memory in place of others, unless the environment says what it wants.
    """
    global shared_memory_requested
    shared_memory_requested = True


cdef bint shared_memory_wanted() noexcept nogil:
    """GOMPY_SHARED_MEMORY: 1 asks for the device that shares the program's memory, 0 forbids it; else a door may ask,
    for whose images it is.
    """
    cdef const char *text = secure_getenv(b"GOMPY_SHARED_MEMORY")
    if text != NULL and strcmp(text, b"0") == 0:
        return False
    if text != NULL and strcmp(text, b"1") == 0:
        return True
    if text != NULL and text[0]:
        gompy_error(b"GOMPY_SHARED_MEMORY=%s: neither 0 nor 1; ignored", text)
    return shared_memory_requested and has_image_of(GOMP_DEVICE_HOST)


cdef void init_targets() noexcept nogil:
    """Build the device list: by default of the plugins that there are images for (nvptx's loads CUDA), else
    intelmic's; where shared memory is wanted, of the one that has it.
    """
    global gompy_devices_end
    cdef const char *list
    cdef const char *end
    cdef char name[64]
    cdef bint asked_for = True
    if target_offload == OFFLOAD_DISABLED:
        return
    list = secure_getenv(b"GOMPY_PLUGINS")
    if list == NULL and shared_memory_wanted():
        list = b"shared"
    if list == NULL:
        list = b"intelmic" if num_offload_images == 0 or has_image_of(GOMP_DEVICE_INTEL_MIC) else b""
        asked_for = False
    while list[0]:
        end = strchr(list, c',')
        if end == NULL:
            end = list + strlen(list)
        if end > list and end - list < <ptrdiff_t> sizeof(name):
            memcpy(name, list, end - list)
            name[end - list] = 0
            if strchr(name, c'/') == NULL:
                add_devices(name, asked_for)
            else:
                gompy_error(b"GOMPY_PLUGINS: %s: not the name of a plugin but a path; a plugin NAME is "
                            b"libgomp-plugin-NAME.so.1 beside libgompy or in LD_LIBRARY_PATH", name)
        elif end > list:
            gompy_error(b"GOMPY_PLUGINS: %.*s: no plugin has a name that long", <int> (end - list), list)
        list = end + 1 if end[0] else end
    if not asked_for:
        if has_image_of(GOMP_DEVICE_NVIDIA_PTX):
            add_devices(b"nvptx", False)
        if has_image_of(GOMP_DEVICE_GCN):
            add_devices(b"gcn", False)
    order_devices()
    if num_devices:
        gompy_catch_copy_faults()
    pthread_atfork(NULL, NULL, after_fork_in_child)
    gompy_devices_end = finalise_devices
    if atexit(finalise_devices) != 0:
        gompy_fatal(b"atexit failed")


cdef void init_targets_once() noexcept nogil:
    cdef int i
    if gompy_load(&targets_ready):
        return
    if gompy_lock_is_mine(&gompy_register_lock):
        return  # a plugin asks, while the list is built
    gompy_lock_acquire(&gompy_register_lock)
    if not targets_ready:
        init_targets()
        for i in range(num_when_known):
            when_known[i]()
        if num_devices == 1 and devices[0].capabilities & GOMP_OFFLOAD_CAP_SHARED_MEM and checks_wanted():
            gompy_note(b"GOMPY_CHECK finds nothing here: the device shares the program's memory%s", <const char *> (
                b", as 'omp requires unified_shared_memory' asks" if shared_memory_requested else b""))
        gompy_store(&targets_ready, 1)
    gompy_lock_release(&gompy_register_lock)


cdef inline int get_num_devices() noexcept nogil:
    if not gompy_load(&targets_ready):
        init_targets_once()
    return num_devices_openmp


cdef void init_device(DeviceDescr *dev) noexcept nogil:
    """First use of a device: initialise it and load the images of its type."""
    cdef int rc = 0
    gompy_lock_acquire(&gompy_register_lock)
    gompy_lock_acquire(&dev.lock)
    if dev.state == DEVICE_UNINITIALIZED:
        dev.view = 0
        if not device_init(dev):
            if dev.epoch:
                gompy_store(&dev.state, DEVICE_FINALIZED)  # a forked child that the plugin does not serve
            else:
                rc = gompy_fail(b"device initialization failed")
        else:
            rc = load_all_images(dev)
        if rc == 0 and dev.state == DEVICE_UNINITIALIZED:
            gompy_store(&dev.state, DEVICE_INITIALIZED)
    gompy_lock_release(&dev.lock)
    gompy_lock_release(&gompy_register_lock)
    if rc:
        fatal_failure()


cdef void finalise_devices() noexcept nogil:
    """At exit."""
    cdef DeviceDescr *dev
    cdef bint ok
    cdef int i
    if team_is_ours() and omp_get_level() == 0 and not gompy_error_exit:
        GOMP_taskwait()  # the end of the program completes its tasks
    if not gompy_error_exit:
        for i in range(num_ending):
            ending[i]()
    gompy_begin_exit()
    for i in range(num_devices):
        dev = &devices[i]
        if not gompy_lock_at_exit(&dev.lock):
            continue
        ok = True
        if dev.state == DEVICE_INITIALIZED:
            if not gompy_load(&gompy_error_exit):
                end_queues(dev)
                if gompy_checking:
                    check_left(dev)
            gompy_output_first()  # destructors of the device's variables may print
            ok = device_fini(dev)
            gompy_store(&dev.state, DEVICE_FINALIZED)
        gompy_lock_release(&dev.lock)
        if not ok:
            gompy_fatal(b"device finalization failed")
    for i in range(num_when_ended):
        when_ended[i]()


cdef void after_fork_in_child() noexcept nogil:
    """The child has none of the parent's devices: its own are initialised at their first use, with empty tables.

    A plugin that cannot do that in a child says so from init_device; the child's regions then run on the host.
    """
    cdef DeviceDescr *dev
    cdef int i
    gompy_lock_init(&gompy_register_lock)
    for i in range(num_devices):
        dev = &devices[i]
        gompy_lock_init(&dev.lock)
        memset(&dev.mem_map, 0, sizeof(dev.mem_map))
        memset(&dev.records, 0, sizeof(dev.records))  # another thread may have been in the middle of it
        dev.spare = NULL
        dev.functions = NULL
        dev.ancestors = NULL
        dev.num_links = 0
        dev.images = NULL
        dev.launches = 0
        dev.bytes_to = 0
        dev.bytes_from = 0
        dev.queue = NULL
        dev.copying.size = 0
        dev.queues = NULL
        dev.num_queues = 0
        pthread_mutex_init(&dev.queues_lock, NULL)
        pthread_mutex_init(&dev.writes_lock, NULL)
        dev.writes = NULL
        dev.epoch += 1
        if dev.state == DEVICE_INITIALIZED:
            dev.state = DEVICE_UNINITIALIZED
    forget_counts()
    for i in range(num_forgetting):
        forgetting[i]()
