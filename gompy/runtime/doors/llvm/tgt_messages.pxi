# What is said in libomptarget's words: programs and scripts look for them.

cdef extern from "<stdlib.h>" nogil:
    void abort() noexcept

cdef extern from "<stdio.h>" nogil:
    int fprintf(void *, const char *, ...) noexcept
    int fflush(void *) noexcept
    void *stdout

cdef struct TgtPlace:
    # A source place in parts.
    char file[256]  # without its folder
    char name[256]
    int line
    int column

cdef uint32_t tgt_info_level
cdef bint tgt_info_known


cdef inline uint32_t tgt_info() noexcept nogil:
    """LIBOMPTARGET_INFO: a sum of TGT_INFO_*."""
    global tgt_info_level, tgt_info_known
    cdef const char *text
    if not tgt_info_known:
        text = secure_getenv(b"LIBOMPTARGET_INFO")
        tgt_info_level = <uint32_t> atoi(text) if text != NULL else 0
        tgt_info_known = True
    return tgt_info_level


cdef void set_tgt_info(uint32_t level) noexcept nogil:
    global tgt_info_level, tgt_info_known
    tgt_info_level = level
    tgt_info_known = True


cdef void read_place(const char *text, bint of_map, TgtPlace *place) noexcept nogil:
    """Of a construct `;file;function;line;column;;`; of a map `;name;file;line;column;;`, or a name alone; NULL:
    unknown.
    """
    cdef const char *file
    cdef const char *name
    cdef const char *p
    cdef size_t file_size, name_size, unused
    snprintf(place.file, 256, b"unknown")
    snprintf(place.name, 256, b"unknown")
    place.line = 0
    place.column = 0
    if text == NULL:
        return
    if strchr(text, c';') == NULL:
        snprintf(place.name, 256, b"%s", text)
        return
    file = place_field(text, 1 if of_map else 0, &file_size)
    name = place_field(text, 0 if of_map else 1, &name_size)
    p = file + file_size
    while p > file and (p - 1)[0] != c'/':
        p -= 1
    file_size -= p - file
    snprintf(place.file, 256, b"%.*s", <int> min(file_size, 255), p)
    snprintf(place.name, 256, b"%.*s", <int> min(name_size, 255), name)
    place.line = atoi(place_field(text, 2, &unused))
    place.column = atoi(place_field(text, 3, &unused))


cdef void map_name(const void *text, char *to) noexcept nogil:
    """The list item's text of a map, in 256 bytes."""
    cdef TgtPlace place
    read_place(<const char *> text, True, &place)
    snprintf(to, 256, b"%s", place.name)


cdef const char *source_of(const TgtIdent *where) noexcept nogil:
    return where.source if where != NULL else NULL


cdef void list_item(const void *name, char *text) noexcept nogil:
    """The text of a list item, at most 256 bytes; empty in a program without -g."""
    map_name(name, text)
    if strcmp(text, b"unknown") == 0:
        text[0] = 0


cdef inline void note_place(Construct *construct, const TgtIdent *where, const TgtMaps *maps,
                            uint64_t rounds) noexcept nogil:
    """What subscribers may want to know of a construct of clang's."""
    if is_told(construct):
        construct.place = source_of(where)
        construct.entries = <unsigned> maps.count
        construct.rounds = rounds


cdef inline void tgt_doing(DeviceDescr *dev, const TgtIdent *where) noexcept nogil:
    """Note the construct that the device's lock is taken for."""
    note_construct(dev, or_text(source_of(where), b"a construct"), NULL)


cdef TgtIdent unknown_place  # of constructors, and of regions that LLVM's library launches by our plugin


cdef void say_fatal(const void *place) noexcept nogil:
    """The last line of a program whose construct has failed.  place: its ident_t."""
    cdef const TgtIdent *where = <const TgtIdent *> place
    cdef TgtPlace parts
    read_place(source_of(where), False, &parts)
    if parts.line or parts.column:
        fprintf(stderr, b"%s:%d:%d: ", parts.file, parts.line, parts.column)
    elif where != &unknown_place:
        tgt_print(b"error: Source location information not present. Compile with -g or "
                        b"-gline-tables-only.\n")
    tgt_print(b"fatal error 1: failure of target construct while offloading is mandatory\n")


cdef bint tgt_failed(const TgtIdent *where) noexcept nogil:
    """A construct cannot be done on its device: the end of the program, as offloading is mandatory where there are
    devices.

    Not so while another thread ends it: then the caller goes on without a device.
    """
    gompy_wait_for_exit()
    fflush(stdout)
    if tgt_info() & TGT_INFO_TABLE:
        tell_all_tables(where)
    else:
        tgt_print(b"error: Consult https://openmp.llvm.org/design/Runtimes.html for debugging options.\n"
        )
    say_fatal(where)
    abort()
    return False


