# Copies that reach beyond the host's memory: a section that is longer than its array.  The fault happens in a memcpy of
# this library, of a plugin or a driver.  While a copy lasts, the device has its host range (DeviceDescr.copying); a
# handler of SIGSEGV and SIGBUS finds the fault in it, says which construct and map it is, and ends the program.  Every
# other fault goes to the handler that was there before.  A program that installs its own later keeps that, without
# this message.

cdef extern from "<signal.h>" nogil:
    int SEGV_ACCERR


cdef void copy_fault "gompy_copy_fault"(uintptr_t address, int code) noexcept nogil:
    """In the handler: end the program if the fault is one of a copy that this thread makes.

    code: si_code, -1 of SIGBUS.
    """
    cdef DeviceDescr *dev
    cdef int i
    for i in range(num_devices):
        dev = &devices[i]
        if dev.copying.size and gompy_lock_is_mine(&dev.lock) and address - dev.copying.host < dev.copying.size:
            tell_copy_fault(dev, address, code)


cdef void tell_copy_fault(DeviceDescr *dev, uintptr_t address, int code) noexcept nogil:
    cdef char construct[500]
    cdef char mapped[120]
    cdef HostCopy copy = dev.copying
    cdef const char *why = b"is not memory of the host; is the section longer than what it is of?"
    cdef SplayNode *key = lookup_mapped(&dev.mem_map, copy.host, copy.host + 1)
    if code == -1:
        why = b"is beyond the end of the file that is mapped there"
    elif code == SEGV_ACCERR:
        why = b"may not be read" if copy.to_device else b"may not be written"
    dev.copying.size = 0
    # its plugin or driver is in the middle of the copy: it is not called again
    gompy_store(&dev.state, DEVICE_FINALIZED)
    name_construct(dev.what, dev.where, construct, sizeof(construct))
    if key != NULL:
        snprintf(mapped, sizeof(mapped), b"%s %p, %zu bytes", map_kind_name(copy.kind), <void *> key.host_start,
                 <size_t> (key.host_end - key.host_start))
    else:
        snprintf(mapped, sizeof(mapped), b"%s %p, %zu bytes", map_kind_name(copy.kind),
                 <void *> copy.host, copy.size)
    gompy_fatal(b"device %d (%s): %s: copying %zu bytes %s the device (%s): address %p %s", dev.number, dev.name,
                construct,
                copy.size, <const char *> (b"to" if copy.to_device else b"from"), mapped, <void *> address, why)
