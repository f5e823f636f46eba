# Images: LLVM's plugin loads them and tells where their entries are.  It may keep what it gets: records stay.

from libc.string cimport memcpy
from posix.fcntl cimport O_RDONLY
from posix.stat cimport fstat, struct_stat
from posix.unistd cimport close

from gompy.native.descriptors cimport gompy_open
from gompy.native.mman cimport MAP_FAILED, MAP_PRIVATE, PROT_READ, mmap

cdef enum:
    LAUNCHES_WORDS = 1  # in place of an address: what calls kernels by clang
    TGT_REQUIRES_NOTHING = 1  # OMP_REQ_NONE
    TABLE_WORDS = 4  # of __OFFLOAD_TARGET_TABLE__: functions begin, end, variables begin, end

cdef void **caller_kernels  # of each device: what calls functions by address
cdef uint64_t llvm_started  # bit n: device n
cdef extern from *:
    """
    static pthread_mutex_t llvm_images_mutex = PTHREAD_MUTEX_INITIALIZER;

    /* The entry of our kernel, where LLVM's older plugins look for an image's entries.  */
    extern void gompy_llvm_call_function (uint64_t, uint64_t);
    __attribute__ ((used, section ("omp_offloading_entries")))
    static struct { void *address; const char *name; uint64_t size; uint64_t flags; } gompy_llvm_entry
      = { (void *) gompy_llvm_call_function, "gompy_llvm_call_function", 0, 0 };
    """
    pthread_mutex_t llvm_images_mutex


cdef public void gompy_llvm_call_function(uint64_t function, uint64_t vars) noexcept nogil:
    """The kernel that calls a region by gcc: its address, and that of its variables."""
    (<void (*)(void *) noexcept nogil> function)(<void *> vars)


cdef public void gompy_llvm_18_call_function(uint64_t runtime_word, uint64_t function, uint64_t vars) noexcept nogil:
    """The same for 18, which gives kernels a word more."""
    gompy_llvm_call_function(function, vars)


cdef int load_clang_image(int n, const mic_target_data *data, AddrPair **pairs) noexcept nogil:
    """An image by clang: what it is asked for are functions, the last of which stands for what calls kernels, then
    variables.
    """
    cdef const mic_symbol *symbols = <const mic_symbol *> data.objects
    cdef LoadedBinary *loaded = new_binary(data.image_start, data.image_end, data.num_objects)
    cdef size_t count = 0, i
    if loaded == NULL:
        return -1
    for i in range(data.num_objects):
        if symbols[i].name[0]:
            loaded.entries[count].address = &loaded.entries[count]  # the host's: any that is not NULL
            loaded.entries[count].name = symbols[i].name
            loaded.entries[count].size = symbols[i].size if i >= data.image_funcs else 0
            count += 1
    loaded.image.entries_end = loaded.entries + count
    if not ask_for(n, loaded):
        GOMP_PLUGIN_error(b"device %d (llvm): LLVM's plugin cannot load the image of %s", n, data.name)
        return -1
    pairs[0] = <AddrPair *> GOMP_PLUGIN_malloc((data.num_objects + 1) * sizeof(AddrPair))
    count = 0
    for i in range(data.num_objects):
        if not symbols[i].name[0]:
            pairs[0][i].start = <uintptr_t> LAUNCHES_WORDS
        else:
            pairs[0][i].start = <uintptr_t> where_is(loaded, &loaded.entries[count])
            count += 1
        pairs[0][i].end = pairs[0][i].start + (symbols[i].size if i >= data.image_funcs else 1)
        if pairs[0][i].start == 0 and i >= data.image_funcs:
            GOMP_PLUGIN_error(b"device %d (llvm): the image of %s has no variable %s", n, data.name, symbols[i].name)
            return -1
    return <int> data.num_objects


cdef void *own_file(size_t *size) noexcept nogil:
    """This library's file in memory, or NULL."""
    cdef Dl_info info
    cdef struct_stat status
    cdef void *start = MAP_FAILED
    cdef int fd
    if not dladdr(<void *> gompy_llvm_call_function, &info) or info.dli_fname == NULL:
        return NULL
    fd = gompy_open(info.dli_fname, O_RDONLY, 0)
    if fd >= 0 and fstat(fd, &status) == 0:
        size[0] = <size_t> status.st_size
        start = mmap(NULL, size[0], PROT_READ, MAP_PRIVATE, fd, 0)
    if fd >= 0:
        close(fd)
    return start if start != MAP_FAILED else NULL


cdef bint load_caller(int n) noexcept nogil:
    """Load this library as an image: LLVM's plugins launch kernels that have names or entries, gcc's regions have none.
    """
    cdef LoadedBinary *image
    cdef size_t size = 0
    cdef const char *start
    if caller_kernels[n] != NULL:
        return True
    start = <const char *> own_file(&size)
    if start == NULL:
        return False
    image = new_binary(start, start + size, 1)
    if image == NULL:
        return False
    image.entries[0].address = image
    image.entries[0].name = b"gompy_llvm_call_function"
    if rtl_by_name:
        image.entries[0].name = b"gompy_llvm_18_call_function"
    if ask_for(n, image):
        caller_kernels[n] = where_is(image, &image.entries[0])
    return caller_kernels[n] != NULL


