# Images: PTX objects that the driver links and compiles, and the addresses of their functions and variables.

from gompy.native.launch_words cimport KERNEL_BY_CLANG

cdef enum:
    JIT_OPTIONS = 7
    ERROR_LOG = 8192
    INFO_LOG = 16384
    LARGE_FRAME = 4096  # bytes; GCC's libraries have none

cdef struct PtxObject:
    const char *code
    size_t size  # with the NUL

cdef struct TargetData:
    # What mkoffload registers (GCC: struct nvptx_tdata).
    const PtxObject *objects
    unsigned num_objects
    const char **variables
    unsigned num_variables
    const Launch *functions
    unsigned num_functions
    unsigned num_indirect  # from GOMP_VERSION 3 on, and of clang's images
    const uint64_t *indirect  # of clang's images: host addresses of those functions, which are the last variables

cdef extern from *:
    """
    /* What the driver's compiler says of a kernel that may recurse or calls functions by pointers.  */
    #define UNKNOWN_DEPTH "cannot be statically determined"
    """
    const char *UNKNOWN_DEPTH

cdef int jit_level  # of GOMP_NVPTX_JIT, plus 1; 0: the driver's own choice
cdef bint jit_level_read


cdef void read_jit_level() noexcept nogil:
    """GOMP_NVPTX_JIT: ``-O0`` to ``-O4``, separated by blanks; the last one counts."""
    global jit_level, jit_level_read
    cdef const char *value = secure_getenv(b"GOMP_NVPTX_JIT")
    cdef const char *text = value
    if jit_level_read:
        return
    jit_level_read = True
    if text == NULL:
        GOMP_PLUGIN_debug(0, b"GOMP_NVPTX_JIT: <Not defined>\n")
        return
    GOMP_PLUGIN_debug(0, b"GOMP_NVPTX_JIT: '%s'\n", text)
    while text[0]:
        if text[0] == c' ':
            text += 1
        elif text[0] == c'-' and text[1] == c'O' and c'0' <= text[2] <= c'4' and (text[3] == 0 or text[3] == c' '):
            jit_level = text[2] - c'0' + 1
            text += 3
        else:
            GOMP_PLUGIN_error(b"GOMP_NVPTX_JIT=%s: not -O0 to -O4, separated by blanks; using the driver's own level",
                              value)
            jit_level = 0
            return


