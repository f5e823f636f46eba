# The subscriber: an event of the runtime leads to the tool's callbacks.  Where a tool has both forms of a callback, the
# one with words of its own (EMI) is called, as the standard wants it.

cdef inline bint ompt_wants(int which) noexcept nogil:
    return ompt_callbacks[which] != NULL


cdef void ompt_device_begins(DeviceDescr *dev) noexcept nogil:
    if ompt_wants(OMPT_CALLBACK_DEVICE_INITIALIZE):
        (<ompt_device_initialize_fn> ompt_callbacks[OMPT_CALLBACK_DEVICE_INITIALIZE])(
            dev.number, dev.name, dev, ompt_device_lookup, NULL)


cdef void ompt_device_ends(DeviceDescr *dev) noexcept nogil:
    """What a device's traces have is the tool's before that."""
    ompt_stop_trace(dev)
    if ompt_wants(OMPT_CALLBACK_DEVICE_FINALIZE):
        (<ompt_device_finalize_fn> ompt_callbacks[OMPT_CALLBACK_DEVICE_FINALIZE])(dev.number)


cdef void tell_ompt_device(const HookEvent *event) noexcept nogil:
    """A device begins or ends."""
    cdef DeviceDescr *dev = &devices[event.device]
    if event.detail == DEVICE_INIT and event.phase == PHASE_END and event.good:
        ompt_device_begins(dev)
    elif event.detail == DEVICE_FINI and event.phase == PHASE_BEGIN and not ompt_traces[dev.number].ended:
        ompt_device_ends(dev)


cdef void ompt_libraries_gone() noexcept nogil:
    """The last library of clang's has gone: no device will run anything.  libomp ends its tool next."""
    cdef int i
    for i in range(num_devices):
        if gompy_load(&devices[i].state) == DEVICE_INITIALIZED and not ompt_traces[i].ended:
            ompt_device_ends(&devices[i])
            ompt_traces[i].ended = True


cdef void tell_ompt_image(const HookEvent *event) noexcept nogil:
    """An image has been loaded, or goes.  Of the emulated MIC's, the host's copy and its size are known."""
    cdef void *none = <void *> ~<uintptr_t> 0
    cdef void *start = none
    cdef size_t size = 0
    cdef Dl_info where
    cdef void **ends = <void **> event.image
    if event.detail == IMAGE_UNLOAD:
        if event.phase == PHASE_BEGIN and ompt_wants(OMPT_CALLBACK_DEVICE_UNLOAD):
            (<ompt_device_unload_fn> ompt_callbacks[OMPT_CALLBACK_DEVICE_UNLOAD])(event.device,
                                                                                 <uint64_t> event.image)
        return
    if event.phase == PHASE_BEGIN or not event.good:
        return
    if ompt_traces[event.device].ended:  # by dlopen, after the last one had gone
        ompt_traces[event.device].ended = False
        ompt_device_begins(&devices[event.device])
    if not ompt_wants(OMPT_CALLBACK_DEVICE_LOAD):
        return
    if devices[event.device].type == GOMP_DEVICE_INTEL_MIC:
        start = ends[0]
        size = <size_t> ends[1] - <size_t> ends[0]
    where.dli_fname = NULL
    dladdr(event.image, &where)
    (<ompt_device_load_fn> ompt_callbacks[OMPT_CALLBACK_DEVICE_LOAD])(
        event.device, where.dli_fname, -1, none, size, start, none, <uint64_t> event.image)


cdef void tell_ompt_target(HookEvent *event, int slot) noexcept nogil:
    """A construct begins or ends.  What the tool keeps of it stays in one place, the construct's own."""
    cdef Construct *construct = event.construct
    cdef int kind = ompt_construct_kind(construct)
    cdef int endpoint = OMPT_SCOPE_BEGIN if event.phase == PHASE_BEGIN else OMPT_SCOPE_END
    cdef int device = event.device if event.device >= 0 else ompt_host_number()
    cdef uint64_t *task = ompt_task_data()
    cdef uint64_t *target_task = ompt_target_task_data()
    if kind == 0:
        return
    if event.phase == PHASE_BEGIN and target_task == &ompt_target_task_cell:
        target_task[0] = 0
    if ompt_wants(OMPT_CALLBACK_TARGET_EMI):
        (<ompt_target_emi_fn> ompt_callbacks[OMPT_CALLBACK_TARGET_EMI])(
            kind, endpoint, device, task, target_task, &construct.own[slot], ompt_code(construct))
        event.own[slot] = construct.own[slot]
    elif ompt_wants(OMPT_CALLBACK_TARGET):
        (<ompt_target_fn> ompt_callbacks[OMPT_CALLBACK_TARGET])(
            kind, endpoint, device, task, ompt_target_id(construct), ompt_code(construct))