cdef bint start_device(int n) noexcept nogil:
    """Start a device."""
    global llvm_started
    if llvm_started >> (n & 63) & 1:
        return True
    if rtl.init_device(n):
        return False
    if rtl.init_requires != NULL:
        rtl.init_requires(TGT_REQUIRES_NOTHING)
    llvm_started |= <uint64_t> 1 << (n & 63)
    return True


cdef bint takes_this_machines() noexcept nogil:
    """Whether LLVM's plugin is for x86_64: it takes this library for an image."""
    cdef size_t size = 0
    cdef const char *start = <const char *> own_file(&size)
    return start != NULL and takes_image(start, start + size)


cdef int count_devices() noexcept nogil:
    """How many devices LLVM's plugin has; 0 after a message where it is for others than x86_64.

    The first one starts here: LLVM closes images at exit when what it made at the first load is destroyed.  It has to
    be older than what libgompy calls at exit, when destructors run on the device.
    """
    global caller_kernels
    cdef int count = rtl.number_of_devices()
    if rtl_for_gpus:
        if count <= 0:
            GOMP_PLUGIN_error(b"GOMPY_LLVM_RTL: LLVM's plugin finds no GPU: the folder that gompy config --cuda-libdir "
                              b"prints has the emulated driver, for LD_LIBRARY_PATH")
        return max(count, 0)
    if not takes_this_machines():
        GOMP_PLUGIN_error(b"GOMPY_LLVM_RTL: devices for other images than x86_64's and NVIDIA's are not implemented")
        return 0
    if count > 0 and caller_kernels == NULL:
        caller_kernels = <void **> calloc(<size_t> count, sizeof(void *))
        if caller_kernels == NULL:
            return 0
        if start_device(0):
            load_caller(0)
    return max(count, 0)


cdef int load_gcc_image(int n, const ImageRange *image, AddrPair **pairs) noexcept nogil:
    """An image by gcc: its table, which is a variable of it, has the addresses of functions and variables."""
    cdef LoadedBinary *loaded
    cdef void *at = NULL
    cdef uintptr_t table[TABLE_WORDS]
    cdef uintptr_t *words
    cdef size_t functions, variables, i
    if rtl_is_older or rtl.launch_kernel == NULL:
        GOMP_PLUGIN_error(b"device %d (llvm): an image by gcc lacks the entries that this plugin of LLVM wants; 16's "
                          b"nextgen and later ones take it", n)
        return -1
    loaded = new_binary(image.start, image.end, 1)
    if loaded == NULL:
        return -1
    loaded.entries[0].address = loaded
    loaded.entries[0].name = b"__OFFLOAD_TARGET_TABLE__"
    loaded.entries[0].size = sizeof(table)
    if ask_for(n, loaded):
        at = where_is(loaded, &loaded.entries[0])
    if at == NULL or rtl.data_retrieve(n, table, at, sizeof(table)) or not load_caller(n):
        GOMP_PLUGIN_error(b"device %d (llvm): LLVM's plugin cannot load an image by gcc", n)
        return -1
    functions = (table[1] - table[0]) // sizeof(uintptr_t)
    variables = (table[3] - table[2]) // (2 * sizeof(uintptr_t))
    words = <uintptr_t *> GOMP_PLUGIN_malloc((functions + 2 * variables + 1) * sizeof(uintptr_t))
    pairs[0] = <AddrPair *> GOMP_PLUGIN_malloc((functions + variables + 1) * sizeof(AddrPair))
    if functions:
        rtl.data_retrieve(n, words, <void *> table[0], <int64_t> (functions * sizeof(uintptr_t)))
    if variables:
        rtl.data_retrieve(n, words + functions, <void *> table[2], <int64_t> (2 * variables * sizeof(uintptr_t)))
    for i in range(functions):
        pairs[0][i].start = words[i]
        pairs[0][i].end = words[i] + 1
    for i in range(variables):
        pairs[0][functions + i].start = words[functions + 2 * i]
        pairs[0][functions + i].end = words[functions + 2 * i] + (words[functions + 2 * i + 1] & ~(<uintptr_t> 1 << 63))
    pairs[0][functions + variables].start = pairs[0][functions + variables].end = 0
    free(words)
    return <int> (functions + variables + 1)


cdef public int GOMP_OFFLOAD_load_image(int n, unsigned version, const void *target_data,
                                        AddrPair **table) noexcept nogil:
    """Load an image; the number of its addresses, -1 after a message."""
    cdef int count
    pthread_mutex_lock(&llvm_images_mutex)
    if rtl_for_gpus:
        count = load_gpu_image(n, <const GpuImage *> target_data, table)
    elif symbols_of(<mic_target_data *> target_data, version) != NULL:
        count = load_clang_image(n, <const mic_target_data *> target_data, table)
    else:
        count = load_gcc_image(n, <const ImageRange *> target_data, table)
    pthread_mutex_unlock(&llvm_images_mutex)
    return count


cdef public c_bool GOMP_OFFLOAD_unload_image(int n, unsigned version, const void *target_data) noexcept nogil:
    """LLVM's plugins have no such thing: an image stays until the program ends."""
    return True
