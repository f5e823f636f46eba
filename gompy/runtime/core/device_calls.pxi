# The only caller of a plugin's functions.  What a device does for a construct is told here (hooks.pxi).


# --- what a plugin is asked when it is loaded
# ------------------------------------------------------------------------------

cdef unsigned plugin_version(const PluginOps *ops) noexcept nogil:
    return ops.version()


cdef unsigned plugin_caps(const PluginOps *ops) noexcept nogil:
    return ops.get_caps()


cdef int plugin_count(const PluginOps *ops, unsigned requires) noexcept nogil:
    """How many devices it has that fulfil what the program requires, -1: they do not."""
    return ops.get_num_devices(requires)


cdef const char *plugin_name(const PluginOps *ops) noexcept nogil:
    return ops.get_name()


cdef int plugin_type(const PluginOps *ops) noexcept nogil:
    return ops.get_type()


cdef unsigned plugin_fulfils(const PluginOps *ops) noexcept nogil:
    """What of `omp requires` its devices fulfil: by its own word, else as GCC's plugins of that type do."""
    if ops.fulfils != NULL:
        return ops.fulfils()
    if ops.get_type() != GOMP_DEVICE_NVIDIA_PTX:
        return 0
    if ops.version() < GOMP_VERSION_REQUIRES_MASK:
        return GOMP_REQUIRES_UNIFIED_ADDRESS
    return GOMP_REQUIRES_UNIFIED_ADDRESS | GOMP_REQUIRES_REVERSE_OFFLOAD


# --- devices and images
# ------------------------------------------------------------------------------------------------------

cdef bint device_init(DeviceDescr *dev) noexcept nogil:
    cdef HookEvent event
    if not has_hooks(HOOK_DEVICE):
        return dev.ops.init_device(dev.target_id)
    new_event(&event, HOOK_DEVICE, DEVICE_INIT, dev)
    tell_event(&event, PHASE_BEGIN)
    event.good = dev.ops.init_device(dev.target_id)
    tell_event(&event, PHASE_END)
    return event.good


cdef bint device_fini(DeviceDescr *dev) noexcept nogil:
    cdef HookEvent event
    if not has_hooks(HOOK_DEVICE):
        return dev.ops.fini_device(dev.target_id)
    new_event(&event, HOOK_DEVICE, DEVICE_FINI, dev)
    tell_event(&event, PHASE_BEGIN)
    event.good = dev.ops.fini_device(dev.target_id)
    tell_event(&event, PHASE_END)
    return event.good


cdef int device_load_image(DeviceDescr *dev, unsigned version, const void *data, AddrPair **pairs, uint64_t **reverse,
                           const uint64_t *indirect) noexcept nogil:
    """How many entries the image has; negative if it could not be loaded."""
    cdef HookEvent event
    cdef int count
    if not has_hooks(HOOK_IMAGE):
        return dev.ops.load_image(dev.target_id, version, data, pairs, reverse, indirect)
    new_event(&event, HOOK_IMAGE, IMAGE_LOAD, dev)
    event.image = data
    tell_event(&event, PHASE_BEGIN)
    count = dev.ops.load_image(dev.target_id, version, data, pairs, reverse, indirect)
    event.good = count >= 0
    if count > 0:
        event.pairs = pairs[0]
        event.count = <uintptr_t> count
    tell_event(&event, PHASE_END)
    return count


cdef bint device_unload_image(DeviceDescr *dev, unsigned version, const void *data) noexcept nogil:
    cdef HookEvent event
    if not has_hooks(HOOK_IMAGE):
        return dev.ops.unload_image(dev.target_id, version, data)
    new_event(&event, HOOK_IMAGE, IMAGE_UNLOAD, dev)
    event.image = data
    tell_event(&event, PHASE_BEGIN)
    event.good = dev.ops.unload_image(dev.target_id, version, data)
    tell_event(&event, PHASE_END)
    return event.good


# --- memory
# --------------------------------------------------------------------------------------------------------------------