cdef void tell_ompt_operation(HookEvent *event, int slot) noexcept nogil:
    """An operation on data begins or ends; own[slot] is the tool's number of it."""
    cdef Construct *construct = event.construct
    cdef uint64_t *target = &construct.own[slot] if construct != NULL else NULL
    cdef uint64_t *task = NULL
    cdef const void *code = ompt_code(construct)
    cdef void *src
    cdef void *dest
    cdef int src_device, dest_device
    cdef int operation = ompt_operation(event, &src, &src_device, &dest, &dest_device)
    if construct != NULL and ompt_construct_kind(construct) != 0:
        task = ompt_target_task_data()
    if event.phase == PHASE_BEGIN:
        event.own[slot] = new_ompt_id()
    if ompt_wants(OMPT_CALLBACK_TARGET_DATA_OP_EMI):
        if event.phase != PHASE_END:
            (<ompt_data_op_emi_fn> ompt_callbacks[OMPT_CALLBACK_TARGET_DATA_OP_EMI])(
                OMPT_SCOPE_BEGIN, task, target, &event.own[slot], operation, src, src_device, dest, dest_device,
                event.size, code)
        if event.phase != PHASE_BEGIN:
            (<ompt_data_op_emi_fn> ompt_callbacks[OMPT_CALLBACK_TARGET_DATA_OP_EMI])(
                OMPT_SCOPE_END, task, target, &event.own[slot], operation, src, src_device, dest, dest_device,
                event.size, code)
    elif event.phase != PHASE_BEGIN and ompt_wants(OMPT_CALLBACK_TARGET_DATA_OP):
        (<ompt_data_op_fn> ompt_callbacks[OMPT_CALLBACK_TARGET_DATA_OP])(
            ompt_target_id(construct) if construct != NULL else 0, event.own[slot], operation, src, src_device, dest,
            dest_device, event.size, code)


cdef void tell_ompt_submit(HookEvent *event, int slot) noexcept nogil:
    """A region is launched, and its launch has ended."""
    cdef Construct *construct = event.construct
    if event.phase == PHASE_BEGIN:
        event.own[slot] = new_ompt_id()
    if ompt_wants(OMPT_CALLBACK_TARGET_SUBMIT_EMI):
        (<ompt_submit_emi_fn> ompt_callbacks[OMPT_CALLBACK_TARGET_SUBMIT_EMI])(
            OMPT_SCOPE_BEGIN if event.phase == PHASE_BEGIN else OMPT_SCOPE_END, &construct.own[slot],
            &event.own[slot], event.teams)
    elif event.phase == PHASE_BEGIN and ompt_wants(OMPT_CALLBACK_TARGET_SUBMIT):
        (<ompt_submit_fn> ompt_callbacks[OMPT_CALLBACK_TARGET_SUBMIT])(
            ompt_target_id(construct), event.own[slot], event.teams)


cdef void tell_ompt_map(HookEvent *event, int slot) noexcept nogil:
    """An entry of a directive: a list of one."""
    cdef Construct *construct = event.construct
    cdef void *host = <void *> event.host
    cdef void *target = <void *> event.target
    cdef size_t size = event.size
    cdef unsigned flags = ompt_map_flags(event)
    if ompt_wants(OMPT_CALLBACK_TARGET_MAP_EMI):
        (<ompt_map_emi_fn> ompt_callbacks[OMPT_CALLBACK_TARGET_MAP_EMI])(
            &construct.own[slot], 1, &host, &target, &size, &flags, ompt_code(construct))
    elif ompt_wants(OMPT_CALLBACK_TARGET_MAP):
        (<ompt_map_fn> ompt_callbacks[OMPT_CALLBACK_TARGET_MAP])(
            ompt_target_id(construct), 1, &host, &target, &size, &flags, ompt_code(construct))


cdef void ompt_hook(HookEvent *event, int slot) noexcept nogil:
    if event.kind == HOOK_DEVICE:
        tell_ompt_device(event)
    elif event.kind == HOOK_IMAGE:
        tell_ompt_image(event)
    elif event.kind == HOOK_MAP and event.map_kind < 0:
        tell_ompt_operation(event, slot)  # omp_target_associate_ptr, or that undone
    elif not ompt_is_openmp(event.construct):
        return  # OpenACC's, which has an interface of its own, or the runtime's: before a device's first region
    elif event.kind == HOOK_CONSTRUCT:
        tell_ompt_target(event, slot)
    elif event.kind == HOOK_LAUNCH:
        tell_ompt_submit(event, slot)
    elif event.kind != HOOK_MAP:
        tell_ompt_operation(event, slot)
    elif ompt_is_map(event):
        tell_ompt_map(event, slot)
