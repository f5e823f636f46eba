# Copies between host and device.
#
# Arena addresses are copied through our own mapping, without a message.  Others (globals of an image, the device's own
# malloc) go through the kernel; where that is forbidden (seccomp), the device itself moves them to and from the arena.

cdef inline bint in_arena(mic_device *d, const void *p, size_t n) noexcept nogil:
    """Whether n bytes at a device address lie in the arena."""
    return <uintptr_t>p - d.base < d.size and n <= d.size - (<uintptr_t>p - d.base)


cdef inline char *host_view(mic_device *d, const void *p) noexcept nogil:
    """Where the host has an arena address."""
    return d.memory + (<uintptr_t>p - d.base)


cdef bint copy_refused(mic_device *d, bint to_device, const void *device, size_t n, int error) noexcept nogil:
    """Say why a copy failed."""
    if error == EFAULT:
        GOMP_PLUGIN_error(b"device %d (intelmic): copy %s device: [%p..%p) is not memory of the device", d.number,
                          <const char *>(b"to" if to_device else b"from"), device, <const char *>device + n)
    else:
        GOMP_PLUGIN_error(b"device %d (intelmic): copy %s device: [%p..%p): %s", d.number,
                          <const char *>(b"to" if to_device else b"from"), device, <const char *>device + n,
                          strerror(error))
    return False


cdef bint copy_by_command(mic_device *d, bint to_device, char *host, char *device, size_t n) noexcept nogil:
    """Copy outside the arena with the device's help, through a piece of the arena."""
    cdef size_t step = n if n < 1 << 20 else 1 << 20, part
    cdef uint64_t offset = memory_alloc(d, step)
    cdef int64_t error = 0
    if offset == ~<uint64_t>0:
        return copy_refused(d, to_device, device, n, ENOMEM)
    if has_outer(d, device, n):
        open_outer(d, device, n)
    pthread_mutex_lock(&d.commands)
    while n and error == 0:
        part = n if n < step else step
        if to_device:
            memcpy(d.memory + offset, host, part)
            error = run_command(d, MIC_OP_WRITE, <uint64_t>device, offset, part)
        else:
            error = run_command(d, MIC_OP_READ, <uint64_t>device, offset, part)
            if error == 0:
                memcpy(host, d.memory + offset, part)
        host += part
        device += part
        n -= part
    pthread_mutex_unlock(&d.commands)
    memory_free(d, offset)
    if error:
        return copy_refused(d, to_device, device - part, part, <int>error)
    return True


cdef bint copy_by_kernel(mic_device *d, bint to_device, char *host, char *device, size_t n) noexcept nogil:
    """Copy outside the arena."""
    cdef iovec here, there
    cdef ssize_t done
    cdef int tries = 0
    if to_device:
        good_outer(d, device, n)
    while n:
        here.iov_base = host
        here.iov_len = n
        there.iov_base = device
        there.iov_len = n
        if to_device:
            done = process_vm_writev(d.control.device_pid, &here, 1, &there, 1, 0)
        else:
            done = process_vm_readv(d.control.device_pid, &here, 1, &there, 1, 0)
        if done < 0 and errno == EINTR:
            continue
        if done < 0 and (errno == EPERM or errno == ENOSYS):
            return copy_by_command(d, to_device, host, device, n)
        if done < 0 and errno == EFAULT and tries < MIC_OUTER_TRIES and has_outer(d, device, n):
            tries += 1
            open_outer(d, device, n)
            continue
        if done <= 0:
            if done < 0 and errno == ESRCH:
                notice_death(d)
            return copy_refused(d, to_device, device, n, errno if done < 0 else EFAULT)
        host += done
        device += done
        n -= <size_t>done
    return True


cdef bint copy_to_device(mic_device *d, void *to, const void *what, size_t n) noexcept nogil:
    """Copy to the device.  False after a message if the target isn't memory of the device."""
    if in_arena(d, to, n):
        if d.control.exact == 0:
            set_marks(d, <uintptr_t>to - d.base, n, MIC_MARK_GOOD)
        if n >= FIRST_SIZE:
            copy_in(d, <char *>to, <const char *>what, n)
        else:
            memcpy(host_view(d, to), what, n)
        if d.control.exact:
            set_marks(d, <uintptr_t>to - d.base, n, MIC_MARK_GOOD)
        return True
    return copy_by_kernel(d, True, <char *>what, <char *>to, n)


cdef bint copy_from_device(mic_device *d, void *to, const void *what, size_t n) noexcept nogil:
    """Copy from the device."""
    if in_arena(d, what, n):
        about_to_read(d, <uintptr_t>what - d.base, n)
        memcpy(to, host_view(d, what), n)
        return True
    return copy_by_kernel(d, False, <char *>to, <char *>what, n)


cdef bint copy_on_device(mic_device *d, void *to, const void *what, size_t n) noexcept nogil:
    """Copy within the device."""
    cdef char *bounce
    if in_arena(d, to, n) and in_arena(d, what, n):
        about_to_change(d, <uintptr_t>what - d.base, n)
        about_to_change(d, <uintptr_t>to - d.base, n)
        memmove(host_view(d, to), host_view(d, what), n)
        copy_marks(d, <uintptr_t>to - d.base, <uintptr_t>what - d.base, n)
        return True
    if in_arena(d, to, n):
        set_marks(d, <uintptr_t>to - d.base, n, MIC_MARK_GOOD)
        return copy_by_kernel(d, False, host_view(d, to), <char *>what, n)
    if in_arena(d, what, n):
        about_to_read(d, <uintptr_t>what - d.base, n)
        return copy_by_kernel(d, True, host_view(d, what), <char *>to, n)
    bounce = <char *>malloc(n if n else 1)
    if bounce == NULL:
        return copy_refused(d, True, to, n, ENOMEM)
    if not copy_by_kernel(d, False, bounce, <char *>what, n) or not copy_by_kernel(d, True, bounce, <char *>to, n):
        free(bounce)
        return False
    free(bounce)
    return True


cdef enum:
    FILL_AT_ONCE = 4096


cdef bint fill_on_device(mic_device *d, void *to, int value, size_t n) noexcept nogil:
    """Give n bytes of device memory a value."""
    cdef char block[FILL_AT_ONCE]
    cdef size_t done = 0, part
    if in_arena(d, to, n):
        about_to_change(d, <uintptr_t>to - d.base, n)
        memset(host_view(d, to), value, n)
        return True
    memset(block, value, sizeof(block))
    while done < n:
        part = min(n - done, <size_t>FILL_AT_ONCE)
        if not copy_to_device(d, <char *>to + done, block, part):
            return False
        done += part
    return True