cdef void *told_alloc(DeviceDescr *dev, size_t size, void *words) noexcept nogil:
    cdef HookEvent event
    new_event(&event, HOOK_ALLOC, 0, dev)
    event.size = size
    tell_event(&event, PHASE_BEGIN)
    event.target = <uintptr_t> (words if words != NULL else dev.ops.alloc(dev.target_id, size))
    event.good = event.target != 0
    tell_event(&event, PHASE_END)
    return <void *> event.target


cdef inline void *device_alloc(DeviceDescr *dev, size_t size) noexcept nogil:
    """Device memory, or NULL."""
    return told_alloc(dev, size, NULL) if has_hooks(HOOK_ALLOC) else dev.ops.alloc(dev.target_id, size)


cdef void *device_alloc_words(DeviceDescr *dev, size_t size) noexcept nogil:
    """With checks: device memory for argument words alone, or NULL: there is none of its own for them."""
    cdef void *words = dev.ops.alloc_words(dev.target_id, size) if dev.ops.alloc_words != NULL else NULL
    return told_alloc(dev, size, words) if words != NULL and has_hooks(HOOK_ALLOC) else words


cdef bint device_has_common_memory(const DeviceDescr *dev) noexcept nogil:
    return dev.ops.alloc_common != NULL


cdef void *device_alloc_common(DeviceDescr *dev, size_t size, bint managed) noexcept nogil:
    """Memory that host and device reach at the same address, or NULL.  managed: a GPU's driver may move it."""
    return dev.ops.alloc_common(dev.target_id, size, managed)


cdef bint device_free_common(DeviceDescr *dev, void *ptr, bint managed) noexcept nogil:
    """Give such memory back."""
    return dev.ops.free_common(dev.target_id, ptr, managed)


cdef bint told_free(DeviceDescr *dev, void *ptr) noexcept nogil:
    cdef HookEvent event
    new_event(&event, HOOK_FREE, 0, dev)
    event.target = <uintptr_t> ptr
    tell_event(&event, PHASE_BEGIN)
    event.good = dev.ops.free(dev.target_id, ptr)
    tell_event(&event, PHASE_END)
    return event.good


cdef inline bint untold_free(DeviceDescr *dev, void *ptr) noexcept nogil:
    """device_free, where its caller has looked whether anybody wants to know."""
    return dev.ops.free(dev.target_id, ptr)


cdef inline bint device_free(DeviceDescr *dev, void *ptr) noexcept nogil:
    return told_free(dev, ptr) if has_hooks(HOOK_FREE) else untold_free(dev, ptr)


cdef bint device_closes_memory(const DeviceDescr *dev) noexcept nogil:
    """Whether it can make parts of its memory inaccessible (gaps.pxi)."""
    return dev.ops.guard != NULL and dev.ops.guard_step != NULL


cdef size_t device_guard_step(const DeviceDescr *dev) noexcept nogil:
    return dev.ops.guard_step(dev.target_id)


cdef void device_guard(DeviceDescr *dev, uintptr_t start, size_t size) noexcept nogil:
    dev.ops.guard(dev.target_id, start, size)


cdef bint device_mark_stale(DeviceDescr *dev, uintptr_t start, unsigned char *stale, size_t size) noexcept nogil:
    """Tell it which bytes the host has changed since they were copied there.  False: it takes no notice."""
    return dev.ops.mark_stale != NULL and dev.ops.stale_left != NULL and \
        dev.ops.mark_stale(dev.target_id, start, stale, size)


cdef bint device_stale_left(DeviceDescr *dev, uintptr_t start, unsigned char *stale, size_t size) noexcept nogil:
    """Clear those that a region has written since."""
    return dev.ops.stale_left(dev.target_id, start, stale, size)


cdef bint device_find_unset(DeviceDescr *dev, uintptr_t start, unsigned char *unset, size_t size) noexcept nogil:
    """Mark those that nothing has written.  False: that is not known."""
    return dev.ops.find_unset != NULL and dev.ops.find_unset(dev.target_id, start, unset, size)


cdef bint device_may_be_unset(DeviceDescr *dev, uintptr_t start, size_t size) noexcept nogil:
    """Whether there may be such bytes."""
    return dev.ops.may_be_unset == NULL or dev.ops.may_be_unset(dev.target_id, start, size)


