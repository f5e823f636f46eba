# Offload images: their functions and variables in a device's tables (libgomp: gomp_load_image_to_device).

cdef struct OffloadImage:
    unsigned version  # GOMP_VERSION_PACK (library, device)
    int type
    const void *host_table  # pointers: functions begin, end, variables begin, end; from GOMP_VERSION 3 on indirect ones
    const void *target_data
    const TargetData *description  # of its objects; NULL: entries are paired by position

cdef OffloadImage *offload_images
cdef int num_offload_images


cdef inline const TargetData *our_target_data(unsigned version, int type, const void *data) noexcept nogil:
    """The target data, if it is in our form (GCC's own has only two pointers and registers without a version)."""
    if type == GOMP_DEVICE_INTEL_MIC and version >> 16 >= 1 and (<const TargetData *> data).magic == IMAGE_MAGIC:
        return <const TargetData *> data
    return NULL


cdef FunctionTable *new_function_table(FunctionTable *old, size_t more) noexcept nogil:
    """A copy of a table with room for more; the old one stays for readers that are in it."""
    cdef size_t size = 16
    cdef size_t i
    cdef size_t count = more + (old.count if old != NULL else 0)
    cdef FunctionTable *table
    while size < 2 * count:
        size *= 2
    table = <FunctionTable *> calloc(1, sizeof(FunctionTable) + size * sizeof(FunctionSlot))
    if table == NULL:
        return NULL
    table.mask = size - 1
    table.slots = <FunctionSlot *> (table + 1)
    table.older = old
    if old != NULL:
        for i in range(old.mask + 1):
            if old.slots[i].host:
                add_function(table, old.slots[i].host, old.slots[i].device, old.slots[i].calls)
    return table


cdef inline size_t function_hash(uintptr_t host) noexcept nogil:
    return (host >> 2) ^ (host >> 9)


cdef void add_function(FunctionTable *table, uintptr_t host, uintptr_t device, uint64_t calls=0) noexcept nogil:
    cdef size_t i = function_hash(host) & table.mask
    while table.slots[i].host and table.slots[i].host != host:
        i = (i + 1) & table.mask
    if not table.slots[i].host:
        table.count += 1
    table.slots[i].host = host
    table.slots[i].device = device
    table.slots[i].calls = calls


cdef inline uintptr_t find_function(DeviceDescr *dev, uintptr_t host) noexcept nogil:
    """The device's word for a host function, or 0."""
    return look_function_up(<FunctionTable *> gompy_load_ptr(&dev.functions), host)


cdef uintptr_t look_function_up(const FunctionTable *table, uintptr_t host) noexcept nogil:
    """What a table has for a function, or 0.  No lock: a table never changes."""
    cdef size_t i
    if table == NULL:
        return 0
    i = function_hash(host) & table.mask
    while table.slots[i].host:
        if table.slots[i].host == host:
            gompy_about_one_more(&table.slots[i].calls)
            return table.slots[i].device
        i = (i + 1) & table.mask
    return 0


cdef int add_link(
    DeviceDescr *dev, uintptr_t start, uintptr_t size, uintptr_t device, const void *image
) noexcept nogil:
    cdef LinkStorage *links = <LinkStorage *> realloc(dev.links, (dev.num_links + 1) * sizeof(LinkStorage))
    if links == NULL:
        return gompy_fail(b"Out of memory allocating %lu bytes", <unsigned long> sizeof(LinkStorage))
    dev.links = links
    links[dev.num_links].host_start = start
    links[dev.num_links].host_end = start + size
    links[dev.num_links].device = device
    links[dev.num_links].image = image
    dev.num_links += 1
    return 0


cdef extern from *:
    """
    #include <link.h>
    static uintptr_t gompy_object_size (uintptr_t host)
    {
      Dl_info info;
      const ElfW (Sym) *symbol = NULL;
      if (dladdr1 ((void *) host, &info, (void **) &symbol, RTLD_DL_SYMENT) == 0 || symbol == NULL)
        return 0;
      return info.dli_saddr == (void *) host ? symbol->st_size : 0;
    }
    """
    # of a library's object, by its symbol; 0: not known
    uintptr_t object_size "gompy_object_size"(uintptr_t host) nogil


