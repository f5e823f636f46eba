# Managed memory: ompx_gnu_managed_mem_alloc, ompx_gnu_managed_mem_space of GCC 16.  Host and default device reach a
# block at the same address, without a map.
#
# libgomp asks a plugin of its own for such memory, and sees no device here.  So the allocator routines look at the
# handle first: what means managed memory is served here, all else is libgomp's.  libgomp's routines keep a header
# before each block; blocks of this file are in a table, by which they are known when they come back.

cdef enum:
    # omp.h of GCC 16
    OMP_DEFAULT_MEM_ALLOC = 1
    OMPX_MANAGED_MEM_SPACE = 200
    OMPX_MANAGED_MEM_ALLOC = 201
    OMP_ATK_SYNC_HINT = 1
    OMP_ATK_ALIGNMENT = 2
    OMP_ATK_ACCESS = 3
    OMP_ATK_POOL_SIZE = 4
    OMP_ATK_FALLBACK = 5
    OMP_ATK_FB_DATA = 6
    OMP_ATK_PINNED = 7
    OMP_ATK_PARTITION = 8
    OMP_ATV_TRUE = 1
    OMP_ATV_CONTENDED = 3
    OMP_ATV_PRIVATE = 6
    OMP_ATV_THREAD = 10
    OMP_ATV_DEFAULT_MEM_FB = 11
    OMP_ATV_NULL_FB = 12
    OMP_ATV_ABORT_FB = 13
    OMP_ATV_ALLOCATOR_FB = 14
    OMP_ATV_ENVIRONMENT = 15
    OMP_ATV_INTERLEAVED = 18

    MANAGED_BUCKETS = 1024  # of the table
    MANAGED_ALIGNMENT = 256  # what every device's blocks have

cdef extern from *:
    """
    #define OMP_ATV_DEFAULT (~(uintptr_t) 0)
    extern uintptr_t omp_get_default_allocator (void);
    struct gompy_managed_allocator
    {
      struct gompy_managed_allocator *next;
      uintptr_t alignment, pool_size, used, fallback, fb_data;
    };
    /* ompx_gnu_managed_mem_alloc: no limit, and malloc's memory where there is no such device */
    static struct gompy_managed_allocator gompy_predefined_managed = {
      .alignment = 1, .pool_size = ~(uintptr_t) 0, .fallback = 11 /* omp_atv_default_mem_fb */ };
    """
    uintptr_t OMP_ATV_DEFAULT
    struct ManagedAllocator "gompy_managed_allocator":
        ManagedAllocator *next
        uintptr_t alignment
        uintptr_t pool_size
        uintptr_t used
        uintptr_t fallback
        uintptr_t fb_data
    ManagedAllocator predefined_managed "gompy_predefined_managed"
    uintptr_t omp_get_default_allocator() noexcept nogil

ctypedef struct AllocatorTrait:
    int key
    uintptr_t value

cdef struct ManagedBlock:
    ManagedBlock *next
    char *address
    char *base  # what the device gave
    size_t size
    int device  # -1: malloc's memory, of a device that shares the program's
    ManagedAllocator *allocator

ctypedef void *(*alloc_fn)(size_t, uintptr_t) noexcept nogil
ctypedef void *(*alloc3_fn)(size_t, size_t, uintptr_t) noexcept nogil
ctypedef void *(*alloc4_fn)(size_t, size_t, size_t, uintptr_t) noexcept nogil
ctypedef void *(*realloc_fn)(void *, size_t, uintptr_t, uintptr_t) noexcept nogil
ctypedef void (*free_fn)(void *, uintptr_t) noexcept nogil
ctypedef uintptr_t (*init_allocator_fn)(uintptr_t, int, const AllocatorTrait *) noexcept nogil
ctypedef void (*destroy_allocator_fn)(uintptr_t) noexcept nogil

cdef struct StockAllocators:
    # libgomp's routines, each looked up when it is called first
    void *alloc
    void *aligned_alloc
    void *calloc
    void *aligned_calloc
    void *realloc
    void *free
    void *init_allocator
    void *destroy_allocator

cdef StockAllocators stock_allocators
cdef ManagedAllocator *managed_allocators  # the program's own; under managed_lock, as all below
cdef ManagedBlock *managed_blocks[MANAGED_BUCKETS]
cdef int managed_count
cdef gompy_lock_t managed_lock


cdef inline void *stock_allocator(void **at, const char *name) noexcept nogil:
    cdef void *fn = gompy_load_ptr(at)
    if fn == NULL:
        fn = stock_symbol(name)
        gompy_store_ptr(at, fn)
    return fn


# --- allocators
# --------------------------------------------------------------------------------------------------------------

