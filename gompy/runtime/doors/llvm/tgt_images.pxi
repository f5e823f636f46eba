# Images by clang come and go: the core registers them with tables of the form that gcc's have, made of the entries.

cdef extern from *:
    """
    extern char *program_invocation_name;
    """
    char *program_name "program_invocation_name"

cdef enum:
    OFFLOAD_BINARY_HEAD = 72
    TGT_REGISTERED_VERSION = 0x10000  # GOMP_VERSION_PACK (1, 0)

cdef struct TgtSymbol:
    # Asked of the image (gompy/plugins/intelmic/images.pxi).
    const char *name
    uint64_t size

cdef struct TgtLibrary:
    # A program or library that has registered.
    TgtLibrary *next
    const TgtDescriptor *descriptor
    TargetData data
    const void *table[4]  # for the core: functions begin, end, variables begin, end
    uintptr_t *words  # the tables
    TgtSymbol *symbols
    char caller  # its address stands for the function that calls kernels
    uint64_t built  # bit n: constructors have run on device n

cdef TgtLibrary *tgt_libraries  # in the order of registration; under the register lock
cdef int tgt_changes  # counts registrations
cdef bint tgt_end_watched
cdef void (*tgt_at_end)() noexcept nogil  # destroys what constructors have built (tgt_devices.pxi)
cdef int64_t tgt_requires


cdef uint64_t read_u64(const char *p) noexcept nogil:
    cdef uint64_t value
    memcpy(&value, p, sizeof(value))
    return value


cdef void unwrap_image(const TgtDeviceImage *image, const char **start, const char **end) noexcept nogil:
    """The image in an OffloadBinary (LLVM: object::OffloadBinary); clang before 15 registers it as it is."""
    cdef uint64_t size, entry, at, length
    cdef unsigned magic = 0
    start[0] = image.start
    end[0] = image.end
    size = <uint64_t> (image.end - image.start)
    if size < OFFLOAD_BINARY_HEAD:
        return
    memcpy(&magic, image.start, sizeof(magic))
    if magic != OFFLOAD_BINARY_MAGIC or read_u64(image.start + 8) > size:
        return
    size = read_u64(image.start + 8)
    entry = read_u64(image.start + 16)
    if size < OFFLOAD_BINARY_HEAD or entry > size - 40:
        return
    at = read_u64(image.start + entry + 24)
    length = read_u64(image.start + entry + 32)
    if at <= size and length <= size - at:
        start[0] = image.start + at
        end[0] = start[0] + length


cdef bint for_this_machine(const char *start, const char *end) noexcept nogil:
    """Whether an image is an ELF library of x86_64."""
    return (end - start >= 64 and memcmp(start, b"\x7fELF\x02\x01", 6) == 0 and start[18] == 62 and start[19] == 0)


cdef const char *file_of_object(const void *inside) noexcept nogil:
    """The file of the program or library that an address is in."""
    cdef Dl_info info
    if dladdr(inside, &info) and info.dli_fname != NULL and info.dli_fname[0]:
        return info.dli_fname
    return program_name


cdef inline bint is_function(const TgtEntry *entry) noexcept nogil:
    """Whether an entry is a region, a constructor or a destructor."""
    return entry.size == 0 and not entry.flags & TGT_ENTRY_REQUIRES and entry.address != NULL


cdef inline bint is_variable(const TgtEntry *entry) noexcept nogil:
    return entry.size != 0 and not entry.flags & TGT_ENTRY_INDIRECT and entry.address != NULL