cdef int add_image_keys(DeviceDescr *dev, TargetMem *tgt, uintptr_t **table, Pairing *p, const AddrPair *pairs,
                        bint link_is_storage) noexcept nogil:
    """Enter an image's functions and variables in the device's tables."""
    cdef FunctionTable *functions = new_function_table(dev.functions, p.host_funcs)
    cdef SplayNode *node = tgt.lasting.nodes
    cdef SplayNode *known
    cdef const AddrPair *pair
    cdef uintptr_t host, size, pair_size
    cdef size_t i
    if functions == NULL:
        return gompy_fail(b"Out of memory allocating %lu bytes", <unsigned long> (p.host_funcs * sizeof(FunctionSlot)))
    for i in range(p.host_funcs):
        if p.funcs[i] < 0:
            continue
        host = table[0][i]
        known = range_lookup(&dev.mem_map, host, host + 1)
        if known != NULL and known.host_start == host and known.host_end == host + 1 and of_image(known):
            # The linker has folded regions whose host code is identical (--icf=all), or clang gave several libraries
            # the region of one inline function: one stands for all.
            continue
        node.host_start = host
        node.host_end = host + 1
        node.tgt = tgt
        node.tgt_offset = pairs[p.funcs[i]].start
        node.ref_kind = REF_INFINITY
        if range_insert(&dev.mem_map, node):
            return -1
        add_function(functions, host, node.tgt_offset)
        node += 1
    for i in range(p.host_vars):
        if p.vars[i] < 0:
            continue
        pair = &pairs[p.image_funcs + p.vars[i]]
        host = table[2][2 * i]
        if host == 0:
            continue  # a weak reference to what is not in the program
        size = table[2][2 * i + 1] & ~LINK_BIT
        if size == SIZE_UNKNOWN:
            size = object_size(host)
            pair_size = SIZE_UNKNOWN
            if size == 0:
                continue
        else:
            pair_size = size
        node.host_start = host
        node.host_end = host + size
        node.tgt = tgt
        node.tgt_offset = pair.start
        node.null_pointer = 1
        if table[2][2 * i + 1] & LINK_BIT and not link_is_storage:
            node.ref_kind = REF_LINK
        elif pair_size != pair.end - pair.start:
            return gompy_fail(b"Cannot map target variables (size mismatch)")
        elif table[2][2 * i + 1] & LINK_BIT:
            if add_link(dev, host, size, pair.start, tgt.lasting.image):
                return -1
            continue
        else:
            node.ref_kind = REF_INFINITY
            known = range_lookup(&dev.mem_map, host, host + size)
            if known != NULL and known.host_start == host and known.host_end == host + size and of_image(known):
                continue  # vague linkage: an object that several libraries define, one for all of them on the host
        if range_insert(&dev.mem_map, node):
            return -1
        node += 1
    tgt.lasting.num_nodes = node - tgt.lasting.nodes
    gompy_store_ptr(&dev.functions, functions)
    return 0


cdef int add_ancestors(DeviceDescr *dev, const uintptr_t *hosts, const Pairing *p,
                       const uint64_t *reverse) noexcept nogil:
    """Note what an image calls the host's functions; the plugin's table has 0 for those that it does not call."""
    cdef FunctionTable *table = new_function_table(dev.ancestors, p.host_funcs)
    cdef size_t i
    if table == NULL:
        return gompy_fail(b"Out of memory allocating %lu bytes", <unsigned long> (p.host_funcs * sizeof(FunctionSlot)))
    for i in range(p.host_funcs):
        if p.funcs[i] >= 0 and reverse[p.funcs[i]]:
            add_function(table, reverse[p.funcs[i]], hosts[i])
    gompy_store_ptr(&dev.ancestors, table)
    return 0


