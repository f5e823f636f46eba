# Launches of OpenMP regions.

from gompy.native.gomp cimport GOMP_TARGET_ARG_NUM_TEAMS, GOMP_TARGET_ARG_THREAD_LIMIT
from gompy.native.launch_words cimport NO_TEAMS_CONSTRUCT, LaunchWord, take_word

cdef enum:
    DEFAULT_WARPS = 8  # a team
    MAX_WARPS = 32  # a team: GCC's own limit in its nvptx libgcc


cdef extern from "../cxx_names.h" nogil:
    void gompy_readable_name(char *name, size_t room)


cdef void readable_name(const char *name, char *room, size_t size) noexcept nogil:
    """A function's name as its program has it: PTX has ``$`` for dots; C++'s is demangled."""
    cdef size_t i = 0
    while name[i] and i + 1 < size:
        room[i] = c'.' if name[i] == c'$' else name[i]
        i += 1
    room[i] = 0
    gompy_readable_name(room, size)


cdef void die_of(CUresult rc, const char *what, const Function *f, const Device *d) noexcept nogil:
    """A region has failed on the device: the driver's words, and which region it was."""
    global context_lost
    cdef char name[TEXT]
    cdef char room[TEXT]
    cdef char hint[TEXT]
    context_lost = rc
    readable_name(f.launch.name, name, sizeof(name))
    hint[0] = 0
    if rc != CUDA_ERROR_LAUNCH_FAILED and d.deep and d.thread_stack and driver_kind == DRIVER_REAL:
        # Too deep a recursion looks like this on a GPU.
        snprintf(hint, sizeof(hint), b"; each thread has %lu bytes of stack (GOMP_NVPTX_NATIVE_GPU_THREAD_STACK_SIZE "
                                     b"for more)", <unsigned long> d.thread_stack)
    GOMP_PLUGIN_fatal(b"%s error: %s%s; %s in region %s on device %d (%s)%s", what, error_text(rc),
                      b" (perhaps abort was called)" if rc == CUDA_ERROR_LAUNCH_FAILED else b"",
                      error_name(rc, room), <const char *> name, d.number, <const char *> d.name, <const char *> hint)


cdef void read_arguments(void **args, int *teams, int *threads) noexcept nogil:
    """The num_teams and thread_limit that hold for all kinds of devices; 0 where the program says nothing."""
    cdef LaunchWord word
    while take_word(&args, &word):
        if word.device:
            continue
        word.value = min(word.value, <intptr_t> INT32_MAX)
        if word.id == GOMP_TARGET_ARG_NUM_TEAMS:
            teams[0] = 1 if word.value == NO_TEAMS_CONSTRUCT else <int> word.value
        elif word.id == GOMP_TARGET_ARG_THREAD_LIMIT:
            threads[0] = <int> word.value


cdef void fit_to_device(const Function *f, const Device *d, int *teams, int *threads) noexcept nogil:
    """Warps a team, and as many teams as the device can hold at once if the program asks for more or does not say."""
    cdef int most = f.max_threads // WARP
    cdef int registers, blocks
    if most > MAX_WARPS:
        most = MAX_WARPS
    if most < 1:
        most = 1
    if threads[0] <= 0:
        threads[0] = DEFAULT_WARPS
    if threads[0] > most:
        threads[0] = most
    registers = f.registers * WARP * threads[0]
    blocks = d.registers_per_sm // registers * d.sms if registers > 0 else d.sms
    if blocks < 1:
        blocks = 1
    if teams[0] <= 0 or teams[0] > blocks:
        teams[0] = blocks


cdef inline void fit_again(Function *f, const Device *d, int *teams, int *threads) noexcept nogil:
    """fit_to_device, whose divisions are left out where the last launch asked for the same.  The launch lock is
    held."""
    if f.fit_chosen[1] == 0 or f.fit_asked[0] != teams[0] or f.fit_asked[1] != threads[0]:
        f.fit_asked[0], f.fit_asked[1] = teams[0], threads[0]
        fit_to_device(f, d, teams, threads)
        f.fit_chosen[0], f.fit_chosen[1] = teams[0], threads[0]
    teams[0], threads[0] = f.fit_chosen[0], f.fit_chosen[1]


cdef bint need_stacks(Device *d, size_t size) noexcept nogil:
    """Stacks of so many bytes; those of the last launch if they suffice.  False if there is no room for them.

    The launch lock is held.
    """
    cdef CUresult rc
    if d.stacks_size >= size:
        return True
    if d.stacks:
        must_succeed(cuda.ctx_synchronize(), b"cuCtxSynchronize")
        must_succeed(cuda.mem_free(d.stacks), b"cuMemFree")
        d.stacks = 0
        d.stacks_size = 0
    rc = cuda.mem_alloc(&d.stacks, size)
    if rc == CUDA_ERROR_OUT_OF_MEMORY:
        release_kept(d, 0)
        rc = cuda.mem_alloc(&d.stacks, size)
    if rc == CUDA_SUCCESS:
        d.stacks_size = size
        if cuda.keep_open != NULL:
            cuda.keep_open(d.stacks)
        return True
    d.stacks = 0
    if rc != CUDA_ERROR_OUT_OF_MEMORY:
        must_succeed(rc, b"cuMemAlloc")
    return False


cdef int launch_telling  # 1 no, 2 yes