cdef bint device_may_be_written(DeviceDescr *dev, uintptr_t start, size_t size) noexcept nogil:
    """Whether regions may have written some of it, as far as that can be told."""
    return dev.ops.may_be_written == NULL or dev.ops.may_be_written(dev.target_id, start, size)


cdef bint device_new_contents(DeviceDescr *dev, uintptr_t start, unsigned char *to, size_t size) noexcept nogil:
    """What its memory had when that was allocated.  False: it is not known."""
    return dev.ops.new_contents != NULL and dev.ops.new_contents(dev.target_id, start, to, size)


cdef bint device_use(DeviceDescr *dev, uintptr_t start, size_t size, memory_user_fn use, void *data) noexcept nogil:
    """Have a function look at the device's memory where it is.  False: that is not possible."""
    return dev.ops.use_memory != NULL and dev.ops.use_memory(dev.target_id, start, size, use, data)


cdef bint device_hold(DeviceDescr *dev, bint on) noexcept nogil:
    """Tell it that a construct begins, or ends, under which the program itself does nothing.  Whether its regions have
    the program's memory in copies alone, as far as it knows."""
    return dev.ops.hold_memory != NULL and dev.ops.hold_memory(dev.target_id, on)


cdef uint64_t device_check_spent(DeviceDescr *dev) noexcept nogil:
    """Nanoseconds that checks have taken there; 0: that is not known."""
    return dev.ops.check_spent(dev.target_id) if dev.ops.check_spent != NULL else 0


cdef void device_check_less(DeviceDescr *dev, bint less) noexcept nogil:
    """Whether checks rest: the device leaves what costs it much, as kernels' looks, or filling of new memory."""
    if dev.ops.check_less != NULL:
        dev.ops.check_less(dev.target_id, less)


cdef bint device_peek(DeviceDescr *dev, void *to, const void *what, size_t size) noexcept nogil:
    """Look at the device's memory: no event of the program's."""
    return dev.ops.dev2host(dev.target_id, to, what, size)


cdef bint device_settle(DeviceDescr *dev, void *queue) noexcept nogil:
    """Wait for a queue, as device_peek: no event."""
    return dev.ops.acc_async_synchronize == NULL or dev.ops.acc_async_synchronize(queue)


cdef bint device_sets_icvs(const DeviceDescr *dev) noexcept nogil:
    """Whether regions of its images may set the device's ICVs, as far as that can be told."""
    return dev.ops.sets_icvs == NULL or dev.ops.sets_icvs(dev.target_id)


cdef bint device_accesses(const DeviceDescr *dev, const void *ptr, size_t size) noexcept nogil:
    """Whether regions can use a range by its address: memory of the device's, where its plugin tells."""
    return dev.ops.is_accessible != NULL and dev.ops.is_accessible(dev.target_id, ptr, size) > 0


cdef bint device_reaches(const DeviceDescr *dev, const void *ptr, size_t size) noexcept nogil:
    """Whether a range lies in a block of the device's memory, as far as that can be told."""
    return dev.ops.extent == NULL or size <= dev.ops.extent(dev.target_id, ptr)


cdef const char *device_view(DeviceDescr *dev, uintptr_t device, size_t size) noexcept nogil:
    """Where this process reads device memory in place; NULL: it has to copy."""
    return dev.ops.view(dev.target_id, <const void *> device, size, False) if dev.ops.view != NULL else NULL


# --- copies
# --------------------------------------------------------------------------------------------------------------------

cdef bint told_copy(
    DeviceDescr *dev, int direction, void *dst, const void *src, size_t size, void *queue, bint same=False
) noexcept nogil:
    """A copy; dev.copying.kind says which kind of map it is of.  same: the other side has these bytes, which is all
    that need be told."""
    cdef HookEvent event
    new_event(&event, HOOK_COPY, direction, dev)
    event.target = <uintptr_t> src if direction == COPY_TO_HOST else <uintptr_t> dst
    event.host = <uintptr_t> dst if direction == COPY_TO_HOST else <uintptr_t> src
    event.size = size
    event.bytes = size
    event.queue = queue
    event.map_kind = dev.copying.kind
    tell_event(&event, PHASE_BEGIN)
    if same:
        event.good = True
    elif queue != NULL:
        event.good = dev.ops.acc_async_dev2host(dev.target_id, dst, src, size, queue) if direction == COPY_TO_HOST \
            else dev.ops.acc_async_host2dev(dev.target_id, dst, src, size, queue)
    elif direction == COPY_TO_HOST:
        event.good = dev.ops.dev2host(dev.target_id, dst, src, size)
    elif direction == COPY_TO_DEVICE:
        event.good = dev.ops.host2dev(dev.target_id, dst, src, size)
    else:
        event.good = dev.ops.dev2dev(dev.target_id, dst, src, size)
    tell_event(&event, PHASE_END)
    return event.good


