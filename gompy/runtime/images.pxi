# Offload images: their list, and their functions and variables in a device's tables (libgomp: gomp_load_image_to_device).

cdef struct OffloadImage:
    unsigned version  # GOMP_VERSION_PACK (library, device)
    int type
    const void *host_table  # four pointers: functions begin, end, variables begin, end
    const void *target_data
    const TargetData *description  # of its objects; NULL: entries are paired by position

cdef OffloadImage *offload_images
cdef int num_offload_images


cdef inline const TargetData *our_target_data(unsigned version, int type, const void *data) noexcept nogil:
    """The target data, if it is in our form (GCC's own has only two pointers and registers without a version)."""
    if type == TYPE_INTEL_MIC and version >> 16 >= 1 and (<const TargetData *> data).magic == IMAGE_MAGIC:
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
                add_function(table, old.slots[i].host, old.slots[i].device)
    return table


cdef inline size_t function_hash(uintptr_t host) noexcept nogil:
    return (host >> 2) ^ (host >> 9)


cdef void add_function(FunctionTable *table, uintptr_t host, uintptr_t device) noexcept nogil:
    cdef size_t i = function_hash(host) & table.mask
    while table.slots[i].host and table.slots[i].host != host:
        i = (i + 1) & table.mask
    if not table.slots[i].host:
        table.count += 1
    table.slots[i].host = host
    table.slots[i].device = device


cdef uintptr_t find_function(DeviceDescr *dev, uintptr_t host) noexcept nogil:
    """The device's word for a host function, or 0.  No lock: the table never changes."""
    cdef FunctionTable *table = <FunctionTable *> gompy_load_ptr(&dev.functions)
    cdef size_t i
    if table == NULL:
        return 0
    i = function_hash(host) & table.mask
    while table.slots[i].host:
        if table.slots[i].host == host:
            return table.slots[i].device
        i = (i + 1) & table.mask
    return 0


cdef int add_link(DeviceDescr *dev, uintptr_t start, uintptr_t size, uintptr_t device, const void *image) noexcept nogil:
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
    uintptr_t object_size "gompy_object_size"(uintptr_t host) nogil  # of a library's object, by its symbol; 0: not known


cdef int add_image_keys(DeviceDescr *dev, TargetMem *tgt, uintptr_t **table, Pairing *p, const AddrPair *pairs,
                        bint link_is_storage) noexcept nogil:
    """Enter an image's functions and variables in the device's tables."""
    cdef FunctionTable *functions = new_function_table(dev.functions, p.host_funcs)
    cdef SplayNode *node = tgt.nodes
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
        known = splay_lookup(&dev.mem_map, host, host + 1)
        if known != NULL and known.tgt == tgt:
            continue  # the linker has folded regions whose host code is identical (--icf=all): one stands for all
        node.host_start = host
        node.host_end = host + 1
        node.tgt = tgt
        node.tgt_offset = pairs[p.funcs[i]].start
        node.ref_kind = REF_INFINITY
        if splay_insert(&dev.mem_map, node):
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
            if add_link(dev, host, size, pair.start, tgt.image):
                return -1
            continue
        else:
            node.ref_kind = REF_INFINITY
            known = splay_lookup(&dev.mem_map, host, host + size)
            if known != NULL and known.host_start == host and known.host_end == host + size and known.tgt.image != NULL:
                continue  # vague linkage: an object that several libraries define, one for all of them on the host
        if splay_insert(&dev.mem_map, node):
            return -1
        node += 1
    tgt.num_nodes = node - tgt.nodes
    gompy_store_ptr(&dev.functions, functions)
    return 0