cdef void tell_failure(const char *prefix) noexcept nogil:
    """The text of a core's failure as one of libomptarget's lines."""
    tgt_print(b"%s: %s\n", prefix, gompy_failure)


cdef SplayNode *data_from(DeviceDescr *dev, uintptr_t start) noexcept nogil:
    """The first mapping from an address on that is no region."""
    cdef SplayNode *node = node_from(&dev.mem_map, start)
    while node != NULL and (node.ref_kind == REF_LINK or find_function(dev, node.host_start) != 0):
        node = node_from(&dev.mem_map, max(node.host_end, node.host_start + 1))
    return node


cdef void tell_table(DeviceDescr *dev, const TgtIdent *where) noexcept nogil:
    """All mappings of a device (LLVM: dumpTargetPointerMappings)."""
    cdef TgtPlace place
    cdef SplayNode *node = data_from(dev, 0)
    if dev.state != DEVICE_INITIALIZED or node == NULL:
        return
    read_place(source_of(where), False, &place)
    tgt_print(b"device %d info: OpenMP Host-Device pointer mappings after block at %s:%d:%d:\n",
            dev.number, place.file, place.line, place.column)
    tgt_print(b"device %d info: %-18s %-18s %s %s %s %s\n", dev.number, <const char *> b"Host Ptr",
            <const char *> b"Target Ptr", <const char *> b"Size (B)", <const char *> b"DynRefCount",
            <const char *> b"HoldRefCount", <const char *> b"Declaration")
    while node != NULL:
        tell_row(dev, node)
        node = data_from(dev, max(node.host_end, node.host_start + 1))


cdef void count_texts(const SplayNode *node, char *dynamic, char *held) noexcept nogil:
    """A mapping's two counts, each in 32 bytes."""
    snprintf(held, 32, b"%zu", <size_t> held_of(node))
    if node.ref_kind == REF_INFINITY:
        snprintf(dynamic, 32, b"INF")
    else:
        snprintf(dynamic, 32, b"%zu", <size_t> (count_owner(<SplayNode *> node).refcount - held_of(node)))


cdef void tell_row(DeviceDescr *dev, SplayNode *node) noexcept nogil:
    """One mapping."""
    cdef const TgtNotes *notes = <const TgtNotes *> notes_of(node)
    cdef TgtPlace place
    cdef char dynamic[32]
    cdef char held[32]
    read_place(<const char *> (notes.name if notes != NULL else name_of_variable(node)), True, &place)
    count_texts(node, dynamic, held)
    tgt_print(b"device %d info: 0x%016lx 0x%016lx %-8lu %-11s %-12s %s at %s:%d:%d\n", dev.number,
            node.host_start, device_address(node, node.host_start), node.host_end - node.host_start, dynamic, held,
            place.name, place.file, place.line, place.column)


cdef void tell_all_tables(const TgtIdent *where) noexcept nogil:
    """The tables of all devices."""
    cdef int i
    for i in range(num_devices):
        gompy_lock_acquire(&devices[i].lock)
        tell_table(&devices[i], where)
        gompy_lock_release(&devices[i].lock)


cdef void tell_arguments(DeviceDescr *dev, const TgtIdent *where, const TgtMaps *maps, const char *what) noexcept nogil:
    """What a construct was called with (LLVM: printKernelArguments)."""
    cdef TgtPlace place
    cdef char name[256]
    cdef const char *type
    cdef int64_t bits
    cdef int i
    read_place(source_of(where), False, &place)
    tgt_print(b"device %d info: %s at %s:%d:%d with %d arguments:\n", dev.number, what, place.file,
            place.line, place.column, maps.count)
    for i in range(maps.count):
        bits = maps.types[i]
        type = b"use_address"
        if bits & TGT_MAP_TO and bits & TGT_MAP_FROM:
            type = b"tofrom"
        elif bits & TGT_MAP_TO:
            type = b"to"
        elif bits & TGT_MAP_FROM:
            type = b"from"
        elif bits & TGT_MAP_PRIVATE:
            type = b"private"
        elif bits & TGT_MAP_LITERAL:
            type = b"firstprivate"
        elif maps.sizes[i] != 0:
            type = b"alloc"
        map_name(name_at(maps, i), name)
        tgt_print(b"device %d info: %s(%s)[%ld] %s\n", dev.number, type, name, maps.sizes[i],
                <const char *> (b"(implicit)" if bits & TGT_MAP_IMPLICIT else b""))