cdef inline bint untold_host2dev(DeviceDescr *dev, void *dst, const void *src, size_t size) noexcept nogil:
    """device_host2dev, where its caller has looked whether anybody wants to know."""
    dev.bytes_to += size
    return dev.ops.host2dev(dev.target_id, dst, src, size)


cdef inline bint untold_dev2host(DeviceDescr *dev, void *dst, const void *src, size_t size) noexcept nogil:
    """The same of device_dev2host."""
    dev.bytes_from += size
    return dev.ops.dev2host(dev.target_id, dst, src, size)


cdef inline bint device_host2dev(DeviceDescr *dev, void *dst, const void *src, size_t size) noexcept nogil:
    if has_hooks(HOOK_COPY):
        dev.bytes_to += size
        return told_copy(dev, COPY_TO_DEVICE, dst, src, size, NULL)
    return untold_host2dev(dev, dst, src, size)


cdef inline bint device_dev2host(DeviceDescr *dev, void *dst, const void *src, size_t size) noexcept nogil:
    if has_hooks(HOOK_COPY):
        dev.bytes_from += size
        return told_copy(dev, COPY_TO_HOST, dst, src, size, NULL)
    return untold_dev2host(dev, dst, src, size)


cdef inline bint device_dev2dev(DeviceDescr *dev, void *dst, const void *src, size_t size) noexcept nogil:
    if has_hooks(HOOK_COPY):
        return told_copy(dev, COPY_WITHIN, dst, src, size, NULL)
    return dev.ops.dev2dev(dev.target_id, dst, src, size)


cdef inline bint device_queue_host2dev(
    DeviceDescr *dev, void *dst, const void *src, size_t size, void *queue
) noexcept nogil:
    dev.bytes_to += size
    if has_hooks(HOOK_COPY):
        return told_copy(dev, COPY_TO_DEVICE, dst, src, size, queue)
    return dev.ops.acc_async_host2dev(dev.target_id, dst, src, size, queue)


cdef inline bint device_queue_dev2host(
    DeviceDescr *dev, void *dst, const void *src, size_t size, void *queue
) noexcept nogil:
    dev.bytes_from += size
    if has_hooks(HOOK_COPY):
        return told_copy(dev, COPY_TO_HOST, dst, src, size, queue)
    return dev.ops.acc_async_dev2host(dev.target_id, dst, src, size, queue)


cdef bint device_queue_dev2dev(DeviceDescr *dev, void *dst, const void *src, size_t size, void *queue) noexcept nogil:
    """A copy within the device, in a queue; where the plugin cannot, when the queue is empty."""
    if dev.ops.acc_async_dev2dev != NULL:
        return dev.ops.acc_async_dev2dev(dev.target_id, dst, src, size, queue)
    return dev.ops.acc_async_synchronize(queue) and device_dev2dev(dev, dst, src, size)


# --- regions
# -------------------------------------------------------------------------------------------------------------------

cdef inline bint device_can_run(const DeviceDescr *dev, void *address) noexcept nogil:
    """Whether the device can run a region that it has."""
    return dev.ops.can_run == NULL or dev.ops.can_run(address)


cdef bint launches_in_turn  # somebody looks at the device's memory before and after each region


cdef inline bint device_tells_ends(const DeviceDescr *dev) noexcept nogil:
    """Whether the plugin tells of a region's end by GOMP_PLUGIN_target_task_completion."""
    return dev.ops.start_region == NULL and dev.ops.async_run != NULL and not launches_in_turn