cdef ManagedAllocator *find_allocator(uintptr_t handle) noexcept nogil:
    """The program's own managed allocator of a handle, or NULL."""
    cdef ManagedAllocator *own
    gompy_lock_acquire(&managed_lock)
    own = managed_allocators
    while own != NULL and <uintptr_t> own != handle:
        own = own.next
    gompy_lock_release(&managed_lock)
    return own


cdef inline ManagedAllocator *managed_of(uintptr_t handle) noexcept nogil:
    """The managed allocator that a handle means, NULL: it is libgomp's business."""
    if handle == 0:
        handle = omp_get_default_allocator()
    if handle == OMPX_MANAGED_MEM_ALLOC:
        return &predefined_managed
    if handle < OMPX_MANAGED_MEM_ALLOC or gompy_load_ptr(&managed_allocators) == NULL:
        return NULL
    return find_allocator(handle)


cdef bint trait_within(uintptr_t value, uintptr_t first, uintptr_t last) noexcept nogil:
    return first <= value <= last or value == OMP_ATV_DEFAULT


cdef bint read_trait(ManagedAllocator *own, int key, uintptr_t value) noexcept nogil:
    """Enter a trait; False: there is no such trait or value."""
    if key == OMP_ATK_ALIGNMENT:
        own.alignment = 1 if value == OMP_ATV_DEFAULT else value
        return own.alignment != 0 and own.alignment & (own.alignment - 1) == 0
    if key == OMP_ATK_POOL_SIZE:
        own.pool_size = value  # the default is no limit
        return True
    if key == OMP_ATK_FALLBACK:
        own.fallback = OMP_ATV_DEFAULT_MEM_FB if value == OMP_ATV_DEFAULT else value
        return OMP_ATV_DEFAULT_MEM_FB <= own.fallback <= OMP_ATV_ALLOCATOR_FB
    if key == OMP_ATK_FB_DATA:
        own.fb_data = value
        return True
    if key == OMP_ATK_SYNC_HINT:
        return trait_within(value, OMP_ATV_CONTENDED, OMP_ATV_PRIVATE)
    if key == OMP_ATK_ACCESS:
        return trait_within(value, OMP_ATV_PRIVATE + 1, OMP_ATV_THREAD)
    if key == OMP_ATK_PINNED:
        return trait_within(value, 0, OMP_ATV_TRUE)
    return key == OMP_ATK_PARTITION and trait_within(value, OMP_ATV_ENVIRONMENT, OMP_ATV_INTERLEAVED)


cdef public uintptr_t omp_init_allocator(uintptr_t space, int count, const AllocatorTrait *traits) noexcept nogil:
    """A handle; 0 if a trait is not valid."""
    cdef ManagedAllocator *own
    cdef int i
    if space != OMPX_MANAGED_MEM_SPACE:
        return (<init_allocator_fn> stock_allocator(&stock_allocators.init_allocator, b"omp_init_allocator"))(
            space, count, traits)
    own = <ManagedAllocator *> calloc(1, sizeof(ManagedAllocator))
    if own == NULL:
        return 0
    own.alignment = 1
    own.pool_size = ~<uintptr_t> 0
    own.fallback = OMP_ATV_DEFAULT_MEM_FB
    for i in range(count):
        if not read_trait(own, traits[i].key, traits[i].value):
            free(own)
            return 0
    gompy_lock_acquire(&managed_lock)
    own.next = managed_allocators
    gompy_store_ptr(&managed_allocators, own)
    gompy_lock_release(&managed_lock)
    return <uintptr_t> own


cdef public void omp_destroy_allocator(uintptr_t handle) noexcept nogil:
    cdef ManagedAllocator **at = &managed_allocators
    cdef ManagedAllocator *own
    gompy_lock_acquire(&managed_lock)
    while at[0] != NULL and <uintptr_t> at[0] != handle:
        at = &at[0].next
    own = at[0]
    if own != NULL:
        gompy_store_ptr(at, own.next)
    gompy_lock_release(&managed_lock)
    if own != NULL:
        free(own)
    elif handle != OMPX_MANAGED_MEM_ALLOC:
        (<destroy_allocator_fn> stock_allocator(&stock_allocators.destroy_allocator, b"omp_destroy_allocator"))(handle)


cdef public intptr_t omp_init_allocator_(const intptr_t *space, const int32_t *count,
                                         const AllocatorTrait *traits) noexcept nogil:
    """Fortran."""
    return <intptr_t> omp_init_allocator(<uintptr_t> space[0], count[0], traits)


cdef public intptr_t omp_init_allocator_8_(const intptr_t *space, const int64_t *count,
                                           const AllocatorTrait *traits) noexcept nogil:
    """Fortran, 8-byte integers."""
    return <intptr_t> omp_init_allocator(<uintptr_t> space[0], <int> count[0], traits)


