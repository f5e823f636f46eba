# Copies that reach beyond the host's memory: a section that is longer than its array.  The fault happens in a memcpy of
# this library, of a plugin or a driver.  While a copy lasts, the device has its host range (DeviceDescr.copying); a handler of
# SIGSEGV and SIGBUS finds the fault in it, says which construct and map it is, and ends the program.  Every other fault goes
# to the handler that was there before.  A program that installs its own later keeps that, without this message.

cdef extern from *:
    """
    #include <signal.h>

    static void gompy_copy_fault (uintptr_t address, int code);
    static struct sigaction gompy_segv_before, gompy_bus_before;

    static void
    gompy_on_fault (int signo, siginfo_t *info, void *context)
    {
      struct sigaction *before = signo == SIGSEGV ? &gompy_segv_before : &gompy_bus_before;
      if (info->si_code > 0)
        gompy_copy_fault ((uintptr_t) info->si_addr, signo == SIGBUS ? -1 : info->si_code);
      if (before->sa_flags & SA_RESETHAND)
        signal (signo, SIG_DFL);
      if (before->sa_flags & SA_SIGINFO)
        before->sa_sigaction (signo, info, context);
      else if (before->sa_handler == SIG_DFL)
        {
          signal (signo, SIG_DFL);  /* the instruction faults again, and that ends the program as it would have */
          if (info->si_code <= 0)
            raise (signo);
        }
      else if (before->sa_handler != SIG_IGN)
        before->sa_handler (signo);
    }

    static void
    gompy_catch (int signo, struct sigaction *before)
    {
      struct sigaction ours;
      if (sigaction (signo, NULL, before) != 0
          || (!(before->sa_flags & SA_SIGINFO) && before->sa_handler == SIG_IGN))
        return;
      ours = *before;
      ours.sa_sigaction = gompy_on_fault;
      ours.sa_flags = (before->sa_flags & (SA_NODEFER | SA_RESTART)) | SA_SIGINFO | SA_ONSTACK;
      sigaction (signo, &ours, NULL);
    }

    static void
    gompy_catch_copy_faults (void)
    {
      gompy_catch (SIGSEGV, &gompy_segv_before);
      gompy_catch (SIGBUS, &gompy_bus_before);
    }
    """
    void catch_copy_faults "gompy_catch_copy_faults"() noexcept nogil
    int SEGV_ACCERR


cdef void copy_fault "gompy_copy_fault"(uintptr_t address, int code) noexcept nogil:
    """In the handler: end the program if the fault is one of a copy that this thread makes.  code: si_code, -1 of SIGBUS."""
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
    gompy_store(&dev.state, DEVICE_FINALIZED)  # its plugin or driver is in the middle of the copy: it is not called again
    name_construct(dev.what, dev.where, construct, sizeof(construct))
    if key != NULL:
        snprintf(mapped, sizeof(mapped), b"%s %p, %zu bytes", map_kind_name(copy.kind), <void *> key.host_start,
                 <size_t> (key.host_end - key.host_start))
    else:
        snprintf(mapped, sizeof(mapped), b"%s %p, %zu bytes", map_kind_name(copy.kind),
                 <void *> copy.host, copy.size)
    gompy_fatal(b"device %d (%s): %s: copying %zu bytes %s the device (%s): address %p %s", dev.number, dev.name, construct,
                copy.size, <const char *> (b"to" if copy.to_device else b"from"), mapped, <void *> address, why)
