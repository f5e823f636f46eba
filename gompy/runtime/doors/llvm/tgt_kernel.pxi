# A launch: the kernel's words and private objects in one block of device memory, which the device's caller of kernels
# gets (LLVM: processDataBefore; gompy/plugins/kernels.pxi).  A GPU gets the words as the kernel's
# parameters.

from gompy.native.launch_words cimport KernelLaunch

cdef enum:
    KERNEL_WORDS_MAX = 1024
    KERNEL_BLOCK_SMALL = 2048
    PACKED_SIZE = 1024  # as LLVM: FirstPrivateArgSizeThreshold
    PRIVATE_STAGED = 65536  # larger private objects are copied by themselves
    LAMBDA_MAPPING = TGT_MAP_PTR_AND_OBJ | TGT_MAP_LITERAL | TGT_MAP_IMPLICIT

cdef struct TgtLaunch:
    DeviceDescr *dev
    const TgtMaps *maps
    size_t words  # of the kernel
    size_t first  # 1: its first word is one of the runtime's
    size_t staged  # bytes of the block that the host prepares
    size_t total
    uint64_t *block  # on the host
    char *small  # room for it, if it is not larger
    uintptr_t device_block
    bint direct  # the words go to the device with the request: there is no block of device memory
    KernelLaunch shape  # teams, threads, rounds: of a GPU


cdef inline size_t private_room(const TgtMaps *maps, int i) noexcept nogil:
    return align_up(<size_t> maps.sizes[i], 16)


cdef inline bint is_private(int64_t type) noexcept nogil:
    """Whether an entry is an aggregate of the region's own."""
    return type & TGT_MAP_TARGET_PARAM and type & TGT_MAP_PRIVATE and not type & TGT_MAP_LITERAL


cdef inline bint is_staged(const TgtMaps *maps, int i) noexcept nogil:
    return maps.types[i] & (TGT_MAP_TO | TGT_MAP_ATTACH) and maps.sizes[i] <= PRIVATE_STAGED


cdef int measure_launch(TgtLaunch *l) noexcept nogil:
    """How large the block is."""
    cdef size_t later = 0
    cdef int i
    l.words = l.first
    for i in range(l.maps.count):
        if l.maps.types[i] & TGT_MAP_TARGET_PARAM:
            l.words += 1
    if l.words > KERNEL_WORDS_MAX:
        return gompy_fail(b"a kernel of %zu words; there may be %d", l.words, <int> KERNEL_WORDS_MAX)
    l.staged = align_up((2 + max(l.words, <size_t> 6)) * sizeof(uint64_t), 16)
    for i in range(l.maps.count):
        if is_private(l.maps.types[i]):
            if is_staged(l.maps, i):
                l.staged += private_room(l.maps, i)
            else:
                later += private_room(l.maps, i)
    l.total = l.staged + later
    return 0


cdef inline bint is_packed(const TgtMaps *maps, int i) noexcept nogil:
    """Whether LLVM's library copies a private object together with others."""
    return (maps.types[i] & TGT_MAP_TO and maps.sizes[i] <= PACKED_SIZE
            and not (i + 1 < maps.count and parent_of(maps.types[i + 1]) >= 0))


cdef void tell_packed(TgtLaunch *l) noexcept nogil:
    """The copy of all such objects, in LLVM's words: there each takes its size and what that has above a multiple of 8.
    """
    cdef int64_t total = 0
    cdef int i
    for i in range(l.maps.count):
        if is_private(l.maps.types[i]) and is_packed(l.maps, i):
            total += l.maps.sizes[i] + l.maps.sizes[i] % 8
    if total:
        tell_copy(l.dev, True, <uintptr_t> l.block, l.device_block, total, NULL)


cdef void fill_pointer(TgtLaunch *l, int i, char *to) noexcept nogil:
    """A region's own pointer, or descriptor, to what is mapped: it begins with the address on the device."""
    cdef uintptr_t pointer = <uintptr_t> l.maps.bases[i]
    cdef uintptr_t begin = <uintptr_t> l.maps.begins[i]
    cdef uintptr_t value = (<uintptr_t *> pointer)[0]
    cdef TgtFound found
    find_mapped(l.dev, begin, 0, &found)
    memcpy(to, <void *> pointer, <size_t> l.maps.sizes[i])
    if found.contained:
        tell_use(l.dev, found.node, begin, 0)
        value = device_address(found.node, begin) - (begin - value)
    (<uintptr_t *> to)[0] = value


