# cython: language_level=3, cdivision=True, boundscheck=False, wraparound=False, initializedcheck=False
"""libgomp-plugin-intelmic.so.1: the emulated Intel MIC, a device in a process with an address space of its own.

Exports the GOMP_OFFLOAD_* functions of libgomp's plugin interface (libgomp-plugin.h of GCC 12 to 16: versions 1 to 3)
with the OpenMP and OpenACC capabilities.  docs/device.md describes how host and device work together.
"""

include "libc.pxi"
include "waiting.pxi"
include "files.pxi"
include "../memory_file.pxi"
include "arena.pxi"
include "page_marks.pxi"
include "devices.pxi"
include "first_touch.pxi"
include "huge_pages.pxi"
include "processes.pxi"
include "guard_blocks.pxi"
include "image_symbols.pxi"
include "host_places.pxi"
include "fault_report.pxi"
include "reverse.pxi"
include "outer_pages.pxi"
include "marks.pxi"
include "launch.pxi"
include "guard_pages.pxi"
include "guard_rests.pxi"
include "guards.pxi"
include "outer_marks.pxi"
include "words.pxi"
include "memory.pxi"
include "common_memory.pxi"
include "large_copies.pxi"
include "start_place.pxi"
include "spawn.pxi"
include "async.pxi"
include "nowait.pxi"
include "copies.pxi"
include "sanitizers.pxi"
include "../target_data.pxi"
include "images.pxi"
include "acc_queue.pxi"
include "acc_plugin.pxi"
include "interop.pxi"
include "../interop.pxi"


cdef public unsigned GOMP_OFFLOAD_version() noexcept nogil:
    """The interface's version."""
    return gompy_answer_version()


cdef public const char *GOMP_OFFLOAD_get_name() noexcept nogil:
    """The device kind's name."""
    return b"intelmic"


cdef public unsigned GOMP_OFFLOAD_get_caps() noexcept nogil:
    return GOMP_OFFLOAD_CAP_OPENMP_400 | GOMP_OFFLOAD_CAP_OPENACC_200


cdef public int GOMP_OFFLOAD_get_type() noexcept nogil:
    return GOMP_DEVICE_INTEL_MIC


cdef public int GOMP_OFFLOAD_get_num_devices(unsigned required) noexcept nogil:
    """How many devices the environment asks for; -1 if they do not fulfil what the program requires.

    Of libgompy's services for reverse offload the stock library has none: beneath it that is not fulfilled.
    """
    return gompy_answer_count(required, GOMP_REQUIRES_UNIFIED_ADDRESS, count_devices())


cdef public c_bool GOMP_OFFLOAD_init_device(int number) noexcept nogil:
    """Start a device.  False after a message if it can't be started."""
    cdef mic_device *d
    cdef bint good = True
    if mic_forked:
        GOMP_PLUGIN_error(
            b"device %d (intelmic): not usable in a forked child of a program that has used devices", number
        )
        return False
    if number < 0 or number >= count_devices():
        GOMP_PLUGIN_error(b"device %d (intelmic) does not exist", number)
        return False
    pthread_mutex_lock(&mic_plugin_lock)
    d = &mic_device_table[number]
    if not d.running:
        watch_forks()
        memset(d, 0, sizeof(mic_device))
        d.number = number
        library_first(d)
        good = start_device(d)
        d.running = good
    pthread_mutex_unlock(&mic_plugin_lock)
    return good


cdef public c_bool GOMP_OFFLOAD_fini_device(int number) noexcept nogil:
    """End a device.  In a forked child the device is the parent's and is left alone."""
    cdef mic_device *d
    cdef host_image *image
    if number < 0 or number >= MIC_DEVICES:
        return False
    if mic_forked:
        return True
    pthread_mutex_lock(&mic_plugin_lock)
    d = &mic_device_table[number]
    if d.running:
        d.running = 0
        stop_device(d, True)
        if d.directory[0]:
            remove_directory(d.directory)
        while d.images != NULL:
            image = d.images
            d.images = image.next
            free(image)
    pthread_mutex_unlock(&mic_plugin_lock)
    return True