cdef public void omp_destroy_allocator_(const intptr_t *handle) noexcept nogil:
    """Fortran."""
    omp_destroy_allocator(<uintptr_t> handle[0])


# --- blocks
# ------------------------------------------------------------------------------------------------------------------

cdef inline ManagedBlock **bucket_of(const void *address) noexcept nogil:
    return &managed_blocks[(<uintptr_t> address * <uint64_t> 0x9E3779B97F4A7C15) >> 54]


cdef ManagedBlock *find_block(const void *address, bint take) noexcept nogil:
    """The block that begins at an address, or NULL; take: it is no longer in the table."""
    cdef ManagedBlock **at
    cdef ManagedBlock *block
    global managed_count
    if gompy_load(&managed_count) == 0:
        return NULL
    gompy_lock_acquire(&managed_lock)
    at = bucket_of(address)
    while at[0] != NULL and at[0].address != <const char *> address:
        at = &at[0].next
    block = at[0]
    if take and block != NULL:
        at[0] = block.next
        gompy_store(&managed_count, managed_count - 1)
        if block.allocator != NULL:
            block.allocator.used -= block.size
    gompy_lock_release(&managed_lock)
    return block


cdef bint in_pool(ManagedAllocator *own, size_t size) noexcept nogil:
    """Whether the pool of an allocator has room, which is taken."""
    cdef bint room
    gompy_lock_acquire(&managed_lock)
    room = size <= own.pool_size - own.used
    if room:
        own.used += size
    gompy_lock_release(&managed_lock)
    return room


cdef char *common_of_default(size_t size, int *number) noexcept nogil:
    """Memory of the default device's that the host reaches at the same address, or NULL."""
    cdef const char *reason = NULL
    cdef DeviceDescr *dev = resolve_device(GOMP_DEVICE_ICV, &reason)
    cdef char *memory = NULL
    if dev == NULL:
        return NULL
    number[0] = dev.number
    if not keeps_table(dev):
        number[0] = -1
        return <char *> malloc(size)
    if not device_has_common_memory(dev):
        return NULL
    gompy_lock_acquire(&dev.lock)
    if dev.state == DEVICE_INITIALIZED:
        memory = <char *> device_alloc_common(dev, size, True)
    gompy_lock_release(&dev.lock)
    return memory


cdef void *new_block(ManagedAllocator *own, size_t alignment, size_t size) noexcept nogil:
    """A block at an aligned address, entered in the table; NULL: there is no room, or no device for it."""
    global managed_count
    cdef size_t over = alignment - 1 if alignment > MANAGED_ALIGNMENT else 0
    cdef size_t all_of_it = 0
    cdef ManagedBlock *block
    cdef ManagedBlock **at
    if __builtin_add_overflow(size, over, &all_of_it) or not in_pool(own, size):
        return NULL
    block = <ManagedBlock *> malloc(sizeof(ManagedBlock))
    if block != NULL:
        block.base = common_of_default(all_of_it, &block.device)
    if block == NULL or block.base == NULL:
        free(block)
        gompy_lock_acquire(&managed_lock)
        own.used -= size
        gompy_lock_release(&managed_lock)
        return NULL
    block.address = <char *> ((<uintptr_t> block.base + over) & ~<uintptr_t> over) if over else block.base
    block.size = size
    block.allocator = own
    at = bucket_of(block.address)
    gompy_lock_acquire(&managed_lock)
    block.next = at[0]
    at[0] = block
    gompy_store(&managed_count, managed_count + 1)
    gompy_lock_release(&managed_lock)
    return block.address


cdef void give_back(ManagedBlock *block) noexcept nogil:
    """Free a block that was taken from the table; as libgomp, not while the host is the default device."""
    cdef const char *reason = NULL
    cdef DeviceDescr *dev
    cdef bint good = True
    if block.device < 0:
        free(block.base)
        free(block)
        return
    if resolve_device(GOMP_DEVICE_ICV, &reason) == NULL:
        if gompy_load(&devices[block.device].state) == DEVICE_FINALIZED:  # the program ends: the memory is gone
            free(block)
            return
        gompy_fatal(b"attempted to free managed memory at %p, but the default device is set to the host device",
                    block.address)
    dev = &devices[block.device]
    gompy_lock_acquire(&dev.lock)
    if dev.state == DEVICE_INITIALIZED:
        good = device_free_common(dev, block.base, True)
    gompy_lock_release(&dev.lock)
    if not good:
        gompy_fatal(b"error in freeing managed memory block at %p", block.address)
    free(block)