cdef inline bint device_runs_later(const DeviceDescr *dev) noexcept nogil:
    """Whether a region can be launched without waiting for its end."""
    return (dev.ops.start_region != NULL or dev.ops.async_run != NULL) and not launches_in_turn


cdef unsigned teams_asked_for(void **args) noexcept nogil:
    """NUM_TEAMS of GOMP_target_ext's words; 0: the region leaves that to the device."""
    cdef LaunchWord word
    while take_word(&args, &word):
        if word.device == 0 and word.id == GOMP_TARGET_ARG_NUM_TEAMS:
            return <unsigned> word.value if word.value > 0 else 0
    return 0


cdef void tell_launch_begin(HookEvent *event, const DeviceDescr *dev, int detail, const void *region, void *address,
                            void *vars, size_t words, void **args) noexcept nogil:
    """A launch of OpenMP."""
    new_event(event, HOOK_LAUNCH, detail, dev)
    event.region = region
    event.function = <uintptr_t> address
    event.target = <uintptr_t> vars
    event.words = words
    event.limits = args
    event.teams = event.construct.teams if event.construct != NULL else 0
    if args != NULL:
        event.teams = teams_asked_for(args)
    tell_event(event, PHASE_BEGIN)


cdef void told_run(
    DeviceDescr *dev, const void *region, void *address, void *vars, size_t words, void **args
) noexcept nogil:
    cdef HookEvent event
    tell_launch_begin(&event, dev, LAUNCH_NOW, region, address, vars, words, args)
    dev.ops.run(dev.target_id, address, vars, args)
    tell_event(&event, PHASE_END)


cdef inline void untold_run(DeviceDescr *dev, void *address, void *vars, void **args) noexcept nogil:
    """device_run, where its caller has looked whether anybody wants to know."""
    dev.ops.run(dev.target_id, address, vars, args)


cdef inline void device_run(
    DeviceDescr *dev, const void *region, void *address, void *vars, size_t words, void **args
) noexcept nogil:
    """Run a region to its end; vars: the device address of its argument words."""
    if has_hooks(HOOK_LAUNCH):
        told_run(dev, region, address, vars, words, args)
    else:
        untold_run(dev, address, vars, args)


cdef void device_run_shaped(DeviceDescr *dev, const void *region, void *kernel,
                            const KernelLaunch *shape) noexcept nogil:
    """Run a kernel by clang on a GPU to its end."""
    cdef HookEvent event
    if not has_hooks(HOOK_LAUNCH):
        dev.ops.run(dev.target_id, kernel, <void *> shape, NULL)
        return
    new_event(&event, HOOK_LAUNCH, LAUNCH_NOW, dev)
    event.region = region
    event.function = <uintptr_t> kernel
    event.shape = shape
    event.teams = event.construct.teams if event.construct != NULL else 0
    tell_event(&event, PHASE_BEGIN)
    dev.ops.run(dev.target_id, kernel, <void *> shape, NULL)
    tell_event(&event, PHASE_END)


cdef inline bint device_takes_words(const DeviceDescr *dev, size_t count) noexcept nogil:
    """Whether a kernel's words may go to the device without a block of memory.  Hooks want the block."""
    return count <= KERNEL_WORDS_DIRECT and dev.ops.run_kernel != NULL and not has_hooks(HOOK_LAUNCH)


cdef inline void device_run_kernel(DeviceDescr *dev, void *kernel, const uint64_t *words, size_t count) noexcept nogil:
    """Run a kernel by clang to its end, where device_takes_words."""
    dev.ops.run_kernel(dev.target_id, kernel, words, count)


cdef void device_async_run(DeviceDescr *dev, const void *region, void *address, void *vars, size_t words, void **args,
                           void *data) noexcept nogil:
    """Launch a region; the plugin calls GOMP_PLUGIN_target_task_completion with data at its end."""
    cdef HookEvent event
    event.kind = 0
    if has_hooks(HOOK_LAUNCH):
        tell_launch_begin(&event, dev, LAUNCH_LATER, region, address, vars, words, args)
    dev.ops.async_run(dev.target_id, address, vars, args, data)
    if event.kind:
        tell_event(&event, PHASE_END)