cdef public int GOMP_OFFLOAD_load_image(int number, unsigned version, const void *data, AddrPair **table,
                                        uint64_t **reverse, const uint64_t *indirect) noexcept nogil:
    """Load an image; the pairs in ``*table`` are the caller's to free.

    Runtimes that load images of GOMP_VERSION 2 give ``reverse``, NULL unless regions call functions of the host: then
    it is for the caller to free, too.  Those that load images of version 3 give the last argument, the host's table of
    indirect functions or NULL.
    """
    return load_image(device_of(number), version, <mic_target_data *>data, table,
                      reverse if version >> 16 >= GOMP_VERSION_REQUIRES_MASK else NULL,
                      indirect if version >> 16 >= GOMP_VERSION_INDIRECT_FUNCS else NULL)


cdef public c_bool GOMP_OFFLOAD_unload_image(int number, unsigned version, const void *data) noexcept nogil:
    """Drop an image."""
    return unload_image(device_of(number), data)


cdef void data_event(int type, size_t size, uintptr_t p) noexcept nogil:
    """acc_ev_alloc, acc_ev_free (of which the size is not known)."""
    cdef GoaccThread *thread = profiled()
    if thread != NULL:
        profile_data(thread, acc_device_api_other, type, p, NULL, size)


cdef public void *GOMP_OFFLOAD_alloc(int number, size_t size) noexcept nogil:
    """Allocate device memory, aligned to 64 bytes at least.  NULL when there is none left."""
    cdef mic_device *d = device_of(number)
    cdef uint64_t offset = memory_alloc(d, size, False)
    if offset == ~<uint64_t>0:
        GOMP_PLUGIN_error(b"device %d (intelmic): no %zu bytes left of %zu", number, size, <size_t>d.size)
        return NULL
    if mic_openacc:
        data_event(acc_ev_alloc, size, d.base + offset)
    return <void *>(d.base + offset)


cdef public c_bool GOMP_OFFLOAD_free(int number, void *p) noexcept nogil:
    """Free device memory.  False after a message for what isn't a block."""
    cdef mic_device *d = device_of(number)
    if <uintptr_t>p - d.base < d.size and memory_free(d, <uintptr_t>p - d.base):
        if mic_openacc:
            data_event(acc_ev_free, 0, <uintptr_t>p)
        return True
    if not mic_openacc:  # acc_free says it, in libgomp's words
        GOMP_PLUGIN_error(b"device %d (intelmic): free of %p, which is not an allocated block", number, p)
    return False


cdef public c_bool GOMP_OFFLOAD_host2dev(int number, void *to, const void *what, size_t n) noexcept nogil:
    return copy_to_device(device_of(number), to, what, n)


cdef public c_bool GOMP_OFFLOAD_dev2host(int number, void *to, const void *what, size_t n) noexcept nogil:
    return copy_from_device(device_of(number), to, what, n)


cdef public c_bool GOMP_OFFLOAD_dev2dev(int number, void *to, const void *what, size_t n) noexcept nogil:
    return copy_on_device(device_of(number), to, what, n)


cdef public c_bool GOMP_OFFLOAD_memset(int number, void *to, int value, size_t n) noexcept nogil:
    """Fill device memory; libgomp 16 asks for it."""
    return fill_on_device(device_of(number), to, value, n)


cdef public void GOMP_OFFLOAD_run(int number, void *function, void *variables, void **args) noexcept nogil:
    """Run a region; returns when it has ended.  Several threads may be here at once."""
    cdef mic_device *d = device_of(number)
    cdef uint64_t teams, limit
    read_limits(args, &teams, &limit)
    launch_region(d, function, variables, teams, limit, 0)


cdef public void gompy_run_kernel(int number, void *kernel, const uint64_t *words, size_t count) noexcept nogil:
    """Run a kernel by clang that has KERNEL_WORDS_DIRECT words at most, which go with the request.

    Not part of GCC's interface.
    """
    launch_kernel(device_of(number), kernel, words, count)


cdef public void GOMP_OFFLOAD_async_run(
    int number, void *function, void *variables, void **args, void *data
) noexcept nogil:
    """Run a region and return at once; GOMP_PLUGIN_target_task_completion (data) is called when it has ended."""
    submit_job(device_of(number), function, variables, args, data)


