# How busy the devices are.  The driver keeps no time for it: it is looked at several times, a millisecond apart.

cdef enum:
    LOOKS = 25
    BETWEEN_NS = 1000000
    TAKEN_NS = 250000000       # so long an answer is kept

cdef struct share:             # of a process, in looks
    int pid
    int launching[MAX_DEVICES]
    int copying[MAX_DEVICES]

# All guarded by nvml_lock.
cdef share shares[MAX_PROCESSES]
cdef int share_count
cdef int launching_looks[MAX_DEVICES]
cdef int copying_looks[MAX_DEVICES]
cdef uint64_t shares_when      # by the clock that only goes forward
cdef uint64_t shares_date      # microseconds since 1970


cdef void look_once() noexcept nogil:
    """One look at all."""
    cdef usage now[MAX_DEVICES]
    cdef bint launching[MAX_DEVICES]
    cdef bint copying[MAX_DEVICES]
    cdef int p, d
    memset(launching, 0, sizeof(launching))
    memset(copying, 0, sizeof(copying))
    for p in range(share_count):
        memset(now, 0, sizeof(now))
        if not processes[p].hidden:
            look_at_streams(&processes[p], now)
        for d in range(MAX_DEVICES):
            shares[p].launching[d] += now[d].launching
            shares[p].copying[d] += now[d].copying
            launching[d] |= now[d].launching
            copying[d] |= now[d].copying
    for d in range(MAX_DEVICES):
        launching_looks[d] += launching[d]
        copying_looks[d] += copying[d]


cdef void measure_utilisation(uint64_t seen) noexcept nogil:
    """Renew all shares, which takes LOOKS * BETWEEN_NS, unless they are new, and younger than those that were seen.
    With nvml_lock held."""
    global share_count, shares_when, shares_date
    cdef int i
    if shares_when and now_ns() - shares_when < TAKEN_NS and shares_date > seen:
        return
    find_processes()
    memset(shares, 0, sizeof(shares))
    memset(launching_looks, 0, sizeof(launching_looks))
    memset(copying_looks, 0, sizeof(copying_looks))
    share_count = process_count
    for i in range(share_count):
        shares[i].pid = processes[i].pid
    for i in range(LOOKS if share_count else 0):
        look_once()
        sleep_ns(BETWEEN_NS)
    shares_when = now_ns()
    shares_date = microseconds_since_1970()


cdef inline unsigned in_percent(int looks) noexcept nogil:
    """Looks of all looks."""
    return <unsigned>(looks * 100 / LOOKS)
