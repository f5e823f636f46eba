# nvmlDevice*: what devices do, and for whom.

cdef struct memory_info:       # nvmlMemory_t
    uint64_t total, unused, used

cdef struct memory_info_v2:    # nvmlMemory_v2_t
    unsigned version
    uint64_t total, reserved, unused, used

cdef struct utilization:       # nvmlUtilization_t
    unsigned gpu, memory

cdef struct process_info:      # nvmlProcessInfo_v1_t
    unsigned pid
    uint64_t used

cdef struct process_info_v2:   # nvmlProcessInfo_v2_t
    unsigned pid
    uint64_t used
    unsigned gpu_instance, compute_instance

cdef struct process_detail:    # nvmlProcessDetail_v1_t
    unsigned pid
    uint64_t used
    unsigned gpu_instance, compute_instance
    uint64_t protected_used

cdef struct process_details:   # nvmlProcessDetailList_v1_t
    unsigned version, mode, count
    process_detail *rows

cdef struct process_sample:    # nvmlProcessUtilizationSample_t
    unsigned pid
    uint64_t when
    unsigned sm, memory, encoder, decoder

cdef struct field_value:       # nvmlFieldValue_t
    unsigned field, scope
    int64_t when, latency
    unsigned kind, result
    uint64_t value

cdef enum:
    NOT_AVAILABLE = -1         # NVML_VALUE_NOT_AVAILABLE


cdef uint64_t used_bytes(int device) noexcept nogil:
    """What all processes together have taken of a device."""
    cdef usage now[MAX_DEVICES]
    cdef uint64_t bytes = 0
    cdef int i
    pthread_mutex_lock(&nvml_lock)
    find_processes()
    for i in range(process_count):
        memset(now, 0, sizeof(now))
        if not processes[i].hidden:
            look_at_streams(&processes[i], now)
            look_at_memory(&processes[i], now)
        bytes += now[device].bytes
    pthread_mutex_unlock(&nvml_lock)
    return bytes


cdef public int nvmlDeviceGetMemoryInfo(const gpu_description *g, memory_info *to) noexcept nogil:
    """Bytes.  Each process has a whole device's memory for itself: together they may have more than there is."""
    to.total = g.bytes
    to.used = used_bytes(number_of(g))
    to.unused = to.total - to.used if to.used < to.total else 0
    return NVML_SUCCESS


cdef public int nvmlDeviceGetMemoryInfo_v2(const gpu_description *g, memory_info_v2 *to) noexcept nogil:
    """The same; nothing is reserved."""
    cdef memory_info found
    if to.version != NVML_MEMORY_V2:
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH
    nvmlDeviceGetMemoryInfo(g, &found)
    to.total, to.unused, to.used, to.reserved = found.total, found.unused, found.used, 0
    return NVML_SUCCESS


cdef public int nvmlDeviceGetUtilizationRates(const gpu_description *g, utilization *to) noexcept nogil:
    """In how many of 100 looks a kernel ran, and in how many bytes were copied or filled."""
    cdef int number = number_of(g)
    pthread_mutex_lock(&nvml_lock)
    measure_utilisation(0)
    to.gpu, to.memory = in_percent(launching_looks[number]), in_percent(copying_looks[number])
    pthread_mutex_unlock(&nvml_lock)
    return NVML_SUCCESS


cdef int list_users(int device, process_detail *to, unsigned *count) noexcept nogil:
    """The processes that have a context on a device, and those that may."""
    cdef usage now[MAX_DEVICES]
    cdef unsigned found = 0
    cdef int i
    pthread_mutex_lock(&nvml_lock)
    find_processes()
    for i in range(process_count):
        memset(now, 0, sizeof(now))
        if not processes[i].hidden:
            look_at_streams(&processes[i], now)
            look_at_memory(&processes[i], now)
            if not now[device].uses:
                continue
        if to != NULL and found < count[0]:
            memset(&to[found], 0, sizeof(process_detail))
            to[found].pid = processes[i].pid
            to[found].used = <uint64_t>NOT_AVAILABLE if processes[i].hidden else now[device].bytes
            to[found].gpu_instance = to[found].compute_instance = NVML_NO_INSTANCE
        found += 1
    pthread_mutex_unlock(&nvml_lock)
    if to == NULL or found > count[0]:
        count[0] = found
        return NVML_ERROR_INSUFFICIENT_SIZE if found else NVML_SUCCESS
    count[0] = found
    return NVML_SUCCESS


