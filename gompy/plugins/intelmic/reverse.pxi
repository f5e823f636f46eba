# Reverse offload on the host's side: a region calls a function of the host, in the thread that waits for the region.
#
# The device sets MIC_CALL in the slot's `done`, so the thread that waits has one word to look at.  It runs the function
# (gompy_target_rev of the runtime moves the data), takes the bit away, and waits on.


cdef inline uint32_t number_before(uint32_t request) noexcept nogil:
    """What a slot's `done` is until a request is done."""
    return (request - 1) & ~MIC_CALL


cdef void serve_call(mic_device *d, mic_slot *slot, uint32_t before) noexcept nogil:
    """Run the function of the host that the slot's region calls, and let the region go on."""
    if <void *>gompy_target_rev == NULL:
        GOMP_PLUGIN_fatal(b"device %d (intelmic): a region calls the host, which this runtime cannot serve", d.number)
    gompy_target_rev(GOMP_DEVICE_INTEL_MIC, d.number, slot.call[0], slot.call[1], slot.call[2], slot.call[3],
                     slot.call[4])
    exchange32(&slot.done, before, SEQ_CST)
    if load32(&slot.caller_sleeps, SEQ_CST) != 0:
        futex_wake(&slot.done)