cdef int load_image(DeviceDescr *dev, OffloadImage *image) noexcept nogil:
    """Load an image to a device that is locked."""
    cdef uintptr_t **table = <uintptr_t **> image.host_table
    cdef const TargetData *data = image.description
    cdef AddrPair *pairs = NULL
    cdef uint64_t *reverse = NULL
    cdef Pairing p
    cdef long *index
    cdef TargetMem *tgt
    cdef size_t i
    cdef int count
    cdef int rc = 0
    memset(&p, 0, sizeof(p))
    p.host_funcs = table[1] - table[0]
    p.host_vars = (table[3] - table[2]) // 2
    p.image_funcs = p.host_funcs
    p.image_vars = p.host_vars
    if data != NULL:
        if data.abi != IMAGE_ABI:
            return gompy_fail(
                    b"libgompy: %s: the device image has ABI %u, this libgompy reads %u; link the program again",
                    or_text(data.name, b"program"), data.abi, <unsigned> IMAGE_ABI)
        p.image_funcs = data.image_funcs
        p.image_vars = data.image_vars
        p.records = data.host_begin
        p.num_records = data.host_end - data.host_begin
        p.objects = data.objects
        p.num_objects = data.num_objects
        p.program = data.name
    index = <long *> malloc((p.host_funcs + p.host_vars + 1) * sizeof(long))
    tgt = lasting_target_mem(dev, 0, p.host_funcs + p.host_vars)
    if index == NULL or tgt == NULL:
        return gompy_fail(b"Out of memory allocating %lu bytes",
                          <unsigned long> ((p.host_funcs + p.host_vars) * sizeof(SplayNode)))
    p.funcs = index
    p.vars = index + p.host_funcs
    tgt.refcount = 1
    tgt.lasting.image = image.target_data
    memset(tgt.lasting.nodes, 0, tgt.lasting.num_nodes * sizeof(SplayNode))
    if data != NULL:
        rc = pair_tables(&p)
    else:
        for i in range(p.host_funcs):
            p.funcs[i] = <long> i
        for i in range(p.host_vars):
            p.vars[i] = <long> i
    if rc == 0:
        gompy_output_first()  # constructors of its variables may print
        count = device_load_image(dev, image.version, image.target_data, &pairs,
                                  &reverse if calls_of_host_required() else NULL, indirect_functions(image))
        if count < 0:
            rc = gompy_fail(b"device %d (%s) could not load an image", dev.number, dev.name)
        elif count > 0 and pairs == NULL:
            rc = gompy_fail(b"device %d (%s) loaded an image, but gives no table of it", dev.number, dev.name)
        elif <size_t> count != p.image_funcs + p.image_vars and <size_t> count != p.image_funcs + p.image_vars + 1:
            rc = gompy_fail(b"Cannot map target functions or variables (expected %u, have %u)",
                            <unsigned> (p.image_funcs + p.image_vars), <unsigned> count)
        else:
            rc = add_image_keys(dev, tgt, table, &p, pairs, data != NULL and data.accel == ACCEL_STOCK)
            if rc == 0 and <size_t> count > p.image_funcs + p.image_vars:
                rc = set_device_icvs(dev, &pairs[count - 1])
            if rc == 0 and reverse != NULL:
                rc = add_ancestors(dev, table[0], &p, reverse)
        free(pairs)
        free(reverse)
    free(index)
    if rc == 0:
        tgt.lasting.prev = dev.images
        dev.images = tgt
    return rc


cdef const uint64_t *indirect_functions(OffloadImage *image) noexcept nogil:
    """The host's table of indirect functions, or NULL if the program has none."""
    cdef const uintptr_t *table = <const uintptr_t *> image.host_table
    if image.version >> 16 < GOMP_VERSION_INDIRECT_FUNCS or table[4] == table[5]:
        return NULL
    return <const uint64_t *> table[4]


cdef int device_icv(const char *name, int number) noexcept nogil:
    """What the environment says of an ICV of a device: NAME_DEV_<n>, else NAME_DEV, else NAME_ALL; 0: nothing."""
    cdef char variable[64]
    cdef const char *text
    snprintf(variable, sizeof(variable), b"%s_DEV_%d", name, number)
    text = secure_getenv(variable)
    if text == NULL:
        snprintf(variable, sizeof(variable), b"%s_DEV", name)
        text = secure_getenv(variable)
    if text == NULL:
        snprintf(variable, sizeof(variable), b"%s_ALL", name)
        text = secure_getenv(variable)
    return atoi(text) if text != NULL else 0