cdef int place_private(TgtLaunch *l, int i, size_t *staged, size_t *later, uintptr_t *address) noexcept nogil:
    """Give a private object its place in the block, and its contents if it is firstprivate."""
    cdef size_t *at = staged if is_staged(l.maps, i) else later
    cdef size_t size = <size_t> l.maps.sizes[i]
    address[0] = l.device_block + at[0]
    if tgt_info() & TGT_INFO_COPIES and l.maps.types[i] & TGT_MAP_TO and not is_packed(l.maps, i):
        tell_copy(l.dev, True, <uintptr_t> l.maps.begins[i], address[0], l.maps.sizes[i], NULL)
    if l.maps.types[i] & TGT_MAP_ATTACH:
        fill_pointer(l, i, <char *> l.block + at[0])
    elif is_staged(l.maps, i):
        begin_copy(l.dev, True, l.maps.begins[i], size)
        memcpy(<char *> l.block + at[0], l.maps.begins[i], size)
        end_copy(l.dev, True)
    elif l.maps.types[i] & TGT_MAP_TO and size:
        if copy_to_device(l.dev, address[0], l.maps.begins[i], size, NULL):
            return -1
    at[0] += private_room(l.maps, i)
    return 0


cdef uintptr_t mapped_word(TgtLaunch *l, int i) noexcept nogil:
    """A kernel's word for what is mapped: where its base would be on the device; of what is not mapped, the host's."""
    cdef uintptr_t begin = <uintptr_t> l.maps.begins[i]
    cdef uintptr_t base = <uintptr_t> l.maps.bases[i]
    cdef TgtFound found
    if l.maps.types[i] & TGT_MAP_PTR_AND_OBJ:
        base = (<uintptr_t *> base)[0]
    find_mapped(l.dev, begin, l.maps.sizes[i], &found)
    if found.contained or found.extends:
        tell_use(l.dev, found.node, begin, l.maps.sizes[i])
        return device_address(found.node, begin) + (base - begin)
    if not shares_memory(l.dev):
        begin = unmapped_value(begin)
    return begin + (base - <uintptr_t> l.maps.begins[i]) if begin else 0


cdef int capture_in_lambda(TgtLaunch *l, int i, const int *positions) noexcept nogil:
    """A variable that a lambda has captured: put its device address into the lambda's object, if it is mapped."""
    cdef int parent = parent_of(l.maps.types[i])
    cdef uintptr_t place
    cdef TgtFound found
    if parent < 0 or parent >= i or positions[parent] < 0:
        return 0
    find_mapped(l.dev, <uintptr_t> l.maps.begins[i], l.maps.sizes[i], &found)
    if not found.contained and not found.extends:
        return 0
    tell_use(l.dev, found.node, <uintptr_t> l.maps.begins[i], l.maps.sizes[i])
    place = l.block[2 + positions[parent]] + (<uintptr_t> l.maps.bases[i] - <uintptr_t> l.maps.begins[parent])
    tell_word(l.dev, &l.maps.begins[i], place, NULL)
    if place - l.device_block < l.staged:
        (<uintptr_t *> (<char *> l.block + (place - l.device_block)))[0] = device_address(found.node,
                                                                                           <uintptr_t> l.maps.begins[i])
        return 0
    return copy_word(l.dev, place, device_address(found.node, <uintptr_t> l.maps.begins[i]), NULL)


cdef int fill_block(TgtLaunch *l, uintptr_t kernel, int *positions) noexcept nogil:
    """The words and the private objects.  positions: room for a number for each entry."""
    cdef size_t staged = align_up((2 + max(l.words, <size_t> 6)) * sizeof(uint64_t), 16)
    cdef size_t later = l.staged
    cdef size_t word = l.first
    cdef uintptr_t address
    cdef int64_t type
    cdef int i
    memset(l.block, 0, staged)
    l.block[0] = kernel
    l.block[1] = l.words
    for i in range(l.maps.count):
        type = l.maps.types[i]
        positions[i] = -1
        if not type & TGT_MAP_TARGET_PARAM:
            if type & LAMBDA_MAPPING == LAMBDA_MAPPING and capture_in_lambda(l, i, positions):
                return -1
            continue
        if type & TGT_MAP_LITERAL:
            l.block[2 + word] = <uint64_t> l.maps.bases[i]
        elif type & TGT_MAP_PRIVATE:
            if place_private(l, i, &staged, &later, &address):
                return -1
            l.block[2 + word] = address
            if not type & TGT_MAP_ATTACH:
                l.block[2 + word] += <uintptr_t> l.maps.bases[i] - <uintptr_t> l.maps.begins[i]
        else:
            l.block[2 + word] = mapped_word(l, i)
        positions[i] = <int> word
        word += 1
    if tgt_info() & TGT_INFO_COPIES:
        tell_packed(l)
    return 0


