# `gompy record`: each region that is launched, with the device's memory before and after, in a file (record_file.h).
# While that is on, regions run one after another: launches of other threads and of queues wait (record_turn.h).

cdef extern from "tools/record_blocks.h" nogil:
    struct gompy_record_block:
        uintptr_t start
        size_t size
        int device
        int image
    struct gompy_record_entry:
        size_t entry
        size_t size
        uintptr_t host
        uintptr_t target
        int kind
        int detail
    pthread_mutex_t gompy_record_lock
    bint record_over "gompy_record.over"
    int record_pid "gompy_record.pid"
    uint64_t record_dropped "gompy_record.dropped"
    size_t record_used "gompy_record.used"
    size_t num_record_blocks "gompy_record_memory.num_blocks"
    gompy_record_block *record_blocks "gompy_record_memory.blocks"
    uint64_t record_construct "gompy_record_maps.construct"
    size_t record_entries_used "gompy_record_maps.used"
    gompy_record_entry *record_entries "gompy_record_maps.entries"
    uint64_t gompy_record_number(const char *name)
    double gompy_record_seconds()
    bint gompy_record_open(const char *path)
    void gompy_record_close(uint64_t regions)
    void gompy_record_put(const char *format, ...)
    void gompy_record_string(const char *text)
    void gompy_record_end_line(const void *bytes, size_t n)
    bint gompy_record_has_room(uint64_t n)
    void gompy_record_add_block(int device, uintptr_t start, size_t size, int image)
    void gompy_record_drop_block(int device, uintptr_t start)
    void gompy_record_drop_image(int device, int image)
    void gompy_record_note(uint64_t construct, const gompy_record_entry *entry)
    long long gompy_record_contents(gompy_record_block *block, void *device,
                                    int (*peek)(void *, void *, uintptr_t, size_t) noexcept nogil)

cdef extern from "tools/record_turn.h" nogil:
    double turn_limit "gompy_turn.limit"
    bint gompy_turn_take(const void *function, uint64_t *launch)
    void gompy_turn_hold(gompy_lock_t *held, uint64_t region, const char *name)
    bint gompy_turn_keep()
    void gompy_turn_give()
    void *gompy_turn_ticket()
    void gompy_turn_ran(void *ticket)
    bint gompy_turn_await()
    void gompy_turn_inside(int more)

cdef enum:
    RECORD_SUBSEQUENT = 1 << 7  # of GOMP_target_ext's words: the value is the next one

cdef extern from *:
    """
    struct gompy_ptx_object { const char *code; size_t size; };
    struct gompy_ptx_function { const char *name; uint16_t dim[3]; };
    struct gompy_ptx_data  /* what GCC's mkoffload registers for a GPU */
    {
      const struct gompy_ptx_object *objects;
      unsigned num_objects;
      const char **variables;
      unsigned num_variables;
      const struct gompy_ptx_function *functions;
      unsigned num_functions, num_indirect;
      const uint64_t *indirect;
    };
    """
    struct PtxObject "gompy_ptx_object":
        const char *code
        size_t size
    struct PtxFunction "gompy_ptx_function":
        const char *name
        unsigned short dim[3]
    struct PtxData "gompy_ptx_data":
        const PtxObject *objects
        unsigned num_objects
        const char **variables
        unsigned num_variables
        const PtxFunction *functions
        unsigned num_functions
        unsigned num_indirect  # this and the next: of clang's images
        const uint64_t *indirect

cdef const char *record_only
cdef uint64_t record_first
cdef uint64_t record_regions  # begun
cdef int recorded_images
cdef extern from *:
    """
    static __thread int gompy_record_depth;
    """
    int record_depth "gompy_record_depth"


# --- images
# ----------------------------------------------------------------------------------------------------------------

cdef void record_indirect(const uint64_t *indirect, size_t count) noexcept nogil:
    """The host addresses of the functions of `declare target indirect` of an image by clang."""
    cdef size_t i
    gompy_record_put(b", \"indirect\": [")
    for i in range(count):
        gompy_record_put(b"%s%llu", <const char *> b", " if i else <const char *> b"",
                         <unsigned long long> indirect[i])
    gompy_record_put(b"]")