cdef uint64_t device_start(
    DeviceDescr *dev, const void *region, void *address, void *vars, size_t words, void **args
) noexcept nogil:
    """Launch a region: a ticket for device_await, or 0 where it has to be run."""
    cdef HookEvent event
    cdef uint64_t ticket
    event.kind = 0
    if has_hooks(HOOK_LAUNCH):
        tell_launch_begin(&event, dev, LAUNCH_LATER, region, address, vars, words, args)
    ticket = dev.ops.start_region(dev.target_id, address, vars, args)
    if event.kind:
        event.good = ticket != 0
        tell_event(&event, PHASE_END)
    return ticket


cdef void device_await(DeviceDescr *dev, const void *region, uint64_t ticket) noexcept nogil:
    """Wait for the end of a region of device_start."""
    cdef HookEvent event
    event.kind = 0
    if has_hooks(HOOK_QUEUE):
        new_event(&event, HOOK_QUEUE, QUEUE_WAIT, dev)
        event.region = region
        tell_event(&event, PHASE_BEGIN)
    dev.ops.await_region(dev.target_id, ticket)
    if event.kind:
        tell_event(&event, PHASE_END)


cdef inline bint device_takes_blocks(const DeviceDescr *dev) noexcept nogil:
    """Whether its openacc_exec gets the address of an argument block on the device, not the words themselves."""
    return dev.ops.interface >= GOMP_VERSION_REQUIRES_MASK


cdef void device_acc_exec(DeviceDescr *dev, const void *region, void *address, size_t mapnum, void **hostaddrs,
                          void **devaddrs, unsigned *dims, void *tgt, void *queue) noexcept nogil:
    """Run an OpenACC region to its end, or put it into a queue."""
    cdef HookEvent event
    event.kind = 0
    if has_hooks(HOOK_LAUNCH):
        new_event(&event, HOOK_LAUNCH, LAUNCH_NOW if queue == NULL else LAUNCH_LATER, dev)
        event.region = region
        event.function = <uintptr_t> address
        event.words = mapnum
        if device_takes_blocks(dev):
            event.target = <uintptr_t> devaddrs
        else:
            event.arguments = devaddrs
        event.dims = dims
        event.teams = event.construct.teams if event.construct != NULL else 0
        event.queue = queue
        tell_event(&event, PHASE_BEGIN)
    if queue == NULL:
        dev.ops.acc_exec(address, mapnum, hostaddrs, devaddrs, dims, tgt)
    else:
        dev.ops.acc_async_exec(address, mapnum, hostaddrs, devaddrs, dims, tgt, queue)
    if event.kind:
        tell_event(&event, PHASE_END)


# --- queues
# --------------------------------------------------------------------------------------------------------------------

cdef void tell_queue_begin(HookEvent *event, const DeviceDescr *dev, int detail, void *queue,
                           void *then=NULL) noexcept nogil:
    event.kind = 0
    if has_hooks(HOOK_QUEUE):
        new_event(event, HOOK_QUEUE, detail, dev)
        event.queue = queue
        event.host = <uintptr_t> then
        tell_event(event, PHASE_BEGIN)


cdef bint tell_queue_end(HookEvent *event, bint good) noexcept nogil:
    if rare(event.kind):
        event.good = good
        tell_event(event, PHASE_END)
    return good


cdef inline bint device_has_queues(const DeviceDescr *dev) noexcept nogil:
    return dev.ops.acc_async_construct != NULL


cdef void *device_new_queue(DeviceDescr *dev) noexcept nogil:
    cdef HookEvent event
    cdef void *queue
    tell_queue_begin(&event, dev, QUEUE_MAKE, NULL)
    queue = dev.ops.acc_async_construct(dev.target_id)
    event.queue = queue
    tell_queue_end(&event, queue != NULL)
    return queue


cdef bint device_end_queue(DeviceDescr *dev, void *queue) noexcept nogil:
    """Let it run empty, and end it."""
    cdef HookEvent event
    tell_queue_begin(&event, dev, QUEUE_DROP, queue)
    return tell_queue_end(&event, dev.ops.acc_async_destruct(queue))


cdef bint device_queue_empty(const DeviceDescr *dev, void *queue) noexcept nogil:
    return dev.ops.acc_async_test(queue)