cdef inline bint on_gpu(const TgtLaunch *l) noexcept nogil:
    return l.dev.type == GOMP_DEVICE_NVIDIA_PTX


cdef inline bint keeps_words(const TgtLaunch *l) noexcept nogil:
    """Whether the kernel's words are read on the host."""
    return l.direct or on_gpu(l)


cdef inline void drop_host_block(TgtLaunch *l) noexcept nogil:
    if <char *> l.block != l.small:
        free(l.block)
    l.block = NULL


cdef int make_block(TgtLaunch *l, uintptr_t kernel, char *small) noexcept nogil:
    """Make the block and send it; the device is locked.  small: room of KERNEL_BLOCK_SMALL bytes.

    A GPU's is for private objects alone: without any there is none, and the host's stays until the kernel has its
    words.  So it is with a device that takes few words with the request.
    """
    cdef int few[64]
    cdef int *positions = few
    cdef bint alone  # there are no private objects
    cdef int rc
    l.small = small
    if measure_launch(l):
        return -1
    alone = l.total == align_up((2 + max(l.words, <size_t> 6)) * sizeof(uint64_t), 16)
    l.direct = alone and not on_gpu(l) and device_takes_words(l.dev, l.words)
    if not l.direct and (not on_gpu(l) or not alone):
        l.device_block = <uintptr_t> device_alloc(l.dev, l.total)
        if l.device_block == 0:
            return gompy_fail(b"no device memory for the %zu bytes of a kernel's arguments", l.total)
    l.block = <uint64_t *> small
    if l.staged > KERNEL_BLOCK_SMALL:
        l.block = <uint64_t *> malloc(l.staged)
    if l.maps.count > 64:
        positions = <int *> malloc(<size_t> l.maps.count * sizeof(int))
    if l.block == NULL or positions == NULL:
        rc = gompy_fail(b"Out of memory allocating %lu bytes", <unsigned long> l.staged)
    else:
        rc = fill_block(l, kernel, positions)
    if rc == 0 and l.device_block:
        rc = copy_value(l.dev, l.device_block, l.block, l.staged, NULL)
    if rc or not keeps_words(l):
        drop_host_block(l)
    if positions != few:
        free(positions)
    return rc


cdef inline int free_block(TgtLaunch *l) noexcept nogil:
    """After the region; the device is locked."""
    if keeps_words(l):
        drop_host_block(l)
    return free_device_memory(l.dev, <void *> l.device_block) if l.device_block else 0


cdef void run_shaped(TgtLaunch *l, uintptr_t kernel, const void *region, const TgtIdent *where) noexcept nogil:
    """Launch on a GPU, with l.shape, and wait for the end; the device is not locked."""
    global gompy_door_place, gompy_door_says
    begin_launch(l.dev, region, b"")
    gompy_door_says = say_fatal
    gompy_door_place = where if where != NULL else <const void *> &unknown_place
    device_run_shaped(l.dev, region, <void *> kernel, &l.shape)
    gompy_door_place = NULL


cdef void run_block(TgtLaunch *l, uintptr_t kernel, uintptr_t caller, const void *region,
                    const TgtIdent *where) noexcept nogil:
    """Launch, and wait for the end; the device is not locked."""
    global gompy_door_place, gompy_door_says
    if on_gpu(l):
        l.shape.words = l.block + 2
        l.shape.count = <unsigned> l.words
        run_shaped(l, kernel, region, where)
        return
    tell_kernel(l.dev, region)
    begin_launch(l.dev, region, b"")
    gompy_door_says = say_fatal
    gompy_door_place = where if where != NULL else <const void *> &unknown_place
    if l.direct:
        device_run_kernel(l.dev, <void *> kernel, l.block + 2, l.words)
    else:
        device_run(l.dev, region, <void *> caller, <void *> l.device_block, 0, NULL)
    gompy_door_place = NULL