cdef int list_in_form(int device, unsigned *count, process_info *old, process_info_v2 *new) noexcept nogil:
    """The same, in one of the two other structures, of which there may be room for MAX_PROCESSES at most."""
    cdef process_detail rows[MAX_PROCESSES]
    cdef unsigned i
    cdef bint room = count[0] > 0 and (old != NULL or new != NULL)
    cdef int r
    if count[0] > MAX_PROCESSES:
        count[0] = MAX_PROCESSES
    r = list_users(device, rows if room else NULL, count)
    for i in range(count[0] if room and r == NVML_SUCCESS else 0):
        if old != NULL:
            old[i].pid, old[i].used = rows[i].pid, rows[i].used
        else:
            new[i].pid, new[i].used = rows[i].pid, rows[i].used
            new[i].gpu_instance = new[i].compute_instance = NVML_NO_INSTANCE
    return r


cdef public int nvmlDeviceGetComputeRunningProcesses(const gpu_description *g, unsigned *count,
                                                     process_info *to) noexcept nogil:
    """The processes with a context on the device: only the same user's, for root all."""
    return list_in_form(number_of(g), count, to, NULL)


cdef public int nvmlDeviceGetComputeRunningProcesses_v2(const gpu_description *g, unsigned *count,
                                                        process_info_v2 *to) noexcept nogil:
    """The same, with the numbers of instances."""
    return list_in_form(number_of(g), count, NULL, to)


cdef public int nvmlDeviceGetComputeRunningProcesses_v3(const gpu_description *g, unsigned *count,
                                                        process_info_v2 *to) noexcept nogil:
    """The same."""
    return list_in_form(number_of(g), count, NULL, to)


cdef int list_none(unsigned *count) noexcept nogil:
    """Graphics and MPS: nobody."""
    count[0] = 0
    return NVML_SUCCESS


cdef public int nvmlDeviceGetGraphicsRunningProcesses(const gpu_description *g, unsigned *count,
                                                      void *to) noexcept nogil:
    """None: the device draws nothing."""
    return list_none(count)


cdef public int nvmlDeviceGetGraphicsRunningProcesses_v2(const gpu_description *g, unsigned *count,
                                                         void *to) noexcept nogil:
    """The same."""
    return list_none(count)


cdef public int nvmlDeviceGetGraphicsRunningProcesses_v3(const gpu_description *g, unsigned *count,
                                                         void *to) noexcept nogil:
    """The same."""
    return list_none(count)


cdef public int nvmlDeviceGetMPSComputeRunningProcesses(const gpu_description *g, unsigned *count,
                                                        void *to) noexcept nogil:
    """None: there is no MPS."""
    return list_none(count)


cdef public int nvmlDeviceGetMPSComputeRunningProcesses_v2(const gpu_description *g, unsigned *count,
                                                           void *to) noexcept nogil:
    """The same."""
    return list_none(count)


cdef public int nvmlDeviceGetMPSComputeRunningProcesses_v3(const gpu_description *g, unsigned *count,
                                                           void *to) noexcept nogil:
    """The same."""
    return list_none(count)


cdef public int nvmlDeviceGetRunningProcessDetailList(const gpu_description *g, process_details *to) noexcept nogil:
    """The processes of a mode: compute has all."""
    if to.version != NVML_PROCESS_DETAIL_LIST_V1:
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH
    if to.mode > NVML_PROCESS_MODE_MPS:
        return NVML_ERROR_INVALID_ARGUMENT
    if to.mode != NVML_PROCESS_MODE_COMPUTE:
        return list_none(&to.count)
    return list_users(number_of(g), to.rows, &to.count)


cdef public int nvmlDeviceGetProcessUtilization(const gpu_description *g, process_sample *to, unsigned *count,
                                                uint64_t seen) noexcept nogil:
    """The shares of the processes that did something, as nvmlDeviceGetUtilizationRates'; NVML_ERROR_NOT_FOUND if none
    has."""
    cdef int number = number_of(g)
    cdef unsigned found = 0, room = count[0]
    cdef int i
    pthread_mutex_lock(&nvml_lock)
    measure_utilisation(seen)
    for i in range(share_count):
        if shares[i].launching[number] == 0 and shares[i].copying[number] == 0:
            continue
        if to != NULL and found < room:
            memset(&to[found], 0, sizeof(process_sample))
            to[found].pid = shares[i].pid
            to[found].when = shares_date
            to[found].sm = in_percent(shares[i].launching[number])
            to[found].memory = in_percent(shares[i].copying[number])
        found += 1
    pthread_mutex_unlock(&nvml_lock)
    count[0] = found
    if found == 0:
        return NVML_ERROR_NOT_FOUND
    return NVML_ERROR_INSUFFICIENT_SIZE if to == NULL or found > room else NVML_SUCCESS


cdef public int nvmlDeviceGetFieldValues(const gpu_description *g, int count, field_value *to) noexcept nogil:
    """Each field says that it is not supported."""
    cdef int i
    if count <= 0:
        return NVML_ERROR_INVALID_ARGUMENT
    for i in range(count):
        to[i].when = to[i].latency = 0
        to[i].result = NVML_ERROR_NOT_SUPPORTED
    return NVML_SUCCESS