cdef bint device_wait_queue(DeviceDescr *dev, void *queue) noexcept nogil:
    cdef HookEvent event
    tell_queue_begin(&event, dev, QUEUE_WAIT, queue)
    return tell_queue_end(&event, dev.ops.acc_async_synchronize(queue))


cdef bint device_order_queues(DeviceDescr *dev, void *first, void *then) noexcept nogil:
    """Have a queue wait for what another one holds now."""
    cdef HookEvent event
    tell_queue_begin(&event, dev, QUEUE_ORDER, first, then)
    return tell_queue_end(&event, dev.ops.acc_async_serialize(first, then))


cdef void device_queue_call(
    DeviceDescr *dev, void *queue, void (*fn)(void *) noexcept nogil, void *data
) noexcept nogil:
    """Have a function of the host called when a queue comes to it."""
    dev.ops.acc_async_queue_callback(queue, fn, data)


# --- OpenACC: threads, properties, CUDA's objects
# ------------------------------------------------------------------------------

cdef void *device_new_thread(DeviceDescr *dev, int number) noexcept nogil:
    """The plugin's data of the calling thread, or NULL if it has none."""
    return dev.ops.acc_create_thread_data(number) if dev.ops.acc_create_thread_data != NULL else NULL


cdef void device_end_thread(DeviceDescr *dev, void *data) noexcept nogil:
    if data != NULL and dev.ops.acc_destroy_thread_data != NULL:
        dev.ops.acc_destroy_thread_data(data)


cdef uintptr_t device_property(DeviceDescr *dev, int number, int property) noexcept nogil:
    return dev.ops.acc_get_property(number, property)


cdef void *device_cuda_device(const DeviceDescr *dev) noexcept nogil:
    return dev.ops.acc_cuda_get_current_device() if dev.ops.acc_cuda_get_current_device != NULL else NULL


cdef void *device_cuda_context(const DeviceDescr *dev) noexcept nogil:
    return dev.ops.acc_cuda_get_current_context() if dev.ops.acc_cuda_get_current_context != NULL else NULL


cdef bint device_has_streams(const DeviceDescr *dev) noexcept nogil:
    """Whether CUDA's streams stand behind its queues."""
    return dev.ops.acc_cuda_get_stream != NULL and dev.ops.acc_cuda_set_stream != NULL


cdef void *device_stream(const DeviceDescr *dev, void *queue) noexcept nogil:
    return dev.ops.acc_cuda_get_stream(queue)


cdef int device_set_stream(DeviceDescr *dev, void *queue, void *stream) noexcept nogil:
    return dev.ops.acc_cuda_set_stream(queue, stream)


cdef bint device_names_itself(const DeviceDescr *dev) noexcept nogil:
    return dev.ops.get_uid != NULL


cdef char *device_uid(const DeviceDescr *dev) noexcept nogil:
    """The plugin's name for the device that is its own in the world, the caller's to free, or NULL."""
    return dev.ops.get_uid(dev.target_id) if dev.ops.get_uid != NULL else NULL


# --- interoperability objects
# --------------------------------------------------------------------------------------------------

cdef bint device_has_interop(const DeviceDescr *dev) noexcept nogil:
    return dev.ops.interop != NULL


cdef void device_interop(DeviceDescr *dev, InteropObject *object, int action, bint targetsync,
                         const char *preferred) noexcept nogil:
    """Have the plugin make an object, wait for its stream, or end it."""
    dev.ops.interop(object, dev.target_id, action, targetsync, preferred)


cdef intptr_t device_interop_int(DeviceDescr *dev, InteropObject *object, int property, int *code) noexcept nogil:
    return dev.ops.interop_int(object, property, code)


cdef void *device_interop_ptr(DeviceDescr *dev, InteropObject *object, int property, int *code) noexcept nogil:
    return dev.ops.interop_ptr(object, property, code)


cdef const char *device_interop_str(DeviceDescr *dev, InteropObject *object, int property, int *code) noexcept nogil:
    return dev.ops.interop_str(object, property, code)


cdef const char *device_interop_type(DeviceDescr *dev, InteropObject *object, int property) noexcept nogil:
    return dev.ops.interop_type(object, property)