cdef void record_mic_image(const OffloadImage *image, const TargetData *data) noexcept nogil:
    """The ELF file; its tables are in it, or (clang) it is asked for names."""
    cdef size_t size = <const char *> data.image_end - <const char *> data.image_start
    cdef const TgtSymbol *symbols = <const TgtSymbol *> data.objects
    cdef bint by_clang = image.version != 0 and data.magic == IMAGE_MAGIC and data.accel == ACCEL_LLVM
    cdef size_t i
    gompy_record_put(b", \"kind\": \"intelmic\", \"clang\": %s",
                     <const char *> b"true" if by_clang else <const char *> b"false")
    if by_clang:
        gompy_record_put(b", \"functions\": [")
        for i in range(data.image_funcs):
            gompy_record_put(<const char *> b", [" if i else <const char *> b"[")
            gompy_record_string(symbols[i].name)
            gompy_record_put(b", 0, 0, 0]")
        gompy_record_put(b"], \"variables\": [")
        for i in range(data.image_funcs, data.image_funcs + data.image_vars):
            gompy_record_put(<const char *> b", " if i > data.image_funcs else <const char *> b"")
            gompy_record_string(symbols[i].name)
        gompy_record_put(b"]")
        record_indirect(<const uint64_t *> data.host_begin,
                        <const uint64_t *> data.host_end - <const uint64_t *> data.host_begin)
    gompy_record_put(b", \"bytes\": %zu", size)
    gompy_record_end_line(data.image_start, size)


cdef void record_ptx_image(const PtxData *data) noexcept nogil:
    """Names, then the PTX texts one behind the other."""
    cdef size_t size = 0
    cdef char *all
    cdef unsigned i
    gompy_record_put(b", \"kind\": \"nvptx\", \"objects\": [")
    for i in range(data.num_objects):
        size += data.objects[i].size
        gompy_record_put(b"%s%zu", <const char *> b", " if i else <const char *> b"", data.objects[i].size)
    gompy_record_put(b"], \"variables\": [")
    for i in range(data.num_variables):
        gompy_record_put(<const char *> b", " if i else <const char *> b"")
        gompy_record_string(data.variables[i])
    gompy_record_put(b"], \"functions\": [")
    for i in range(data.num_functions):
        gompy_record_put(<const char *> b", [" if i else <const char *> b"[")
        gompy_record_string(data.functions[i].name)
        gompy_record_put(b", %u, %u, %u]", <unsigned> data.functions[i].dim[0], <unsigned> data.functions[i].dim[1],
                         <unsigned> data.functions[i].dim[2])
    all = <char *> malloc(size + 1)
    if all == NULL:
        size = 0
    gompy_record_put(b"]")
    if data.num_functions and data.functions[0].dim[0] == KERNEL_BY_CLANG:
        record_indirect(data.indirect, data.num_indirect)
    gompy_record_put(b", \"bytes\": %zu", size)
    size = 0
    for i in range(data.num_objects if all != NULL else 0):
        memcpy(all + size, data.objects[i].code, data.objects[i].size)
        size += data.objects[i].size
    gompy_record_end_line(all, size)
    free(all)


cdef void record_images() noexcept nogil:
    """Those that have come since the last time.  The lock is held."""
    global recorded_images
    cdef const OffloadImage *image
    while recorded_images < num_offload_images and gompy_record_has_room(1 << 12):
        image = &offload_images[recorded_images]
        gompy_record_put(b"{\"is\": \"image\", \"image\": %d, \"type\": %d, \"version\": %u", recorded_images,
                         image.type, image.version)
        if image.type == GOMP_DEVICE_INTEL_MIC:
            record_mic_image(image, <const TargetData *> image.target_data)
        elif image.type == GOMP_DEVICE_NVIDIA_PTX:
            record_ptx_image(<const PtxData *> image.target_data)
        else:
            gompy_record_put(b", \"kind\": \"\", \"bytes\": 0")
            gompy_record_end_line(NULL, 0)
        recorded_images += 1


cdef int number_of_image(const void *data) noexcept nogil:
    cdef int i
    for i in range(num_offload_images):
        if offload_images[i].target_data == data:
            return i
    return -1


cdef size_t functions_in_image(const OffloadImage *image) noexcept nogil:
    cdef const uintptr_t **table = <const uintptr_t **> image.host_table
    if image.description != NULL:
        return image.description.image_funcs
    return table[1] - table[0]