cdef int set_device_icvs(DeviceDescr *dev, const AddrPair *variable) noexcept nogil:
    """Tell the image which device it is on, if it wants to know ({0, 0}: it does not), and from GCC 13 on its ICVs."""
    cdef uintptr_t size = variable.end - variable.start
    if variable.start == 0:
        return 0
    if size != sizeof(int) and size != sizeof(DeviceIcvs):
        return gompy_fail(b"offload plugin managed 'device_num' not of expected format")
    dev.icvs.device_num = dev.number
    dev.icvs.default_device = stock_default_device() if stock_default_device != NULL else 0
    if dev.type == GOMP_DEVICE_NVIDIA_PTX and size == sizeof(DeviceIcvs) and device_sets_icvs(dev):
        dev.icvs_address = variable.start
    return copy_to_device(dev, variable.start, &dev.icvs, size, NULL)


cdef void read_icvs_back(DeviceDescr *dev) noexcept nogil:
    """What a region has set by omp_set_num_teams or omp_set_teams_thread_limit holds for the device's next ones."""
    cdef int failed = 0
    gompy_lock_acquire(&dev.lock)
    if dev.state == DEVICE_INITIALIZED and dev.icvs_address:
        failed = copy_to_host(dev, &dev.icvs, dev.icvs_address, sizeof(DeviceIcvs))
    gompy_lock_release(&dev.lock)
    if failed:
        fatal_failure()


cdef FunctionTable *without_gone(DeviceDescr *dev, FunctionTable *old) noexcept nogil:
    """A table of ancestors without the functions that the device has no more."""
    cdef FunctionTable *table
    cdef size_t i
    if old == NULL:
        return NULL
    table = new_function_table(NULL, old.count)
    if table == NULL:
        return old
    for i in range(old.mask + 1):
        if old.slots[i].host and range_lookup(&dev.mem_map, old.slots[i].device, old.slots[i].device + 1) != NULL:
            add_function(table, old.slots[i].host, old.slots[i].device)
    table.older = old
    return table


cdef int unload_image(DeviceDescr *dev, OffloadImage *image) noexcept nogil:
    """Remove an image and its keys from a device that is locked."""
    cdef TargetMem **at = &dev.images
    cdef TargetMem *tgt
    cdef SplayNode *node
    cdef SplayNode *found
    cdef FunctionTable *old = dev.functions
    cdef FunctionTable *functions
    cdef size_t i, kept
    while at[0] != NULL and at[0].lasting.image != image.target_data:
        at = &at[0].lasting.prev
    tgt = at[0]
    if tgt == NULL:
        return 0
    gompy_output_first()
    if not device_unload_image(dev, image.version, image.target_data):
        return gompy_fail(b"image unload fail")
    at[0] = tgt.lasting.prev
    for i in range(tgt.lasting.num_nodes):
        node = &tgt.lasting.nodes[i]
        found = range_lookup(&dev.mem_map, node.host_start, node.host_end)
        if found == node:
            node.removed = 1
            range_remove(&dev.mem_map, node)
            end_more(node)
            check_unloaded(dev, node)
        elif found != NULL and found.more != NULL and found.more.link_key == node:
            found.more.link_key = NULL  # the variable is mapped: its key outlives the image
    dev.ancestors = without_gone(dev, dev.ancestors)
    functions = new_function_table(NULL, old.count if old != NULL else 0)
    if old != NULL and functions != NULL:
        for i in range(old.mask + 1):
            if old.slots[i].host and range_lookup(&dev.mem_map, old.slots[i].host, old.slots[i].host + 1) != NULL:
                add_function(functions, old.slots[i].host, old.slots[i].device, old.slots[i].calls)
        functions.older = old
    gompy_store_ptr(&dev.functions, functions)
    kept = 0
    for i in range(dev.num_links):
        if dev.links[i].image != image.target_data:
            dev.links[kept] = dev.links[i]
            kept += 1
    dev.num_links = kept
    return drop_target_mem(dev, tgt)


cdef int load_all_images(DeviceDescr *dev) noexcept nogil:
    """Load what is registered for a device that was just initialised; the image list and the device are locked."""
    cdef int i
    for i in range(num_offload_images):
        if offload_images[i].type == dev.type and load_image(dev, &offload_images[i]):
            return -1
    return 0