cdef inline bint tells_launches() noexcept nogil:
    """Whether GOMP_DEBUG is set: the runtime knows what it says, but is not to be asked for each launch."""
    global launch_telling
    cdef const char *text
    if launch_telling == 0:
        text = secure_getenv(b"GOMP_DEBUG")
        launch_telling = 2 if text != NULL and text[0] else 1
    return launch_telling == 2


cdef CUresult launch_region(Function *f, int teams, int threads, void *variables, CUdeviceptr stacks, size_t stack,
                            CUstream stream) noexcept nogil:
    """Queue a region whose warps have a stack of that size each."""
    cdef CUdeviceptr block[3]
    cdef size_t size = sizeof(block)
    cdef void *config[5]
    if tells_launches():
        GOMP_PLUGIN_debug(0, b"  GOMP_OFFLOAD_run: kernel %s: launch [(teams: %u), 1, 1] "
                          b"[(lanes: 32), (threads: %u), 1]\n", f.launch.name, <unsigned> teams, <unsigned> threads)
    block[0] = <CUdeviceptr> <uintptr_t> variables
    block[1] = stacks
    block[2] = stack
    config[0] = <void *> <size_t> CU_LAUNCH_PARAM_BUFFER_POINTER
    config[1] = block
    config[2] = <void *> <size_t> CU_LAUNCH_PARAM_BUFFER_SIZE
    config[3] = &size
    config[4] = <void *> <size_t> CU_LAUNCH_PARAM_END
    return cuda.launch(f.handle, teams, 1, 1, WARP, threads, 1, f.shared, stream, NULL, config)


cdef void run_within(Device *d, Function *f, int teams, int threads, void *variables, size_t stack) noexcept nogil:
    """A region that the host's function starts, while the region that has called it waits: beside that one."""
    cdef CUdeviceptr stacks
    cdef CUstream stream = NULL
    cdef CUresult rc
    must_succeed(cuda.stream_synchronize(NULL), b"cuStreamSynchronize")  # copies may still be under way
    must_succeed(cuda.stream_create(&stream, CU_STREAM_NON_BLOCKING), b"cuStreamCreate")
    stacks = take_block(d, stack * teams * threads)
    if stacks == 0:
        must_succeed(CUDA_ERROR_OUT_OF_MEMORY, b"cuMemAlloc")
    rc = launch_region(f, teams, threads, variables, stacks, stack, stream)
    if rc != CUDA_SUCCESS:
        die_of(rc, b"cuLaunchKernel", f, d)
    rc = cuda.stream_synchronize(stream)
    if rc != CUDA_SUCCESS:
        die_of(rc, b"cuStreamSynchronize", f, d)
    give_block(d, stacks)
    must_succeed(cuda.stream_destroy(stream), b"cuStreamDestroy")


cdef CUresult run_calling(Device *d, Function *f, int teams, int threads, void *variables,
                          size_t stack) noexcept nogil:
    """A region that may call the host, to its end.  The launch lock is held."""
    cdef CUresult rc
    begin_calls(d, True)
    must_succeed(cuda.event_record(d.call_ready, NULL), b"cuEventRecord")
    must_succeed(cuda.stream_wait(d.call_stream, d.call_ready, 0), b"cuStreamWaitEvent")
    rc = launch_region(f, teams, threads, variables, d.stacks, stack, d.call_stream)
    if rc == CUDA_SUCCESS:
        rc = wait_and_serve(d)
    if rc == CUDA_SUCCESS:
        rc = cuda.stream_synchronize(d.call_stream)  # what it has printed
    begin_calls(d, False)
    return rc


cdef void run_region(int n, Function *f, void *variables, void **args) noexcept nogil:
    """Run a region to its end.  A failure ends the program."""
    cdef Device *d = device_of(n)
    cdef int teams = 0
    cdef int threads = 0
    cdef size_t stack
    cdef CUresult rc
    if d == NULL or not enter_context(d):
        GOMP_PLUGIN_fatal(b"device %d cannot run a region", n)
    if args == NULL:
        GOMP_PLUGIN_fatal(b"No target arguments provided")
    read_arguments(args, &teams, &threads)
    stack = d.warp_stack if d.warp_stack else STACK_SIZE
    if region_served == d:
        fit_to_device(f, d, &teams, &threads)
        run_within(d, f, teams, threads, variables, stack)
        return
    gompy_quick_acquire(&d.launch_lock)
    fit_again(f, d, &teams, &threads)
    if f.builds_map[0]:
        f.builds_map[0] = False
        teams = 1  # it runs all teams of a teams construct, one after another (config/nvptx/target.c, GOMP_teams4)
    while not need_stacks(d, stack * teams * threads):
        if teams > 1:
            teams //= 2  # num_teams is an upper limit
        elif stack > STACK_SIZE:
            stack = STACK_SIZE  # this region may not call what needs so much
        else:
            must_succeed(CUDA_ERROR_OUT_OF_MEMORY, b"cuMemAlloc")
    if f.calls_host:
        rc = run_calling(d, f, teams, threads, variables, stack)
    else:
        rc = launch_region(f, teams, threads, variables, d.stacks, stack, NULL)
        if rc != CUDA_SUCCESS:
            gompy_quick_release(&d.launch_lock)
            die_of(rc, b"cuLaunchKernel", f, d)
        rc = cuda.ctx_synchronize()
    gompy_quick_release(&d.launch_lock)
    if rc != CUDA_SUCCESS:
        die_of(rc, b"cuCtxSynchronize", f, d)