cdef void record_loading(const HookEvent *event) noexcept nogil:
    """An image is on a device, or leaves it.  The lock is held."""
    cdef const AddrPair *pairs = <const AddrPair *> event.pairs
    cdef int number = number_of_image(event.image)
    cdef size_t i, functions
    if number < 0:
        return
    if event.detail == IMAGE_UNLOAD:
        gompy_record_drop_image(event.device, number)
        return
    record_images()
    if pairs == NULL or not gompy_record_has_room(64 * event.count + 100):
        return
    functions = functions_in_image(&offload_images[number])
    gompy_record_put(b"{\"is\": \"loaded\", \"image\": %d, \"device\": %d, \"name\": ", number, event.device)
    gompy_record_string(event.device_name)
    gompy_record_put(b", \"functions\": %zu, \"table\": [", functions)
    for i in range(event.count):
        gompy_record_put(b"%s[%lu, %lu]", <const char *> b", " if i else <const char *> b"",
                         <unsigned long> pairs[i].start, <unsigned long> pairs[i].end)
        if i >= functions and pairs[i].start and pairs[i].end > pairs[i].start:
            gompy_record_add_block(event.device, pairs[i].start, pairs[i].end - pairs[i].start, number)
    gompy_record_put(b"]")
    gompy_record_end_line(NULL, 0)


# --- regions
# ---------------------------------------------------------------------------------------------------------------

cdef int peek_for_recording(void *device, void *to, uintptr_t start, size_t size) noexcept nogil:
    return device_peek(<DeviceDescr *> device, to, <const void *> start, size)


cdef bint record_contents(DeviceDescr *dev) noexcept nogil:
    """Have all of a device's memory in the file, and in the line where.  False: there is no room."""
    cdef size_t i
    cdef long long *blobs = <long long *> malloc((num_record_blocks + 1) * sizeof(long long))
    if blobs == NULL:
        return False
    for i in range(num_record_blocks):
        if record_blocks[i].device == dev.number:
            blobs[i] = gompy_record_contents(&record_blocks[i], dev, peek_for_recording)
    if not record_over:
        gompy_record_put(b"{\"memory\": [")
        for i in range(num_record_blocks):
            if record_blocks[i].device == dev.number:
                if record_used > 12:
                    gompy_record_put(b", ")
                gompy_record_put(b"[%lu, %zu, %lld]", <unsigned long> record_blocks[i].start, record_blocks[i].size,
                                 blobs[i])
        gompy_record_put(b"], ")
    free(blobs)
    return not record_over


cdef void record_objects(DeviceDescr *dev) noexcept nogil:
    """What of the program's is mapped: host address, size, device address."""
    cdef RangeCursor place = all_ranges(&dev.mem_map)
    cdef SplayNode *node
    cdef bint some = False
    gompy_record_put(b", \"objects\": [")
    while True:
        node = next_range(&place)
        if node == NULL:
            break
        if node.ref_kind != REF_LINK and (not of_image(node) or node.host_end - node.host_start > 1
                                          or node.null_pointer):
            gompy_record_put(b"%s[%lu, %lu, %lu]", <const char *> b", " if some else <const char *> b"",
                             <unsigned long> node.host_start, <unsigned long> (node.host_end - node.host_start),
                             <unsigned long> device_address(node, node.host_start))
            some = True
    gompy_record_put(b"]")


cdef void record_shape(const KernelLaunch *shape) noexcept nogil:
    """What a kernel by clang on a GPU is launched with."""
    cdef size_t i
    gompy_record_put(b", \"arguments\": 0, \"words\": [")
    for i in range(shape.count):
        gompy_record_put(b"%s%llu", <const char *> b", " if i else <const char *> b"",
                         <unsigned long long> shape.words[i])
    gompy_record_put(b"], \"limits\": [], \"shape\": [%d, %d, %llu, %u, %u, %u, %u, %u, %u, %u, %zu]",
                     shape.teams, shape.threads, <unsigned long long> shape.rounds, shape.shared, shape.grid[0],
                     shape.grid[1], shape.grid[2], shape.block[0], shape.block[1], shape.block[2], shape.size)


cdef void record_words(DeviceDescr *dev, const HookEvent *event) noexcept nogil:
    """The argument words, and what is asked of teams, threads and gangs."""
    cdef uintptr_t word
    cdef void **limits = <void **> event.limits
    cdef bint next_is_value = False
    cdef size_t i
    gompy_record_put(b", \"arguments\": %lu, \"words\": [", <unsigned long> event.target)
    for i in range(event.words):
        word = 0
        if event.arguments != NULL:
            word = <uintptr_t> event.arguments[i]
        elif event.target:
            device_peek(dev, &word, <void *> (event.target + i * sizeof(void *)), sizeof(word))
        gompy_record_put(b"%s%lu", <const char *> b", " if i else <const char *> b"", <unsigned long> word)
    gompy_record_put(b"], \"limits\": [")
    i = 0
    while limits != NULL and (limits[0] != NULL or next_is_value):
        gompy_record_put(b"%s%ld", <const char *> b", " if i else <const char *> b"", <long> limits[0])
        next_is_value = not next_is_value and <intptr_t> limits[0] & RECORD_SUBSEQUENT
        limits += 1
        i += 1
    gompy_record_put(b"]")
    if event.dims != NULL:
        gompy_record_put(b", \"dims\": [%u, %u, %u]", event.dims[0], event.dims[1], event.dims[2])