cdef size_t stack_for(const TargetData *image) noexcept nogil:
    """How much stack a warp needs for the large frames of an image's functions; 0 if they leave half of STACK_SIZE.

    GCC's functions for OpenMP keep their local variables there, and nothing tells if there is no room: they are on the
    next warp's stack then, or in other device memory.  All large frames are added up, whichever function calls which.
    """
    cdef const char *text
    cdef size_t frame, total = 0
    cdef unsigned i
    for i in range(image.num_objects):
        text = strstr(image.objects[i].code, b"%sspprev,")
        while text != NULL:
            text += 9
            frame = strtoul(text, NULL, 10)
            if frame >= LARGE_FRAME:
                total += frame
            text = strstr(text, b"%sspprev,")
    if total <= STACK_SIZE // 2:
        return 0
    return (total + STACK_SIZE // 2 + LARGE_FRAME - 1) // LARGE_FRAME * LARGE_FRAME


cdef bint link_image(Device *d, const TargetData *image, CUmodule *module) noexcept nogil:
    """Have the driver make a module of the PTX; false after a message with the driver's log."""
    cdef int options[JIT_OPTIONS]
    cdef void *values[JIT_OPTIONS]
    cdef float *milliseconds
    cdef CUlinkState state = NULL
    cdef CUresult rc = CUDA_SUCCESS
    cdef void *code = NULL
    cdef size_t size = 0
    cdef unsigned i
    cdef unsigned count = 6
    cdef bint good = False
    cdef char *logs = <char *> calloc(1, ERROR_LOG + INFO_LOG)
    if logs == NULL:
        GOMP_PLUGIN_error(b"nvptx: out of memory")
        return False
    read_jit_level()
    options[0] = CU_JIT_WALL_TIME
    values[0] = NULL
    options[1] = CU_JIT_INFO_LOG_BUFFER
    values[1] = logs
    options[2] = CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES
    values[2] = <void *> <uintptr_t> INFO_LOG
    options[3] = CU_JIT_ERROR_LOG_BUFFER
    values[3] = logs + INFO_LOG
    options[4] = CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
    values[4] = <void *> <uintptr_t> ERROR_LOG
    options[5] = CU_JIT_LOG_VERBOSE
    values[5] = <void *> <uintptr_t> 1
    if jit_level:
        options[6] = CU_JIT_OPTIMIZATION_LEVEL
        values[6] = <void *> <uintptr_t> (jit_level - 1)
        count = 7
    if not call_failed(cuda.link_create(count, options, values, &state), b"cuLinkCreate"):
        for i in range(image.num_objects):
            if image.objects[i].code[0] != 0x7f:
                GOMP_PLUGIN_debug(0, b"Loading:\n---\n%s\n---\n", image.objects[i].code)
            rc = cuda.link_add(state, CU_JIT_INPUT_CUBIN if image.objects[i].code[0] == 0x7f else CU_JIT_INPUT_PTX,
                               <void *> image.objects[i].code,
                               image.objects[i].size, NULL, 0, NULL, NULL)
            if rc != CUDA_SUCCESS:
                GOMP_PLUGIN_error(b"Link error log %s\n", logs + INFO_LOG)
                call_failed(rc, b"cuLinkAddData (ptx_code)")
                break
        if rc == CUDA_SUCCESS:
            GOMP_PLUGIN_debug(0, b"Linking\n")
            rc = cuda.link_complete(state, &code, &size)
            milliseconds = <float *> &values[0]
            GOMP_PLUGIN_debug(0, b"Link complete: %fms\n", <double> milliseconds[0])
            GOMP_PLUGIN_debug(0, b"Link log %s\n", logs)
            if rc != CUDA_SUCCESS:
                GOMP_PLUGIN_error(b"Link error log %s\n", logs + INFO_LOG)
                call_failed(rc, b"cuLinkComplete")
            else:
                good = not call_failed(cuda.module_load(module, code), b"cuModuleLoadData")
                size = stack_for(image)
                if size > d.warp_stack:
                    GOMP_PLUGIN_debug(0, b"nvptx: %lu bytes of stack for each warp of device %d\n",
                                      <unsigned long> size,
                                      d.number)
                    d.warp_stack = size
                if strstr(logs, UNKNOWN_DEPTH) != NULL or strstr(logs + INFO_LOG, UNKNOWN_DEPTH) != NULL:
                    deepen_stack(d)
        good = not call_failed(cuda.link_destroy(state), b"cuLinkDestroy") and good
    free(logs)
    return good


cdef enum:
    # How clang's device runtime executes a kernel: OMPTgtExecModeFlags of LLVM, and those without such a mark.
    KERNEL_BY_GCC = 0
    KERNEL_GENERIC = 1
    KERNEL_SPMD = 2
    KERNEL_GENERIC_SPMD = 3
    KERNEL_PLAIN = 4  # a constructor or destructor; a kernel of CUDA

    ENVIRONMENT_MODE = 2  # where the mode is in NAME_kernel_environment (LLVM 17 and later)

cdef struct KernelEnvironment:
    # Of a kernel by clang 18 and later (ConfigurationEnvironmentTy; two pointers follow).
    char generic
    char nested
    char mode
    int32_t threads[2]
    int32_t teams[2]
    int32_t reduction_size  # of what one team has
    int32_t reduction_length  # so many of them are in the buffer
    uint64_t pointers[2]

cdef struct LaunchEnvironment:
    # What the kernel's first parameter points to (KernelLaunchEnvironmentTy).
    uint32_t reduction_count
    uint32_t reduction_round
    uint64_t reduction_buffer

cdef struct RuntimeEnvironment:
    # Of clang's device runtime (LLVM 19: DeviceEnvironmentTy; 16 has the first four).
    uint32_t debug
    uint32_t devices
    uint32_t device
    uint32_t shared
    uint64_t clock_frequency
    uint64_t indirect  # pairs of a host's and a device's address, in order
    uint64_t num_indirect
    uint64_t hardware_parallelism


cdef int kernel_mode(CUmodule module, const Launch *launch) noexcept nogil:
    """How a function is executed: by clang's word of it, as far as clang has made it."""
    cdef char variable[1024]
    cdef CUdeviceptr address = 0
    cdef char mode = 0
    cdef const char *name = launch.name
    if launch.dim[0] != KERNEL_BY_CLANG:
        return KERNEL_BY_GCC
    if strncmp(name, b"__omp_offloading_", 17):
        return KERNEL_PLAIN
    snprintf(variable, sizeof(variable), b"%s_exec_mode", name)
    if cuda.module_global(&address, NULL, module, variable) != CUDA_SUCCESS:
        snprintf(variable, sizeof(variable), b"%s_kernel_environment", name)
        if cuda.module_global(&address, NULL, module, variable) != CUDA_SUCCESS:
            return KERNEL_PLAIN
        address += ENVIRONMENT_MODE
    if call_failed(cuda.device_to_host(&mode, address, 1), b"cuMemcpyDtoH"):
        return KERNEL_PLAIN
    return mode if KERNEL_GENERIC <= mode <= KERNEL_GENERIC_SPMD else KERNEL_PLAIN


cdef size_t reduction_room(CUmodule module, const char *name) noexcept nogil:
    """Bytes of the buffer for a kernel's reductions over teams."""
    cdef char variable[1024]
    cdef CUdeviceptr address = 0
    cdef size_t size = 0
    cdef KernelEnvironment known
    snprintf(variable, sizeof(variable), b"%s_kernel_environment", name)
    if cuda.module_global(&address, &size, module, variable) != CUDA_SUCCESS or size < sizeof(known):
        return 0
    if call_failed(cuda.device_to_host(&known, address, sizeof(known)), b"cuMemcpyDtoH"):
        return 0
    if known.reduction_size <= 0 or known.reduction_length <= 0:
        return 0
    return <size_t> known.reduction_size * <size_t> known.reduction_length


cdef int by_host_address(const void *a, const void *b) noexcept nogil:
    cdef uint64_t x = (<const uint64_t *> a)[0]
    cdef uint64_t y = (<const uint64_t *> b)[0]
    return (x > y) - (x < y)


cdef bint map_indirect_by_clang(const TargetData *image, LoadedImage *loaded) noexcept nogil:
    """The device's table of indirect functions, in which clang's runtime looks up what a region calls by a pointer."""
    cdef CUdeviceptr address = 0
    cdef const char **names = image.variables + image.num_variables - image.num_indirect
    cdef size_t size = image.num_indirect * 2 * sizeof(uint64_t)
    cdef uint64_t *pairs = <uint64_t *> calloc(1, size)
    cdef bint good = pairs != NULL
    cdef unsigned i
    for i in range(image.num_indirect if good else 0):
        pairs[2 * i] = image.indirect[i]
        good = (good and not call_failed(cuda.module_global(&address, NULL, loaded.module, names[i]),
                                         b"cuModuleGetGlobal")
                and not call_failed(cuda.device_to_host(&pairs[2 * i + 1], address, sizeof(uint64_t)), b"cuMemcpyDtoH"))
    if good:
        qsort(pairs, image.num_indirect, 2 * sizeof(uint64_t), by_host_address)
        good = not call_failed(cuda.mem_alloc(&loaded.indirect, size), b"cuMemAlloc")
    good = good and not call_failed(cuda.host_to_device(loaded.indirect, pairs, size), b"cuMemcpyHtoD")
    free(pairs)
    return good


cdef inline bint made_by_clang(const TargetData *image) noexcept nogil:
    """Whether an image has clang's names of regions; one of functions alone has none."""
    return image.num_functions != 0 and strncmp(image.functions[0].name, b"__omp_offloading_", 17) == 0


cdef bint set_runtime_environment(Device *d, const TargetData *image, LoadedImage *loaded) noexcept nogil:
    """Tell clang's device runtime which device it is on, if the image has it."""
    cdef CUdeviceptr address = 0
    cdef size_t size = 0
    cdef RuntimeEnvironment known
    if cuda.module_global(&address, &size, loaded.module, b"omptarget_device_environment") != CUDA_SUCCESS:
        if cuda.module_global(&address, &size, loaded.module, b"__omp_rtl_device_environment") != CUDA_SUCCESS:
            return True
    memset(&known, 0, sizeof(known))
    known.devices = <uint32_t> count_devices()
    known.device = <uint32_t> d.number
    if made_by_clang(image) and image.num_indirect and size >= sizeof(known):
        if not map_indirect_by_clang(image, loaded):
            return False
        known.indirect = loaded.indirect
        known.num_indirect = image.num_indirect
    return not call_failed(cuda.host_to_device(address, &known, min(size, sizeof(known))), b"cuMemcpyHtoD")


cdef bint find_functions(const TargetData *image, CUmodule module, Function *functions, AddrPair *pairs) noexcept nogil:
    cdef Function *f
    cdef unsigned i
    cdef const char *name
    cdef CUresult rc
    cdef char room[TEXT]
    for i in range(image.num_functions):
        f = &functions[i]
        name = image.functions[i].name
        rc = cuda.module_function(&f.handle, module, name)
        if rc == CUDA_ERROR_NOT_FOUND and image.functions[i].dim[0] == KERNEL_BY_CLANG:
            pairs[i].start = pairs[i].end = 0  # of an object that was compiled for other targets
            continue
        if rc != CUDA_SUCCESS:
            GOMP_PLUGIN_error(b"cuModuleGetFunction (%s) error: %s (%s)", name, error_text(rc), error_name(rc, room))
            return False
        if (call_failed(cuda.func_attribute(&f.registers, CU_FUNC_ATTRIBUTE_NUM_REGS, f.handle), b"cuFuncGetAttribute")
                or call_failed(cuda.func_attribute(&f.max_threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f.handle),
                               b"cuFuncGetAttribute")):
            return False
        f.launch = &image.functions[i]
        f.mode = kernel_mode(module, f.launch)
        f.reduces = reduction_room(module, name) if f.mode != KERNEL_BY_GCC else 0
        pairs[i].start = <uintptr_t> f
        pairs[i].end = pairs[i].start + 1
    return True


cdef bint find_variables(const TargetData *image, CUmodule module, AddrPair *pairs) noexcept nogil:
    cdef CUdeviceptr address = 0
    cdef size_t size = 0
    cdef unsigned i
    cdef CUresult rc
    cdef char room[TEXT]
    for i in range(image.num_variables):
        rc = cuda.module_global(&address, &size, module, image.variables[i])
        if rc != CUDA_SUCCESS:
            GOMP_PLUGIN_error(b"cuModuleGetGlobal (%s) error: %s (%s)", image.variables[i], error_text(rc),
                              error_name(rc, room))
            return False
        pairs[i].start = <uintptr_t> address
        pairs[i].end = pairs[i].start + size
    return True


cdef bint set_clock_tick(Device *d, CUmodule module) noexcept nogil:
    """Tell the device's omp_get_wtick how long a tick of its clock is, if the image has it."""
    cdef CUdeviceptr address = 0
    cdef double tick = 1e-3 / d.clock_khz if d.clock_khz else 1e-9
    cdef CUresult rc = cuda.module_global(&address, NULL, module, b"__nvptx_clocktick")
    if rc == CUDA_ERROR_NOT_FOUND:
        return True
    return (not call_failed(rc, b"cuModuleGetGlobal")
            and not call_failed(cuda.host_to_device(address, &tick, sizeof(tick)), b"cuMemcpyHtoD"))


cdef bint map_indirect(const TargetData *image, LoadedImage *loaded, const uint64_t *hosts) noexcept nogil:
    """Give the image's libgomp the device addresses of the indirect functions, by their host addresses, with a 0 behind
    (config/accel/target-indirect.c).  ``hosts``: the host's table, in the image's order."""
    cdef CUdeviceptr address = 0, map = 0
    cdef size_t size = 0
    cdef unsigned count = image.num_indirect, i
    cdef uint64_t *words = <uint64_t *> calloc(3 * count + 1, sizeof(uint64_t))
    cdef bint good
    if words == NULL:
        GOMP_PLUGIN_error(b"nvptx: out of memory")
        return False
    good = not call_failed(cuda.module_global(&address, &size, loaded.module, b"$offload_ind_func_table"),
                           b"cuModuleGetGlobal")
    if good and size != count * sizeof(uint64_t):
        GOMP_PLUGIN_error(b"nvptx: the image's table of indirect functions has %lu bytes, %u functions were registered",
                          <unsigned long> size, count)
        good = False
    good = (good and not call_failed(cuda.device_to_host(words + 2 * count + 1, address, size), b"cuMemcpyDtoH")
            and not call_failed(cuda.mem_alloc(&map, (2 * count + 1) * sizeof(uint64_t)), b"cuMemAlloc"))
    if good:
        loaded.indirect = map
        for i in range(count):
            words[2 * i] = hosts[i]
            words[2 * i + 1] = words[2 * count + 1 + i]
        words[2 * count] = 0
        good = (not call_failed(cuda.host_to_device(map, words, (2 * count + 1) * sizeof(uint64_t)), b"cuMemcpyHtoD")
                and not call_failed(cuda.module_global(&address, &size, loaded.module, b"__gomp_indirect_addr_map"),
                                    b"cuModuleGetGlobal")
                and not call_failed(cuda.host_to_device(address, &map, sizeof(map)), b"cuMemcpyHtoD"))
    free(words)
    return good


cdef bint may_set_icvs(const TargetData *image) noexcept nogil:
    """Whether regions may set what holds for later ones."""
    cdef unsigned i
    for i in range(image.num_objects):
        if (strstr(image.objects[i].code, b"call omp_set_num_teams") != NULL
                or strstr(image.objects[i].code, b"call omp_set_teams_thread_limit") != NULL):
            return True
    return False


cdef bint version_fits(unsigned version) noexcept nogil:
    if version & 0xFFFF > GOMP_VERSION_NVIDIA_PTX:
        GOMP_PLUGIN_error(b"Offload data incompatible with PTX plugin (expected %u, received %u)",
                          <unsigned> GOMP_VERSION_NVIDIA_PTX, version & 0xFFFF)
        return False
    return True


cdef bint construct_image(Device *d, const TargetData *image, LoadedImage *loaded) noexcept nogil:
    """Run the constructors of its device variables, if it has such; false after a message."""
    cdef unsigned i
    for i in range(image.num_objects):
        if not construct_variables(d, loaded, image.objects[i].code):
            return False
    return True


cdef int load_image(int n, unsigned version, const TargetData *image, AddrPair **table, uint64_t **reverse,
                    const uint64_t *indirect) noexcept nogil:
    """Load an image; the number of pairs (functions, variables, the device's number or ICVs), or -1 after a message.

    ``reverse``: where the table of functions goes that the host runs for regions, or NULL.  ``indirect``: the host's
    table of indirect functions, or NULL.
    """
    cdef unsigned lib = version >> 16
    cdef unsigned i
    cdef const char *icvs = b"__gomp_additional_icvs" if lib >= GOMP_VERSION_REQUIRES_MASK else b"__gomp_device_num"
    cdef Device *d = device_of(n)
    cdef LoadedImage *loaded
    cdef AddrPair *pairs
    cdef AddrPair *last
    cdef CUdeviceptr address = 0
    cdef size_t size = 0
    cdef int count = <int> (image.num_functions + image.num_variables + 1)
    if not version_fits(version) or d == NULL or not enter_context(d):
        return -1
    loaded = <LoadedImage *> calloc(1, sizeof(LoadedImage))
    pairs = <AddrPair *> GOMP_PLUGIN_malloc(count * sizeof(AddrPair))
    if loaded != NULL:
        loaded.functions = <Function *> calloc(image.num_functions + 1, sizeof(Function))
    if loaded == NULL or loaded.functions == NULL:
        GOMP_PLUGIN_error(b"nvptx: out of memory")
    elif link_image(d, image, &loaded.module):
        if (find_functions(image, loaded.module, loaded.functions, pairs)
                and find_variables(image, loaded.module, pairs + image.num_functions)
                and set_clock_tick(d, loaded.module)
                and set_runtime_environment(d, image, loaded)
                and (reverse == NULL or lib < GOMP_VERSION_REQUIRES_MASK
                     or connect_calls(d, loaded, image.num_functions, reverse))
                and (indirect == NULL or lib < GOMP_VERSION_INDIRECT_FUNCS or image.num_indirect == 0
                     or map_indirect(image, loaded, indirect))
                and construct_image(d, image, loaded)):
            if image.num_functions and loaded.functions[0].mode != KERNEL_BY_GCC and tells_kernels():
                tell_limits(d)
            for i in range(image.num_functions):
                loaded.functions[i].shared = d.shared_pool if lib >= GOMP_VERSION_INDIRECT_FUNCS else 0
                loaded.functions[i].calls_host = loaded.calls_host
                loaded.functions[i].builds_map = &loaded.builds_map
            last = &pairs[count - 1]
            last.start = last.end = 0
            if cuda.module_global(&address, &size, loaded.module, icvs) == CUDA_SUCCESS:
                if gompy_newer_runtime() and lib < GOMP_VERSION_REQUIRES_MASK:
                    cuda.host_to_device(address, &n, sizeof(n))  # it would take that for ICVs
                else:
                    last.start = <uintptr_t> address
                    last.end = last.start + size
            loaded.target_data = image
            loaded.builds_map = loaded.indirect != 0 and not made_by_clang(image)
            loaded.sets_icvs = lib >= GOMP_VERSION_REQUIRES_MASK and may_set_icvs(image)
            pthread_mutex_lock(&d.image_lock)
            loaded.next = d.images
            d.images = loaded
            pthread_mutex_unlock(&d.image_lock)
            table[0] = pairs
            return count
        if loaded.indirect:
            cuda.mem_free(loaded.indirect)
        cuda.module_unload(loaded.module)
    if loaded != NULL:
        free(loaded.functions)
        free(loaded)
    free(pairs)
    return -1


cdef bint unload_image(int n, unsigned version, const TargetData *image) noexcept nogil:
    """Take an image off a device; false after a message."""
    cdef Device *d = device_of(n)
    cdef LoadedImage **at
    cdef LoadedImage *found
    cdef unsigned i
    cdef bint good = True
    if not version_fits(version) or d == NULL or not enter_context(d):
        return False
    pthread_mutex_lock(&d.image_lock)
    at = &d.images
    while at[0] != NULL and at[0].target_data != image:
        at = &at[0].next
    found = at[0]
    if found != NULL:
        at[0] = found.next
        if not d.calling:  # else it is left to the end: the driver would wait for the region
            good = destroy_variables(d, found)
            good = given_back(cuda.module_unload(found.module), b"cuModuleUnload") and good
            if found.indirect:
                good = given_back(cuda.mem_free(found.indirect), b"cuMemFree") and good
            for i in range(image.num_functions):
                if found.functions[i].environment:
                    good = given_back(cuda.mem_free(found.functions[i].environment), b"cuMemFree") and good
        free(found.functions)
        free(found)
    pthread_mutex_unlock(&d.image_lock)
    return good