cdef public int GOMP_OFFLOAD_is_accessible_ptr(int number, const void *p, size_t size) noexcept nogil:
    """1 if a range lies in a block of the device's memory, or in one that the program reaches, too.  Of GCC 16."""
    if <uint64_t>(<uintptr_t>p - device_of(number).base) < device_of(number).size:
        return size <= gompy_block_extent(number, p)
    return is_common_memory(number, p, size)


cdef public size_t gompy_block_extent(int number, const void *p) noexcept nogil:
    """How many bytes may be copied to or from a device address: to the end of its block, if it is in the arena.

    Not part of GCC's interface.
    """
    cdef mic_device *d = device_of(number)
    cdef uint64_t offset = <uintptr_t>p - d.base
    if offset >= d.size:
        return ~<size_t>0
    if d.guarded:
        return guarded_extent(d, offset)
    return arena_extent(&d.small, offset) if offset < d.split else arena_extent(&d.large, offset - d.split)


cdef public char *gompy_device_view(int number, const void *p, size_t n, bint writing) noexcept nogil:
    """Where this process reads or writes n bytes of device memory in place, or NULL: they are to be copied.

    Not part of GCC's interface; the remote device's worker sends from there, and receives there.
    """
    cdef mic_device *d = device_of(number)
    if not in_arena(d, p, n):
        return NULL
    if writing:
        if is_fresh(d, <uintptr_t>p - d.base, n):
            return NULL  # GOMP_OFFLOAD_host2dev knows how to make the pages
        set_marks(d, <uintptr_t>p - d.base, n, MIC_MARK_GOOD)
    else:
        about_to_read(d, <uintptr_t>p - d.base, n)
    return host_view(d, p)


cdef public unsigned gompy_fulfils() noexcept nogil:
    """What of `omp requires` these devices fulfil: no address of theirs is ever one of the host's (device_layout.pxi),
    and the thread that waits for a region serves its calls (reverse.pxi).

    Not part of GCC's interface.
    """
    return GOMP_REQUIRES_UNIFIED_ADDRESS | GOMP_REQUIRES_REVERSE_OFFLOAD


cdef public void *gompy_alloc_words(int number, size_t size) noexcept nogil:
    """With GOMPY_CHECK: device memory for argument words alone, which needs no guards; NULL: ask GOMP_OFFLOAD_alloc.

    Not part of GCC's interface.
    """
    cdef mic_device *d = device_of(number)
    cdef uint64_t offset = words_alloc(d, size)
    if offset == ~<uint64_t>0:
        return NULL
    if mic_openacc:
        data_event(acc_ev_alloc, size, d.base + offset)
    return <void *>(d.base + offset)


cdef public size_t gompy_guard_step(int number) noexcept nogil:
    """The size and alignment of what gompy_guard can close: pages, or bytes with libasan and where images tell of
    their accesses; 0: there are no checks.

    Not part of GCC's interface.
    """
    cdef mic_device *d = device_of(number)
    return 0 if not d.guarded else 1 if d.preload[0] or d.control.exact else GUARD_PAGE


cdef public bint gompy_guard(int number, uintptr_t start, size_t size) noexcept nogil:
    """Close a part of a block until it is freed.  False, without an effect: there are no checks.

    start and size are multiples of gompy_guard_step.  Not part of GCC's interface; the runtime closes what lies
    between mapped objects.
    """
    cdef mic_device *d = device_of(number)
    if d.guarded and size:
        if d.marks != NULL:
            set_marks(d, start - d.base, size, MIC_MARK_CLOSED)
            close_opened(d, start - d.base, size)  # that the block has from one before; else it has no access yet
            return True
        open_pages(d, start - d.base, size, False)
    return d.guarded


cdef public bint gompy_mark_stale(int number, uintptr_t start, unsigned char *stale, size_t size) noexcept nogil:
    """Have regions that read bytes told of which the host has changed its own copy.  False, without an effect: there
    are no marks for them.  Not part of GCC's interface."""
    cdef mic_device *d = device_of(number)
    if d.marks == NULL:
        return False
    if not in_arena(d, <void *>start, size):
        return mark_outer(d, start, stale, size)
    mark_stale(d, start - d.base, stale, size)
    return True