cdef void record_maps(const HookEvent *event) noexcept nogil:
    """The directive's entries: number, kind, host address, size, device address, what became of it."""
    cdef gompy_record_entry *entry
    cdef size_t i
    gompy_record_put(b", \"maps\": [")
    for i in range(record_entries_used if event.construct != NULL and event.construct.number == record_construct
                   else 0):
        entry = &record_entries[i]
        gompy_record_put(b"%s[%zu, %d, %lu, %zu, %lu, \"%s\"]", <const char *> b", " if i else <const char *> b"",
                         entry.entry, entry.kind, <unsigned long> entry.host, entry.size,
                         <unsigned long> entry.target, map_state_word(entry.detail))
    gompy_record_put(b"]")


cdef bint recording_is_full() noexcept nogil:
    """Whether no region comes into the file any more, unless one is left out."""
    return record_over or record_regions - record_dropped >= record_first


cdef bint is_recorded(const char *function) noexcept nogil:
    """Whether a region is wanted."""
    return not recording_is_full() and (record_only == NULL or strstr(function, record_only) != NULL)


cdef void record_begin(HookEvent *event, int slot, DeviceDescr *dev, uint64_t launch, char *name,
                       size_t room) noexcept nogil:
    """Before a region.  Both locks are held, and it has the turn.  name: gets the function's."""
    global record_regions
    cdef char place[1024]
    cdef uint64_t offset
    cdef const char *entry = name_of_entry(event.region)
    name[0] = 0
    if entry != NULL:
        snprintf(name, room, "%s", entry)
    else:
        gompy_symbol_of_host(<uint64_t> event.region, STT_FUNC, name, room, &offset)
    if not is_recorded(name) or not record_contents(dev):
        return
    gompy_record_put(b"\"is\": \"region\", \"region\": %llu, \"device\": %d, \"name\": ",
                     <unsigned long long> record_regions, event.device)
    gompy_record_string(event.device_name)
    gompy_record_put(b", \"function\": ")
    gompy_record_string(name)
    gompy_record_put(b", \"launch\": %llu, \"word\": %lu, \"host\": %lu, \"what\": ",
                     <unsigned long long> launch, <unsigned long> event.function, <unsigned long> event.region)
    gompy_record_string(event.construct.what if event.construct != NULL else <const char *> b"")
    gompy_record_put(b", ")
    if event.construct != NULL:
        trace_place(event.construct.where, place, sizeof(place))
        gompy_record_put(b"%s", <const char *> place)
    gompy_record_put(b"\"teams\": %u", event.teams)
    if event.shape != NULL:
        record_shape(<const KernelLaunch *> event.shape)
    else:
        record_words(dev, event)
    record_maps(event)
    record_objects(dev)
    gompy_record_end_line(NULL, 0)
    record_regions += 1
    event.own[slot] = record_regions


cdef void record_end(HookEvent *event, int slot, DeviceDescr *dev) noexcept nogil:
    """After a region.  Both locks are held, and it has the turn."""
    if record_over or not record_contents(dev):
        return
    gompy_record_put(b"\"is\": \"after\", \"region\": %llu", <unsigned long long> (event.own[slot] - 1))
    gompy_record_end_line(NULL, 0)


cdef void enter_recording(DeviceDescr *dev, void *queue) noexcept nogil:
    """Wait for a queue, then take the device's lock, then the recording's: in the order in which a mapping has them.

    What a queue calls at its end may want the device's lock.
    """
    if queue != NULL:
        device_settle(dev, queue)
    gompy_lock_acquire(&dev.lock)
    pthread_mutex_lock(&gompy_record_lock)


cdef void begin_record(HookEvent *event, int slot, DeviceDescr *dev, uint64_t launch) noexcept nogil:
    """A region begins that has the turn.  Until its end the device's lock is held: other threads' mappings wait."""
    cdef char name[1024]
    enter_recording(dev, event.queue)
    record_begin(event, slot, dev, launch, name, sizeof(name))
    pthread_mutex_unlock(&gompy_record_lock)
    if event.own[slot]:
        gompy_turn_hold(&dev.lock, event.own[slot] - 1, name)
    else:
        gompy_lock_release(&dev.lock)
        if recording_is_full():
            name[0] = 0
        gompy_turn_hold(NULL, 0, name)