cdef TgtLibrary *new_library(const TgtDescriptor *descriptor, const char *start, const char *end) noexcept nogil:
    """The core's tables of a descriptor's entries: functions, the caller of kernels, variables."""
    cdef size_t functions = 1, variables = 0, f = 0, v = 0
    cdef const TgtEntry *entry = descriptor.entries
    cdef TgtLibrary *library = <TgtLibrary *> calloc(1, sizeof(TgtLibrary))
    while entry < descriptor.entries_end:
        functions += is_function(entry)
        variables += is_variable(entry)
        entry += 1
    if library != NULL:
        library.words = <uintptr_t *> calloc(functions + 2 * variables, sizeof(uintptr_t))
        library.symbols = <TgtSymbol *> calloc(functions + variables, sizeof(TgtSymbol))
    if library == NULL or library.words == NULL or library.symbols == NULL:
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> ((functions + variables) * 24))
    entry = descriptor.entries
    while entry < descriptor.entries_end:
        if is_function(entry):
            library.words[f] = <uintptr_t> entry.address
            library.symbols[f].name = entry.name
            f += 1
        elif is_variable(entry):
            library.words[functions + 2 * v] = <uintptr_t> entry.address
            library.words[functions + 2 * v + 1] = entry.size
            library.symbols[functions + v].name = entry.name
            library.symbols[functions + v].size = entry.size
            v += 1
        entry += 1
    library.words[f] = <uintptr_t> &library.caller
    library.symbols[f].name = b""
    library.descriptor = descriptor
    library.table[0] = library.words
    library.table[1] = library.words + functions
    library.table[2] = library.table[1]
    library.table[3] = library.words + functions + 2 * variables
    library.data.image_start = start
    library.data.image_end = end
    library.data.magic = IMAGE_MAGIC
    library.data.abi = IMAGE_ABI
    library.data.accel = ACCEL_LLVM
    library.data.image_funcs = functions
    library.data.image_vars = variables
    library.data.objects = <const ObjectDesc *> library.symbols
    library.data.num_objects = functions + variables
    library.data.name = file_of_object(descriptor)
    return library


cdef void forget_built() noexcept nogil:
    """A forked child's devices have no variables yet."""
    cdef TgtLibrary *library = tgt_libraries
    while library != NULL:
        library.built = 0
        library = library.next


cdef void watch_end() noexcept nogil:
    """Have destructors run before the devices end."""
    global tgt_end_watched
    forget_in_child(forget_built)
    before_devices_end(at_end)
    tgt_end_watched = True


cdef void at_end() noexcept nogil:
    if tgt_at_end != NULL:
        tgt_at_end()


cdef void note_requires(int64_t flags) noexcept nogil:
    """`omp requires` of an object.

    Shared memory is what no device here has: said once, and the regions run on the host.
    """
    global tgt_requires
    if flags & TGT_REQUIRES_UNIFIED_SHARED_MEMORY and not tgt_requires & TGT_REQUIRES_UNIFIED_SHARED_MEMORY:
        state_requires(GOMP_REQUIRES_UNIFIED_SHARED_MEMORY | GOMP_REQUIRES_TARGET_USED)
    tgt_requires |= flags


cdef public void tgt_register_requires "gompy_llvm___tgt_register_requires"(int64_t flags) noexcept nogil:
    note_requires(flags)


cdef public void tgt_register_lib "gompy_llvm___tgt_register_lib"(const TgtDescriptor *descriptor) noexcept nogil:
    """A program or library registers its images."""
    global tgt_libraries, tgt_changes
    cdef const char *start
    cdef const char *end
    cdef const TgtEntry *entry = descriptor.entries
    cdef TgtLibrary *library = NULL
    cdef TgtLibrary **last = &tgt_libraries
    cdef int i
    while entry < descriptor.entries_end:
        if entry.flags & TGT_ENTRY_REQUIRES and entry.address == NULL:
            note_requires(entry.reserved)
        entry += 1
    for i in range(descriptor.num_images):
        unwrap_image(&descriptor.images[i], &start, &end)
        if for_this_machine(start, end):
            library = new_library(descriptor, start, end)
            break
    if library == NULL:
        return
    gompy_lock_acquire(&gompy_register_lock)
    if not tgt_end_watched:
        watch_end()
    while last[0] != NULL:
        last = &last[0].next
    last[0] = library
    gompy_lock_release(&gompy_register_lock)
    gompy_offload_register(TGT_REGISTERED_VERSION, library.table, GOMP_DEVICE_INTEL_MIC, &library.data, NULL)
    gompy_store(&tgt_changes, tgt_changes + 1)


cdef TgtLibrary *take_library(const TgtDescriptor *descriptor) noexcept nogil:
    """Take what was registered for a descriptor from the list, or NULL."""
    cdef TgtLibrary **at = &tgt_libraries
    cdef TgtLibrary *library
    while at[0] != NULL and at[0].descriptor != descriptor:
        at = &at[0].next
    library = at[0]
    if library != NULL:
        at[0] = library.next
    return library
