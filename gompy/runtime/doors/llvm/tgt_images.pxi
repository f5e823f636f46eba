# Images by clang come and go: the core registers them with tables of the form that gcc's have, made of the entries; for
# GPUs together with the record that GCC's mkoffload for nvptx makes.

cdef extern from *:
    """
    extern char *program_invocation_name;
    """
    char *program_name "program_invocation_name"

cdef enum:
    OFFLOAD_BINARY_HEAD = 72
    TGT_REGISTERED_VERSION = 0x10000  # GOMP_VERSION_PACK (1, 0)

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


cdef bint for_gpu(const char *start, const char *end) noexcept nogil:
    """Whether an image is PTX, or an ELF file of NVIDIA's."""
    cdef ptrdiff_t size = end - start
    if size >= 64 and memcmp(start, b"\x7fELF\x02\x01", 6) == 0:
        return <unsigned char> start[18] == 190 and start[19] == 0
    return size >= 16 and (memcmp(start, b"//", 2) == 0 or memcmp(start, b".version", 8) == 0)


cdef int device_type_of(const char *start, const char *end) noexcept nogil:
    """The kind of device that an image is for; -1: none that is known here."""
    if for_this_machine(start, end):
        return GOMP_DEVICE_INTEL_MIC
    return GOMP_DEVICE_NVIDIA_PTX if for_gpu(start, end) else -1


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


cdef inline bint is_indirect(const TgtEntry *entry) noexcept nogil:
    """Whether an entry is a function of `declare target indirect`: its name is a variable that has its address."""
    return entry.size != 0 and entry.flags & TGT_ENTRY_INDIRECT != 0 and entry.address != NULL


cdef size_t room_of_function(const TgtDescriptor *descriptor, const TgtEntry *entry) noexcept nogil:
    """The bytes that stand for a function: as LLVM has it a pointer's, but none of the next function's."""
    cdef const TgtEntry *other = descriptor.entries
    cdef size_t room = entry.size
    while other < descriptor.entries_end:
        if is_indirect(other) and <uintptr_t> entry.address < <uintptr_t> other.address:
            room = min(room, <size_t> (<uintptr_t> other.address - <uintptr_t> entry.address))
        other += 1
    return room


cdef void describe_for_gpu(TgtLibrary *library, const char *start, const char *end) noexcept nogil:
    """Fill the record that the plugin for GPUs reads; PTX ends with a NUL there."""
    cdef size_t size = <size_t> (end - start)
    cdef size_t i, functions = library.gpu.num_functions, variables = library.gpu.num_variables
    library.gpu_functions = <GpuFunction *> calloc(functions + 1, sizeof(GpuFunction))
    library.gpu_variables = <const char **> calloc(variables + 1, sizeof(char *))
    library.object.code = start
    library.object.size = size
    if start[0] != c'\x7f' and start[size - 1]:
        library.text = <char *> malloc(size + 1)
        if library.text != NULL:
            memcpy(library.text, start, size)
            library.text[size] = 0
            library.object.size = size + 1
        library.object.code = library.text
    if library.gpu_functions == NULL or library.gpu_variables == NULL or library.object.code == NULL:
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> size)
    for i in range(functions):
        library.gpu_functions[i].name = library.symbols[i].name
        library.gpu_functions[i].dims[0] = KERNEL_BY_CLANG
    for i in range(variables):
        library.gpu_variables[i] = library.symbols[functions + i].name
    library.gpu.objects = &library.object
    library.gpu.num_objects = 1
    library.gpu.functions = library.gpu_functions
    library.gpu.variables = library.gpu_variables
    library.gpu.num_indirect = library.num_indirect
    library.gpu.indirect = library.indirect
    library.gpu.places = library.words + functions


