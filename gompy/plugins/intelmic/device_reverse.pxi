# Reverse offload on the device's side: `target device (ancestor: 1)` in a region is a call of the host.
#
# The image has a function of its own for it, whose code mkoffload has taken out (mkoffload/ancestors.py): by its place
# in the table of regions the host knows which of its own is meant.  The addresses that go with it are the device's.
# Threads of a region call one after another; regions of different slots do not wait for each other.

from gompy.native.gomp cimport GOMP_DEVICE_HOST_FALLBACK

cdef extern from *:
    """
    static pthread_mutex_t mic_call_locks[MIC_SLOTS]; /* zeros: PTHREAD_MUTEX_INITIALIZER */
    typedef void (*mic_target_function) (int, void *, size_t, void *, void *, void *, unsigned, void *, void *);
    """
    pthread_mutex_t mic_call_locks[64]
    ctypedef void (*target_function "mic_target_function")(
        int device, void *fn, size_t mapnum, void *hostaddrs, void *sizes, void *kinds, unsigned flags, void *depend,
        void *args
    ) noexcept nogil

cdef bint runs_on_host(void *function) noexcept nogil:
    """Whether it is of the table of an image whose regions may call the host."""
    cdef int i
    cdef void **region
    for i in range(image_count):
        if not mic_images[i].calls_host:
            continue
        region = mic_images[i].regions
        while region < mic_images[i].regions_end:
            if region[0] == function:
                return True
            region += 1
    return False


cdef void call_host(mic_slot *slot, void *function, size_t mapnum, void *hostaddrs, void *sizes,
                    void *kinds) noexcept nogil:
    """Have the host run a function; returns when it has.  The caller holds the slot's lock."""
    cdef uint32_t waiting = load32(&slot.done, RELAXED) | MIC_CALL
    slot.call[0] = <uint64_t>function
    slot.call[1] = mapnum
    slot.call[2] = <uint64_t>hostaddrs
    slot.call[3] = <uint64_t>sizes
    slot.call[4] = <uint64_t>kinds
    flush_output()  # before what the host prints
    exchange32(&slot.done, waiting, SEQ_CST)
    if load32(&slot.host_sleeps, SEQ_CST) != 0:
        futex_wake(&slot.done)
    if control.spins > 1 and look_while_equal(&slot.done, waiting, 100000, &slot.device_cpu, &slot.host_cpu):
        return
    while load32(&slot.done, ACQUIRE) == waiting:
        exchange32(&slot.caller_sleeps, 1, SEQ_CST)
        if load32(&slot.done, SEQ_CST) == waiting:
            futex_wait(&slot.done, waiting, -1)
        store32(&slot.caller_sleeps, 0, RELAXED)


cdef public void device_target "GOMP_target_ext"(int device, void *function, size_t mapnum, void *hostaddrs,
                                                 void *sizes, void *kinds, unsigned flags, void *depend,
                                                 void *args) noexcept nogil:
    """A target construct in a region: the host's with ancestor, else (OpenMP leaves that open) this very thread's."""
    if device != GOMP_DEVICE_HOST_FALLBACK or not runs_on_host(function):
        (<target_function>dlsym(RTLD_NEXT, b"GOMP_target_ext"))(
            device, function, mapnum, hostaddrs, sizes, kinds, flags, depend, args)
        return
    if mic_thread_slot < 0 or mic_thread_slot >= MIC_SLOTS:
        fputs(b"offload_target_main: error: no thread of the host waits for the region that calls it\n", stderr)
        abort()
    pthread_mutex_lock(&mic_call_locks[mic_thread_slot])
    call_host(&control.slots[mic_thread_slot], function, mapnum, hostaddrs, sizes, kinds)
    pthread_mutex_unlock(&mic_call_locks[mic_thread_slot])
