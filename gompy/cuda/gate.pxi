# GOMPY_CHECK: the program itself has no access to device memory, as on a GPU.
#
# What cuMemAlloc gives has pages of its own then (memory.pxi).  They are without access but for the time in which a
# kernel runs or the driver copies, and then until the end of what holds the gate: a construct of the program, of which
# the runtime tells (gompy_hold_gate), as each change of the access takes long.  So the program ends by a fault where it
# uses an address of the device's, unless a kernel runs beside it.  Memory that it may use, pinned and managed, stays
# open; so does what other processes share, and what a runtime has for itself (gompy_keep_open): the stacks of OpenMP's
# threads are many pages, and the program does not know where they are.
#
# Closing and opening may take a sixteenth of the program's time, and a part of a second at first; beyond it the memory
# stays open, and while checks rest (looks.pxi).  All of this is guarded by memory_lock.

from gompy.native.clock cimport now_ns

cdef enum:
    GATE_SHARE = 16
    GATE_FREE_NS = 50000000

cdef uint32_t gate_users       # operations that use device memory now
cdef uint32_t gate_holders     # what leaves the gate open that they have opened
cdef bint gate_closed
cdef bint gate_stays_open
cdef uint64_t gate_begun, gate_spent


cdef void change_blocks(const block *n, int access) noexcept nogil:
    """Open or close what cuMemAlloc has given, of an area's list."""
    while n != NULL:
        if n.use == ALLOCATION and not n.stays_open:
            mprotect(<void *>n.address, n.size - 4096, access)
        n = n.living_next


cdef void change_gate(bint closed) noexcept nogil:
    """Open or close all of it."""
    global gate_closed, gate_spent
    cdef uint64_t begin = now_ns(), now
    cdef int i
    for i in range(gpu_count):
        change_blocks(gpus[i].memory.living, PROT_NONE if closed else PROT_READ | PROT_WRITE)
        now = now_ns()
        note_check_time(&gpus[i], now - begin)
        gate_spent += now - begin
        begin = now
    gate_closed = closed


cdef int new_access(uint32_t use) noexcept nogil:
    """The access that a new block has at first.  With memory_lock held."""
    global gate_closed
    if use != ALLOCATION or not memory_guarded() or gate_users or gate_stays_open or looks_rest or (
            gate_holders and gate_begun and not gate_closed):
        return PROT_READ | PROT_WRITE
    gate_closed = True
    return PROT_NONE


cdef void open_gate() noexcept nogil:
    """Somebody is about to use device memory."""
    global gate_users
    if not memory_guarded():
        return
    pthread_mutex_lock(&memory_lock)
    gate_users += 1
    if gate_closed:
        change_gate(False)
    pthread_mutex_unlock(&memory_lock)


cdef void close_unused() noexcept nogil:
    """Close it if nobody needs it and there is time for that."""
    if gate_users == 0 and gate_holders == 0 and not gate_closed and not gate_stays_open and not looks_rest and \
            (gate_spent < GATE_FREE_NS or gate_spent < (now_ns() - gate_begun) // GATE_SHARE):
        change_gate(True)


cdef void close_gate() noexcept nogil:
    """That is over."""
    global gate_users, gate_begun
    if not memory_guarded():
        return
    pthread_mutex_lock(&memory_lock)
    if gate_begun == 0:
        gate_begun = now_ns()
    gate_users -= 1
    close_unused()
    pthread_mutex_unlock(&memory_lock)


cdef void hold_gate(bint on) noexcept nogil:
    """From here on it stays open when it has been opened, or that is over."""
    global gate_holders
    if not memory_guarded():
        return
    pthread_mutex_lock(&memory_lock)
    gate_holders += 1 if on else -1
    if gate_begun:
        close_unused()
    pthread_mutex_unlock(&memory_lock)


cdef void leave_gate_open() noexcept nogil:
    """From here on the memory is not this driver's alone.  With memory_lock held."""
    global gate_stays_open
    gate_stays_open = True
    if gate_closed:
        change_gate(False)
