# cython: language_level=3, cdivision=True, boundscheck=False, wraparound=False, initializedcheck=False
"""libgomp-plugin-remote.so.1: devices of other machines.

Each entry of GOMPY_REMOTE is a connection to a `gompy device serve`, behind which a worker drives a device by its
plugin.  The images are those of the worker's kind of device.  docs/cluster.md describes it for users, protocol.h what
is sent.
"""

include "libc.pxi"
include "packed.pxi"
include "settings.pxi"
include "connect.pxi"
include "pack.pxi"
include "names.pxi"
include "link.pxi"
include "blocks.pxi"
include "launches.pxi"
include "devices.pxi"
include "images.pxi"


cdef public unsigned GOMP_OFFLOAD_version() noexcept nogil:
    return GOMP_VERSION


cdef public const char *GOMP_OFFLOAD_get_name() noexcept nogil:
    return b"remote"


cdef public unsigned GOMP_OFFLOAD_get_caps() noexcept nogil:
    """OpenMP and OpenACC: what each device that a worker drives can."""
    return GOMP_OFFLOAD_CAP_OPENMP_400 | GOMP_OFFLOAD_CAP_OPENACC_200


cdef public int GOMP_OFFLOAD_get_type() noexcept nogil:
    """That of the first worker's device."""
    reach_hosts()
    return <int>remote_devices[0].info.type if num_devices else GOMP_DEVICE_INTEL_MIC


cdef public int GOMP_OFFLOAD_get_num_devices() noexcept nogil:
    """How many workers have answered."""
    reach_hosts()
    return num_devices


cdef public c_bool GOMP_OFFLOAD_init_device(int number) noexcept nogil:
    """Start a device, also one that was ended."""
    cdef RemoteDevice *d
    if number < 0 or number >= num_devices or remote_forked:
        GOMP_PLUGIN_error(b"remote device %d is not usable%s", number,
                          <const char *>b" in a forked child of a program that has used devices" if remote_forked
                          else <const char *>b"")
        return False
    d = remote_devices[number]
    return d.running or (start_again(d) if load32(&d.lost, RELAXED) else start_device(d))


cdef public c_bool GOMP_OFFLOAD_fini_device(int number) noexcept nogil:
    """End a device.  In a forked child the device is the parent's and is left alone."""
    if number < 0 or number >= num_devices:
        return False
    if not remote_forked and remote_devices[number].running:
        end_device(remote_devices[number])
    return True


cdef public int GOMP_OFFLOAD_load_image(int number, unsigned version, const void *data, AddrPair **table,
                                        uint64_t **reverse, const uint64_t *indirect) noexcept nogil:
    """Load an image; the pairs in ``*table`` are the caller's to free."""
    return load_image(device_of(number), version, data, table,
                      indirect if version >> 16 >= <unsigned>GOMP_VERSION_INDIRECT_FUNCS else NULL)


cdef public c_bool GOMP_OFFLOAD_unload_image(int number, unsigned version, const void *data) noexcept nogil:
    return unload_image(device_of(number), data)


cdef public void *GOMP_OFFLOAD_alloc(int number, size_t size) noexcept nogil:
    """NULL when there is no memory left."""
    cdef RemoteDevice *d = device_of(number)
    cdef uint64_t address = take_block(d, size)
    if address == 0:
        GOMP_PLUGIN_error(b"remote device %d (%s): no %zu bytes left", number, <const char *>d.host, size)
    return <void *>address


cdef public c_bool GOMP_OFFLOAD_free(int number, void *p) noexcept nogil:
    """False for what isn't a block."""
    cdef RemoteDevice *d = device_of(number)
    return load32(&d.lost, RELAXED) != 0 or give_block(d, <uint64_t>p)


cdef public c_bool GOMP_OFFLOAD_host2dev(int number, void *to, const void *what, size_t n) noexcept nogil:
    return write_device(device_of(number), <uint64_t>to, what, n)


cdef public c_bool GOMP_OFFLOAD_dev2host(int number, void *to, const void *what, size_t n) noexcept nogil:
    return read_device(device_of(number), to, <uint64_t>what, n)


cdef public c_bool GOMP_OFFLOAD_dev2dev(int number, void *to, const void *what, size_t n) noexcept nogil:
    """Queued: an error ends the program at the next answer."""
    cdef RemoteDevice *d = device_of(number)
    cdef uint64_t words[3]
    words[0] = <uint64_t>to
    words[1] = <uint64_t>what
    words[2] = n
    note_change(d)
    tell_worker(d, REMOTE_COPY, words, 3, NULL, 0)
    return True


cdef public void GOMP_OFFLOAD_run(int number, void *function, void *variables, void **args) noexcept nogil:
    """Run a region; returns when it has ended.  Several threads may be here at once."""
    run_region(device_of(number), REMOTE_RUN, function, variables, args)


cdef public uint64_t gompy_start_region(int number, void *function, void *variables, void **args) noexcept nogil:
    """Start a region and return at once.  A ticket, which gompy_await_region must get once; 0: it can't be now.

    Not part of GCC's interface.
    """
    return start_later(device_of(number), function, variables, args)


cdef public void gompy_await_region(int number, uint64_t ticket) noexcept nogil:
    """Wait for the end of a region that gompy_start_region has started.  Not part of GCC's interface."""
    await_later(device_of(number), ticket)


cdef public size_t gompy_block_extent(int number, const void *p) noexcept nogil:
    """How many bytes may be copied to or from a device address: to the end of its block.

    Not part of GCC's interface.
    """
    return block_extent(device_of(number), <uint64_t>p)


cdef public void gompy_remote_use(const char *hosts, const char *token_file) noexcept nogil:
    """For who starts servers of its own: hosts in place of GOMPY_REMOTE, without TLS, before any other call.

    Both texts must stay.  Not part of GCC's interface.
    """
    global given_hosts, given_token_file
    given_hosts = hosts
    given_token_file = token_file


cdef public size_t gompy_guard_step(int number) noexcept nogil:
    """What gompy_guard can close, of the worker's device; 0: there are no checks.  Not part of GCC's interface."""
    return device_of(number).guard_step


cdef public bint gompy_guard(int number, uintptr_t start, size_t size) noexcept nogil:
    """Close a part of a block until it is freed.  False: there are no checks.  Not part of GCC's interface."""
    cdef RemoteDevice *d = device_of(number)
    cdef uint64_t words[2]
    if d.guard_step and size:
        words[0] = start
        words[1] = size
        note_change(d)
        tell_worker(d, REMOTE_GUARD, words, 2, NULL, 0)
    return d.guard_step != 0


cdef public unsigned gompy_fulfils() noexcept nogil:
    """Nothing of `omp requires`: an address of a worker's may be one of the host's, too.  Not part of GCC's interface.
    """
    return 0


include "openacc.pxi"