cdef bint has_run(HookEvent *event, int slot, DeviceDescr *dev) noexcept nogil:
    """Wait for a region in a queue.  False: it runs beside others, and gives back by itself what it has of turns.

    Its queue is waited for without the device's lock, which what the queue calls may want.
    """
    if gompy_turn_keep() and event.own[slot]:
        gompy_lock_release(&dev.lock)
    device_queue_call(dev, event.queue, gompy_turn_ran, gompy_turn_ticket())
    return gompy_turn_await()


cdef void end_launch_record(HookEvent *event, int slot, DeviceDescr *dev) noexcept nogil:
    """A region ends, or (in a queue) has been launched."""
    if event.queue != NULL and (event.own[slot] or not recording_is_full()):
        if not has_run(event, slot, dev):
            return
        if event.own[slot]:
            enter_recording(dev, event.queue)
    elif gompy_turn_keep() and event.own[slot]:
        pthread_mutex_lock(&gompy_record_lock)
    else:
        gompy_turn_give()
        return
    if event.own[slot]:
        record_end(event, slot, dev)
        pthread_mutex_unlock(&gompy_record_lock)
        gompy_lock_release(&dev.lock)
    gompy_turn_give()


cdef void record_launch(HookEvent *event, int slot) noexcept nogil:
    """A region begins or ends."""
    global record_depth
    cdef DeviceDescr *dev = &devices[event.device]
    cdef uint64_t launch
    if event.phase == PHASE_BEGIN:
        record_depth += 1
        event.own[slot] = 0
        if record_depth > 1:
            return  # the host launches it for a region: what that one does is recorded
        if gompy_turn_take(event.region, &launch):
            begin_record(event, slot, dev, launch)
        return
    record_depth -= 1
    if record_depth == 0:
        end_launch_record(event, slot, dev)


cdef void recording_hook(HookEvent *event, int slot) noexcept nogil:
    """An event for the recording.  Not in a forked child."""
    cdef gompy_record_entry entry
    if getpid() != record_pid:
        return
    if event.kind == HOOK_CONSTRUCT and record_depth:
        gompy_turn_inside(1 if event.phase == PHASE_BEGIN else -1)
    if event.device < 0:
        return
    if event.kind == HOOK_LAUNCH:
        record_launch(event, slot)
    elif event.kind == HOOK_MAP:
        if event.construct != NULL and event.construct.region != NULL:
            entry.entry = event.entry
            entry.size = event.size
            entry.host = event.host
            entry.target = event.target
            entry.kind = event.map_kind
            entry.detail = event.detail
            gompy_record_note(event.construct.number, &entry)
    elif event.kind & (HOOK_ALLOC | HOOK_FREE | HOOK_IMAGE):
        pthread_mutex_lock(&gompy_record_lock)
        if event.kind == HOOK_ALLOC and event.phase == PHASE_END and event.good:
            gompy_record_add_block(event.device, event.target, event.size, -1)
        elif event.kind == HOOK_FREE and event.phase == PHASE_BEGIN:
            gompy_record_drop_block(event.device, event.target)
        elif event.kind == HOOK_IMAGE and event.good and \
                event.phase == (PHASE_END if event.detail == IMAGE_LOAD else PHASE_BEGIN):
            record_loading(event)
        pthread_mutex_unlock(&gompy_record_lock)


# --- begin and end
# ---------------------------------------------------------------------------------------------------------

cdef void begin_recording() noexcept nogil:
    """GOMPY_RECORD_FILE=/file: make it, and subscribe."""
    global record_only, record_first, launches_in_turn, turn_limit
    cdef const char *path = secure_getenv(b"GOMPY_RECORD_FILE")
    if path == NULL or not path[0]:
        return
    if path[0] != c'/':
        gompy_note(b"GOMPY_RECORD_FILE=%s: not an absolute path; nothing is recorded", path)
        return
    if not gompy_record_open(path):
        gompy_note(b"GOMPY_RECORD_FILE=%s: cannot be made: %s", path, strerror(errno))
        return
    record_only = secure_getenv(b"GOMPY_RECORD_ONLY")
    if record_only != NULL and not record_only[0]:
        record_only = NULL
    record_first = gompy_record_number(b"GOMPY_RECORD_FIRST")
    turn_limit = gompy_record_seconds()
    launches_in_turn = True
    gompy_subscribe(HOOK_LAUNCH | HOOK_MAP | HOOK_ALLOC | HOOK_FREE | HOOK_IMAGE | HOOK_CONSTRUCT, recording_hook)


cdef void end_recording() noexcept nogil:
    """The program ends."""
    if record_pid == 0 or getpid() != record_pid:
        return
    gompy_record_close(record_regions)