cdef int load_image(DeviceDescr *dev, OffloadImage *image) noexcept nogil:
    """Load an image to a device that is locked."""
    cdef uintptr_t **table = <uintptr_t **> image.host_table
    cdef const TargetData *data = image.description
    cdef AddrPair *pairs = NULL
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
            return gompy_fail(b"libgompy: %s: the device image has ABI %u, this libgompy reads %u; link the program again",
                              or_text(data.name, b"program"), data.abi, <unsigned> IMAGE_ABI)
        p.image_funcs = data.image_funcs
        p.image_vars = data.image_vars
        p.records = data.host_begin
        p.num_records = data.host_end - data.host_begin
        p.objects = data.objects
        p.num_objects = data.num_objects
        p.program = data.name
    index = <long *> malloc((p.host_funcs + p.host_vars + 1) * sizeof(long))
    tgt = new_target_mem(dev, 0, p.host_funcs + p.host_vars)
    if index == NULL or tgt == NULL:
        return gompy_fail(b"Out of memory allocating %lu bytes",
                          <unsigned long> ((p.host_funcs + p.host_vars) * sizeof(SplayNode)))
    p.funcs = index
    p.vars = index + p.host_funcs
    tgt.refcount = 1
    tgt.image = image.target_data
    if data != NULL:
        rc = pair_tables(&p)
    else:
        for i in range(p.host_funcs):
            p.funcs[i] = <long> i
        for i in range(p.host_vars):
            p.vars[i] = <long> i
    if rc == 0:
        gompy_output_first()  # constructors of its variables may print
        count = dev.ops.load_image(dev.target_id, image.version, image.target_data, &pairs)
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
                rc = set_device_number(dev, &pairs[count - 1])
        free(pairs)
    free(index)
    if rc == 0:
        tgt.prev = dev.images
        dev.images = tgt
    return rc


cdef int set_device_number(DeviceDescr *dev, const AddrPair *variable) noexcept nogil:
    """Tell the image which device it is on, if it wants to know ({0, 0}: it does not)."""
    cdef int number = dev.number
    if variable.start == 0:
        return 0
    if variable.end - variable.start != sizeof(int):
        return gompy_fail(b"offload plugin managed 'device_num' not of expected format")
    return copy_to_device(dev, variable.start, &number, sizeof(int), NULL)


cdef int unload_image(DeviceDescr *dev, OffloadImage *image) noexcept nogil:
    """Remove an image and its keys from a device that is locked."""
    cdef TargetMem **at = &dev.images
    cdef TargetMem *tgt
    cdef SplayNode *node
    cdef SplayNode *found
    cdef FunctionTable *old = dev.functions
    cdef FunctionTable *functions
    cdef size_t i, kept
    while at[0] != NULL and at[0].image != image.target_data:
        at = &at[0].prev
    tgt = at[0]
    if tgt == NULL:
        return 0
    gompy_output_first()
    if not dev.ops.unload_image(dev.target_id, image.version, image.target_data):
        return gompy_fail(b"image unload fail")
    at[0] = tgt.prev
    for i in range(tgt.num_nodes):
        node = &tgt.nodes[i]
        found = splay_lookup(&dev.mem_map, node.host_start, node.host_end)
        if found == node:
            node.removed = 1
            splay_remove(&dev.mem_map, node)
        elif found != NULL and found.link_key == node:
            found.link_key = NULL  # the variable is mapped: its key outlives the image
    functions = new_function_table(NULL, old.count if old != NULL else 0)
    if old != NULL and functions != NULL:
        for i in range(old.mask + 1):
            if old.slots[i].host and splay_lookup(&dev.mem_map, old.slots[i].host, old.slots[i].host + 1) != NULL:
                add_function(functions, old.slots[i].host, old.slots[i].device)
        functions.older = old
    gompy_store_ptr(&dev.functions, functions)
    kept = 0
    for i in range(dev.num_links):
        if dev.links[i].image != image.target_data:
            dev.links[kept] = dev.links[i]
            kept += 1
    dev.num_links = kept
    return drop_target_mem(tgt)


cdef int load_all_images(DeviceDescr *dev) noexcept nogil:
    """Load what is registered for a device that was just initialised; the image list and the device are locked."""
    cdef int i
    for i in range(num_offload_images):
        if offload_images[i].type == dev.type and load_image(dev, &offload_images[i]):
            return -1
    return 0


cdef void forward_registration(const char *name, unsigned version, const void *host_table, int type,
                               const void *data) noexcept nogil:
    """Tell the stock libgomp of an image that its own devices may take (OpenACC is still its business)."""
    cdef void *fn
    if type == TYPE_INTEL_MIC:
        return
    fn = stock_symbol(name)
    if fn != NULL:
        (<void (*)(unsigned, const void *, int, const void *) noexcept nogil> fn)(version, host_table, type, data)