cdef void describe_for_cpu(TgtLibrary *library, const char *start, const char *end, size_t functions,
                           size_t variables) noexcept nogil:
    """Fill the record that the emulated device's plugin reads."""
    library.data.image_start = start
    library.data.image_end = end
    library.data.magic = IMAGE_MAGIC
    library.data.abi = IMAGE_ABI
    library.data.accel = ACCEL_LLVM
    library.data.image_funcs = functions
    library.data.image_vars = variables
    library.data.objects = <const ObjectDesc *> library.symbols
    library.data.num_objects = functions + variables
    library.data.host_begin = <const HostRecord *> library.indirect
    library.data.host_end = <const HostRecord *> (library.indirect + library.num_indirect)
    library.data.name = file_of_object(library.descriptor)


cdef void list_variable(TgtLibrary *library, size_t functions, size_t v, const TgtEntry *entry,
                        size_t size) noexcept nogil:
    library.words[functions + 2 * v] = <uintptr_t> entry.address
    library.words[functions + 2 * v + 1] = size
    library.symbols[functions + v].name = entry.name
    library.symbols[functions + v].size = size


cdef void list_entries(TgtLibrary *library, size_t functions, size_t variables) noexcept nogil:
    """Fill the core's tables: functions, then variables; those that have a function's address stand last."""
    cdef const TgtDescriptor *descriptor = library.descriptor
    cdef const TgtEntry *entry = descriptor.entries
    cdef size_t f = 0, v = 0, i = 0
    while entry < descriptor.entries_end:
        if is_function(entry):
            library.words[f] = <uintptr_t> entry.address
            library.symbols[f].name = entry.name
            f += 1
        elif is_variable(entry):
            list_variable(library, functions, v, entry, entry.size)
            v += 1
        elif is_indirect(entry):
            library.indirect[i] = <uint64_t> entry.address
            list_variable(library, functions, variables - library.num_indirect + i, entry,
                          entry.size if library.type == GOMP_DEVICE_NVIDIA_PTX else room_of_function(descriptor, entry))
            i += 1
        entry += 1
    if library.type != GOMP_DEVICE_NVIDIA_PTX:
        library.words[f] = <uintptr_t> &library.caller
        library.symbols[f].name = b""


cdef TgtLibrary *new_library(const TgtDescriptor *descriptor, const TgtDescriptor *registered, int type,
                             const char *start, const char *end) noexcept nogil:
    """The core's tables of a descriptor's entries: functions, of a CPU also the caller of kernels, variables."""
    cdef size_t more = 1 if type != GOMP_DEVICE_NVIDIA_PTX else 0
    cdef size_t functions = more, variables = 0
    cdef const TgtEntry *entry = descriptor.entries
    cdef TgtLibrary *library = <TgtLibrary *> calloc(1, sizeof(TgtLibrary))
    while entry < descriptor.entries_end and library != NULL:
        functions += is_function(entry)
        variables += is_variable(entry) or is_indirect(entry)
        library.num_indirect += is_indirect(entry)
        entry += 1
    if library != NULL:
        library.words = <uintptr_t *> calloc(functions + 2 * variables + 1, sizeof(uintptr_t))
        library.symbols = <TgtSymbol *> calloc(functions + variables + 1, sizeof(TgtSymbol))
        library.indirect = <uint64_t *> calloc(library.num_indirect + 1, sizeof(uint64_t))
    if library == NULL or library.words == NULL or library.symbols == NULL or library.indirect == NULL:
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> ((functions + variables) * 24))
    library.type = type
    library.descriptor = descriptor
    library.registered = registered
    list_entries(library, functions, variables)
    library.table[0] = library.words
    library.table[1] = library.words + functions
    library.table[2] = library.table[1]
    library.table[3] = library.words + functions + 2 * variables
    library.gpu.num_functions = <unsigned> functions
    library.gpu.num_variables = <unsigned> variables
    if more:
        describe_for_cpu(library, start, end, functions, variables)
    else:
        describe_for_gpu(library, start, end)
    return library