cdef void tell_found(DeviceDescr *dev, const SplayNode *node, uintptr_t begin, int64_t size, int64_t type, bint at_end,
                     const char *action, const void *name) noexcept nogil:
    """A mapping that a construct has found."""
    cdef char dynamic[32]
    cdef char held[32]
    cdef char text[256]
    cdef bint hold = (type & TGT_MAP_HOLD) != 0
    count_texts(node, dynamic, held)
    tgt_print(b"device %d info: Mapping exists%s with HstPtrBegin=0x%016lx, TgtPtrBegin=0x%016lx, "
            b"Size=%ld, DynRefCount=%s%s, HoldRefCount=%s%s", dev.number,
            <const char *> (b" (implicit)" if type & TGT_MAP_IMPLICIT and not at_end else b""), begin,
            device_address(<SplayNode *> node, begin), size, dynamic, <const char *> b"" if hold else action, held,
            action if hold else <const char *> b"")
    if not at_end:
        map_name(name, text)
        fprintf(stderr, b", Name=%s", text)
    fprintf(stderr, b"\n")


cdef void tell_made(DeviceDescr *dev, const SplayNode *node) noexcept nogil:
    """A mapping that a construct has made."""
    cdef const TgtNotes *notes = <const TgtNotes *> notes_of(node)
    cdef char dynamic[32]
    cdef char held[32]
    cdef char text[256]
    count_texts(node, dynamic, held)
    map_name(notes.name, text)
    tgt_print(b"device %d info: Creating new map entry with HstPtrBase=0x%016lx, HstPtrBegin=0x%016lx, "
            b"TgtPtrBegin=0x%016lx, Size=%ld, DynRefCount=%s, HoldRefCount=%s, Name=%s\n", dev.number, notes.base,
            node.host_start, device_address(<SplayNode *> node, node.host_start), node.host_end - node.host_start,
            dynamic, held, text)


cdef void tell_use(DeviceDescr *dev, const SplayNode *node, uintptr_t begin, int64_t size) noexcept nogil:
    """A mapping that is looked up: for a kernel's word, or by a routine."""
    if tgt_info() & TGT_INFO_EXISTS and node != NULL:
        tell_found(dev, node, begin, size, 0, True, b" (update suppressed)", NULL)


cdef void tell_word(DeviceDescr *dev, const void *host, uintptr_t device, const void *name) noexcept nogil:
    """A pointer that is put into the device's memory."""
    if tgt_info() & TGT_INFO_COPIES:
        tell_copy(dev, True, <uintptr_t> host, device, sizeof(void *), name)


cdef void tell_kernel(DeviceDescr *dev, const void *region) noexcept nogil:
    """A launch, as LLVM's plugin for CPUs tells it, whose region makes its teams and threads itself."""
    if tgt_info() & TGT_INFO_KERNEL and dev.type != GOMP_DEVICE_NVIDIA_PTX:
        fprintf(stderr, b"\"PluginInterface\" device %d info: Launching kernel %s with 1 blocks and 1 threads in "
                b"Generic mode\n", dev.number, or_text(name_of_entry(region), b"unknown"))


cdef void tell_removed(DeviceDescr *dev, const SplayNode *node) noexcept nogil:
    """A mapping that goes."""
    cdef const TgtNotes *notes = <const TgtNotes *> notes_of(node)
    cdef char text[256]
    map_name(notes.name if notes != NULL else NULL, text)
    tgt_print(b"device %d info: Removing map entry with HstPtrBegin=0x%016lx, TgtPtrBegin=0x%016lx, "
            b"Size=%ld, Name=%s\n", dev.number, node.host_start, device_address(
                <SplayNode *> node, node.host_start
            ), notes.ended if notes != NULL else <int64_t> (node.host_end - node.host_start), text)


cdef void tell_copy(DeviceDescr *dev, bint to_device, uintptr_t host, uintptr_t device, int64_t size,
                    const void *name) noexcept nogil:
    """A copy between host and device."""
    cdef char text[256]
    map_name(name, text)
    if to_device:
        tgt_print(b"device %d info: Copying data from host to device, HstPtr=0x%016lx, TgtPtr=0x%016lx, "
                b"Size=%ld, Name=%s\n", dev.number, host, device, size, text)
    else:
        tgt_print(b"device %d info: Copying data from device to host, TgtPtr=0x%016lx, HstPtr=0x%016lx, "
                b"Size=%ld, Name=%s\n", dev.number, device, host, size, text)


cdef void tell_no_bytes(DeviceDescr *dev, SplayNode *node, uintptr_t begin, int64_t type) noexcept nogil:
    """The copies of a range without length: LLVM's library makes them."""
    if type & TGT_MAP_FROM:
        tell_copy(dev, False, begin, device_address(node, begin), 0, NULL)
    if type & TGT_MAP_TO:
        tell_copy(dev, True, begin, device_address(node, begin), 0, NULL)