cdef public bint gompy_stale_left(int number, uintptr_t start, unsigned char *stale, size_t size) noexcept nogil:
    """Clear those of the bytes that a region has written since, or of which nothing is known.

    Not part of GCC's interface.
    """
    cdef mic_device *d = device_of(number)
    if in_arena(d, <void *>start, size):
        stale_left(d, start - d.base, stale, size)
    else:
        outer_left(d, start, stale, size)
    return True


cdef public bint gompy_find_unset(int number, uintptr_t start, unsigned char *unset, size_t size) noexcept nogil:
    """Mark those bytes of the device's memory that nothing has written.  False, without an effect: it is not known.

    Not part of GCC's interface.
    """
    cdef mic_device *d = device_of(number)
    if not d.control.spread or not in_arena(d, <void *>start, size):
        return False
    find_unset(d, start - d.base, unset, size)
    return True


cdef public bint gompy_may_be_unset(int number, uintptr_t start, size_t size) noexcept nogil:
    """Whether gompy_find_unset may find some.  Not part of GCC's interface."""
    cdef mic_device *d = device_of(number)
    return in_arena(d, <void *>start, size) and may_be_unset(d, start - d.base, size)


cdef public uint64_t gompy_check_spent(int number) noexcept nogil:
    """Nanoseconds that checks have taken of the device's processors.  Not part of GCC's interface."""
    return load64(&device_of(number).control.guards.ns, RELAXED)


cdef public void gompy_check_less(int number, int less) noexcept nogil:
    """There is no time to see what nothing has written of memory that is allocated next, nor to close what is freed;
    not less: there is again.  Not part of GCC's interface.
    """
    check_less(device_of(number), less != 0)


cdef public bint gompy_may_be_written(int number, uintptr_t start, size_t size) noexcept nogil:
    """Whether regions may have written some of the device's memory since its block was allocated.

    Not part of GCC's interface.
    """
    cdef mic_device *d = device_of(number)
    return d.marks == NULL or not in_arena(d, <void *>start, size) or \
        mic_may_be_written(&d.pages, start - d.base, size)


cdef public bint gompy_new_contents(int number, uintptr_t start, unsigned char *to, size_t size) noexcept nogil:
    """What the device's memory had when its block was allocated.  False, without an effect: that is not known.

    Not part of GCC's interface.
    """
    cdef mic_device *d = device_of(number)
    if not d.control.spread or not in_arena(d, <void *>start, size):
        return False
    mic_new_contents(to, start - d.base, size)
    return True


cdef public bint gompy_use_memory(int number, uintptr_t start, size_t size,
                                  void (*use)(const void *, size_t, void *) noexcept nogil, void *data) noexcept nogil:
    """Call a function with the device's memory, as the host has it.  False, without an effect: there is none there.

    Not part of GCC's interface.
    """
    cdef mic_device *d = device_of(number)
    if not in_arena(d, <void *>start, size):
        return False
    about_to_read(d, start - d.base, size)
    use(d.memory + (start - d.base), size, data)
    return True


cdef public arena *gompy_arena_new(uint64_t size, uint64_t keep) noexcept nogil:
    """For tests: an arena without memory behind it.  Size in bytes, a multiple of 64 KiB."""
    cdef arena *a = <arena *>malloc(sizeof(arena))
    if a != NULL and not arena_open(a, size, NULL, 0, NULL, keep):
        free(a)
        return NULL
    return a


cdef public uint64_t gompy_arena_alloc(arena *a, size_t size) noexcept nogil:
    """For tests: the offset of a new block, all ones when there is no room."""
    return arena_alloc(a, size)


cdef public bint gompy_arena_free(arena *a, uint64_t offset) noexcept nogil:
    """For tests: whether a block in use started at the offset; it is free now."""
    return arena_free(a, offset)


cdef public uint64_t gompy_arena_extent(arena *a, uint64_t offset) noexcept nogil:
    """For tests: bytes from the offset to the end of its block, 0 if none in use is there."""
    return arena_extent(a, offset)


cdef public uint64_t gompy_arena_in_use(arena *a) noexcept nogil:
    """For tests: bytes in use, rounded as the blocks are."""
    return a.in_use


cdef public void gompy_arena_delete(arena *a) noexcept nogil:
    """For tests: drop it."""
    arena_close(a)
    free(a)