cdef inline const void *record_of(const TgtLibrary *library) noexcept nogil:
    """What the plugin gets of a library."""
    return <const void *> &library.gpu if library.type == GOMP_DEVICE_NVIDIA_PTX else <const void *> &library.data


cdef void free_library(TgtLibrary *library) noexcept nogil:
    free(library.words)
    free(library.symbols)
    free(library.indirect)
    free(library.gpu_functions)
    free(library.gpu_variables)
    free(library.text)
    free(library)


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
    cdef TgtIdent where
    if tgt_at_end != NULL:
        tgt_at_end()
    if tgt_info() & TGT_INFO_TABLE:
        memset(&where, 0, sizeof(where))
        where.source = b";libomptarget;libomptarget;0;0;;"
        tell_all_tables(&where)


cdef void agree_on(int64_t flags, int64_t flag, const char *clause) noexcept nogil:
    """All objects of a program say the same of a clause of `omp requires`; else it ends, as with LLVM's library."""
    if (flags & flag) != (tgt_requires & flag):
        tgt_print(b"fatal error 2: '#pragma omp requires %s' not used consistently!\n", clause)
        abort()


cdef void note_requires(int64_t flags) noexcept nogil:
    """`omp requires` of an object.  As with LLVM's library a program for this machine's processor has a device in its
    own process then; where there is none, that is said once and the host runs the regions.
    """
    global tgt_requires
    if tgt_requires:
        agree_on(flags, TGT_REQUIRES_REVERSE_OFFLOAD, b"reverse_offload")
        agree_on(flags, TGT_REQUIRES_UNIFIED_ADDRESS, b"unified_address")
        agree_on(flags, TGT_REQUIRES_UNIFIED_SHARED_MEMORY, b"unified_shared_memory")
        if tgt_release >= 18:
            agree_on(flags, TGT_REQUIRES_DYNAMIC_ALLOCATORS, b"dynamic_allocators")
    elif flags & TGT_REQUIRES_UNIFIED_SHARED_MEMORY:
        state_requires(GOMP_REQUIRES_UNIFIED_SHARED_MEMORY | GOMP_REQUIRES_TARGET_USED)
        request_shared_memory()
    tgt_requires |= flags


cdef inline bint shares_memory(const DeviceDescr *dev) noexcept nogil:
    """Whether what is not mapped on a device is the program's own: unified_shared_memory, where there is such."""
    return (dev.capabilities & GOMP_OFFLOAD_CAP_SHARED_MEM != 0
            and tgt_requires & TGT_REQUIRES_UNIFIED_SHARED_MEMORY != 0)


cdef public void tgt_register_requires "gompy_llvm___tgt_register_requires"(int64_t flags) noexcept nogil:
    note_requires(flags)


cdef void add_library(TgtLibrary *library) noexcept nogil:
    """Enter a library in the list, and tell the core of its image."""
    global tgt_changes
    cdef TgtLibrary **last = &tgt_libraries
    gompy_lock_acquire(&gompy_register_lock)
    if not tgt_end_watched:
        watch_end()
    while last[0] != NULL:
        last = &last[0].next
    last[0] = library
    gompy_lock_release(&gompy_register_lock)
    gompy_offload_register(TGT_REGISTERED_VERSION, library.table, library.type, record_of(library), NULL)
    gompy_store(&tgt_changes, tgt_changes + 1)


cdef bint has_newer_entries(const TgtDescriptor *descriptor) noexcept nogil:
    """Whether entries have clang 20's form: where that has zero and two small numbers, older ones have addresses."""
    cdef const TgtNewerEntry *entry = <const TgtNewerEntry *> descriptor.entries
    cdef ptrdiff_t size = <const char *> descriptor.entries_end - <const char *> descriptor.entries
    return (size >= <ptrdiff_t> sizeof(TgtNewerEntry) and size % <ptrdiff_t> sizeof(TgtNewerEntry) == 0
            and entry.reserved == 0 and entry.version == 1 and 0 < entry.kind < 16)