cdef void *managed_memory(ManagedAllocator *own, size_t alignment, size_t size) noexcept nogil:
    """Of a managed allocator; else what its fallback says.  size is not 0."""
    cdef void *memory = new_block(own, max(alignment, own.alignment), size)
    if memory != NULL or own.fallback == OMP_ATV_NULL_FB:
        return memory
    if own.fallback == OMP_ATV_ABORT_FB:
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> size)
    return omp_aligned_alloc(max(alignment, max(own.alignment, sizeof(void *))), size,
                             own.fb_data if own.fallback == OMP_ATV_ALLOCATOR_FB else OMP_DEFAULT_MEM_ALLOC)


# --- the routines
# ------------------------------------------------------------------------------------------------------------

cdef public void *omp_alloc(size_t size, uintptr_t handle) noexcept nogil:
    cdef ManagedAllocator *own = managed_of(handle)
    if own == NULL:
        return (<alloc_fn> stock_allocator(&stock_allocators.alloc, b"omp_alloc"))(size, handle)
    return managed_memory(own, 1, size) if size else NULL


cdef public void *omp_aligned_alloc(size_t alignment, size_t size, uintptr_t handle) noexcept nogil:
    cdef ManagedAllocator *own = managed_of(handle)
    if own == NULL:
        return (<alloc3_fn> stock_allocator(&stock_allocators.aligned_alloc, b"omp_aligned_alloc"))(
            alignment, size, handle)
    return managed_memory(own, alignment, size) if size else NULL


cdef public void *omp_aligned_calloc(size_t alignment, size_t count, size_t size, uintptr_t handle) noexcept nogil:
    cdef ManagedAllocator *own = managed_of(handle)
    cdef size_t whole = 0
    cdef void *memory
    if own == NULL:
        return (<alloc4_fn> stock_allocator(&stock_allocators.aligned_calloc, b"omp_aligned_calloc"))(
            alignment, count, size, handle)
    if __builtin_mul_overflow(count, size, &whole):
        whole = ~<size_t> 0  # no device has that, and the fallback is told
    if whole == 0:
        return NULL
    memory = managed_memory(own, alignment, whole)
    return memset(memory, 0, whole) if memory != NULL else NULL


cdef public void *omp_calloc(size_t count, size_t size, uintptr_t handle) noexcept nogil:
    if managed_of(handle) == NULL:
        return (<alloc3_fn> stock_allocator(&stock_allocators.calloc, b"omp_calloc"))(count, size, handle)
    return omp_aligned_calloc(1, count, size, handle)


cdef public void omp_free(void *memory, uintptr_t handle) noexcept nogil:
    cdef ManagedBlock *block = find_block(memory, True) if memory != NULL else NULL
    if block != NULL:
        give_back(block)
    else:
        (<free_fn> stock_allocator(&stock_allocators.free, b"omp_free"))(memory, handle)


cdef public void *omp_realloc(void *memory, size_t size, uintptr_t handle, uintptr_t old_handle) noexcept nogil:
    """Between libgomp's memory and managed memory, too; the old block stays if there is no new one."""
    cdef realloc_fn stock = <realloc_fn> stock_allocator(&stock_allocators.realloc, b"omp_realloc")
    cdef ManagedBlock *block
    cdef ManagedAllocator *own
    cdef void *other
    if memory == NULL:
        return omp_aligned_alloc(1, size, handle)
    block = find_block(memory, False)
    own = managed_of(handle) if handle else NULL
    if block == NULL and own == NULL:
        return stock(memory, size, handle, old_handle)
    if size == 0:
        omp_free(memory, old_handle)
        return NULL
    if block != NULL:
        other = managed_memory(block.allocator, 1, size) if handle == 0 else omp_aligned_alloc(1, size, handle)
        if other != NULL:
            memcpy(other, memory, min(block.size, size))
            omp_free(memory, old_handle)
        return other
    other = managed_memory(own, 1, size)
    # How large libgomp's block is, only libgomp knows: it makes it as large as the new one first.
    memory = stock(memory, size, OMP_DEFAULT_MEM_ALLOC, old_handle) if other != NULL else NULL
    if memory == NULL:
        omp_free(other, 0)
        return NULL
    memcpy(other, memory, size)
    omp_free(memory, 0)
    return other


cdef public void *GOMP_alloc(size_t alignment, size_t size, uintptr_t handle) noexcept nogil:
    """What `allocate` clauses and directives call."""
    cdef void *memory = omp_aligned_alloc(alignment, size, handle)
    if memory == NULL and size:
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> size)
    return memory


cdef public void GOMP_free(void *memory, uintptr_t handle) noexcept nogil:
    omp_free(memory, handle)