cdef public void GOMP_offload_register_ver(unsigned version, const void *host_table, int target_type,
                                           const void *target_data) noexcept nogil:
    """An image says that it is there."""
    gompy_offload_register(version, host_table, target_type, target_data,
                           our_target_data(version, target_type, target_data))


cdef void refuse_newer(unsigned version) noexcept nogil:
    """End the program: its tables, launch arguments and device numbers mean other things (gompy/objects/releases.py)."""
    gompy_fatal(b"Library too old for offload (version %u < %u): the program was linked by %s, and gompy runs programs "
                b"of gcc 12 (which gompcc takes where it is installed)", <unsigned> GOMP_VERSION, version,
                b"gcc 13" if version == 2 else b"gcc 14 or later")


cdef public void gompy_offload_register(unsigned version, const void *host_table, int target_type,
                                        const void *target_data, const void *description) noexcept nogil:
    """The same, with a description of its objects in our form or NULL; devices that are in use get it at once."""
    global offload_images, num_offload_images
    cdef OffloadImage *images
    cdef DeviceDescr *dev
    cdef int i
    if version >> 16 > GOMP_VERSION:
        refuse_newer(version >> 16)
    gompy_lock_acquire(&gompy_register_lock)
    images = <OffloadImage *> realloc(offload_images, (num_offload_images + 1) * sizeof(OffloadImage))
    if images == NULL:
        gompy_lock_release(&gompy_register_lock)
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> sizeof(OffloadImage))
    offload_images = images
    images[num_offload_images].version = version
    images[num_offload_images].type = target_type
    images[num_offload_images].host_table = host_table
    images[num_offload_images].target_data = target_data
    images[num_offload_images].description = <const TargetData *> description
    num_offload_images += 1
    note_constants(host_table)
    for i in range(num_devices):
        dev = &devices[i]
        if dev.type != target_type:
            continue
        gompy_lock_acquire(&dev.lock)
        if dev.state == DEVICE_INITIALIZED and load_image(dev, &images[num_offload_images - 1]):
            gompy_lock_release(&dev.lock)
            gompy_lock_release(&gompy_register_lock)
            fatal_failure()
        gompy_lock_release(&dev.lock)
    gompy_lock_release(&gompy_register_lock)
    forward_registration(b"GOMP_offload_register_ver", version, host_table, target_type, target_data)


cdef public void GOMP_offload_unregister_ver(unsigned version, const void *host_table, int target_type,
                                             const void *target_data) noexcept nogil:
    """An image goes (dlclose, or the end of the program)."""
    global num_offload_images
    cdef DeviceDescr *dev
    cdef int i, d
    if not gompy_lock_at_exit(&gompy_register_lock):
        return
    for i in range(num_offload_images):
        if offload_images[i].target_data != target_data:
            continue
        for d in range(num_devices):
            dev = &devices[d]
            if dev.type != target_type or not gompy_lock_at_exit(&dev.lock):
                continue
            if dev.state == DEVICE_INITIALIZED and unload_image(dev, &offload_images[i]):
                gompy_lock_release(&dev.lock)
                gompy_lock_release(&gompy_register_lock)
                fatal_failure()
            gompy_lock_release(&dev.lock)
        num_offload_images -= 1
        forget_constants(host_table)
        memmove(&offload_images[i], &offload_images[i + 1], (num_offload_images - i) * sizeof(OffloadImage))
        break
    gompy_lock_release(&gompy_register_lock)
    forward_registration(b"GOMP_offload_unregister_ver", version, host_table, target_type, target_data)


cdef public void GOMP_offload_register(const void *host_table, int target_type, const void *target_data) noexcept nogil:
    GOMP_offload_register_ver(0, host_table, target_type, target_data)


cdef public void GOMP_offload_unregister(const void *host_table, int target_type,
                                         const void *target_data) noexcept nogil:
    GOMP_offload_unregister_ver(0, host_table, target_type, target_data)