cdef const TgtDescriptor *older_form(const TgtDescriptor *descriptor) noexcept nogil:
    """A descriptor whose entries have the form that clang had before 20: itself, or a copy, which stays."""
    cdef const TgtNewerEntry *entry = <const TgtNewerEntry *> descriptor.entries
    cdef const TgtNewerEntry *end = <const TgtNewerEntry *> descriptor.entries_end
    cdef TgtDescriptor *older
    cdef TgtEntry *to
    if not has_newer_entries(descriptor):
        return descriptor
    older = <TgtDescriptor *> calloc(1, sizeof(TgtDescriptor) + <size_t> (end - entry) * sizeof(TgtEntry))
    if older == NULL:
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> (<size_t> (end - entry) * sizeof(TgtEntry)))
    to = <TgtEntry *> (older + 1)
    older.num_images = descriptor.num_images
    older.images = descriptor.images
    older.entries = to
    while entry < end:
        if entry.kind == OFK_OPENMP:
            to.address = entry.address
            to.name = entry.name
            to.size = entry.size
            to.flags = <int> entry.flags
            to.reserved = <int> entry.data
            to += 1
        entry += 1
    older.entries_end = to
    return older


cdef public void tgt_register_lib "gompy_llvm___tgt_register_lib"(const TgtDescriptor *descriptor) noexcept nogil:
    """A program or library registers its images: the first one for each kind of device is taken.

    What is for this machine's processor is for the device that shares the program's memory, too.
    """
    cdef const char *start
    cdef const char *end
    cdef const TgtDescriptor *older = older_form(descriptor)
    cdef const TgtEntry *entry = older.entries
    cdef bint for_cpu = False, for_gpus = False
    cdef int i, type
    while entry < older.entries_end:
        if entry.flags & TGT_ENTRY_REQUIRES and entry.address == NULL:
            note_requires(entry.reserved)
        entry += 1
    for i in range(descriptor.num_images):
        unwrap_image(&descriptor.images[i], &start, &end)
        type = device_type_of(start, end)
        if type == GOMP_DEVICE_INTEL_MIC and not for_cpu:
            for_cpu = True
            add_library(new_library(older, descriptor, type, start, end))
            add_library(new_library(older, descriptor, GOMP_DEVICE_HOST, start, end))
        elif type == GOMP_DEVICE_NVIDIA_PTX and not for_gpus:
            for_gpus = True
            add_library(new_library(older, descriptor, type, start, end))


cdef public void tgt_register_lib_17 "gompy_llvm_17___tgt_register_lib"(const TgtDescriptor *descriptor) noexcept nogil:
    """The same for programs that ask for the library of 17."""
    global tgt_release
    tgt_release = max(tgt_release, 17)
    tgt_register_lib(descriptor)


cdef public void tgt_register_lib_18 "gompy_llvm_18___tgt_register_lib"(const TgtDescriptor *descriptor) noexcept nogil:
    """The same for programs that ask for the library of 18 or 19."""
    global tgt_release
    tgt_release = max(tgt_release, 18)
    tgt_register_lib(descriptor)


cdef public void tgt_register_lib_22 "gompy_llvm_22___tgt_register_lib"(const TgtDescriptor *descriptor) noexcept nogil:
    """The same for programs that ask for the library of 22."""
    global tgt_release
    tgt_release = 22
    tgt_register_lib(descriptor)


cdef TgtLibrary *take_library(const TgtDescriptor *descriptor) noexcept nogil:
    """Take what was registered for a descriptor from the list, or NULL."""
    cdef TgtLibrary **at = &tgt_libraries
    cdef TgtLibrary *library
    while at[0] != NULL and at[0].registered != descriptor:
        at = &at[0].next
    library = at[0]
    if library != NULL:
        at[0] = library.next
    return library
