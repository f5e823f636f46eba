# nvmlDevice*: finding devices, and what they are.

cdef struct pci_info:          # nvmlPciInfo_t
    char legacy[16]
    unsigned domain, bus, slot, device_id, subsystem_id
    char name[32]

cdef struct pci_info_v2:       # nvmlPciInfo_v2_t
    char name[16]
    unsigned domain, bus, slot, device_id, subsystem_id
    unsigned reserved[4]


cdef public int nvmlDeviceGetCount_v2(unsigned *to) noexcept nogil:
    """All devices, whatever CUDA_VISIBLE_DEVICES says."""
    to[0] = device_count
    return NVML_SUCCESS


cdef public int nvmlDeviceGetCount(unsigned *to) noexcept nogil:
    """The same."""
    return nvmlDeviceGetCount_v2(to)


cdef public int nvmlDeviceGetHandleByIndex_v2(unsigned number, void **to) noexcept nogil:
    """A device by its place among all."""
    if number >= <unsigned>device_count:
        return NVML_ERROR_INVALID_ARGUMENT
    to[0] = &devices[number]
    return NVML_SUCCESS


cdef public int nvmlDeviceGetHandleByIndex(unsigned number, void **to) noexcept nogil:
    """The same."""
    return nvmlDeviceGetHandleByIndex_v2(number, to)


cdef void write_gpu_uuid(const gpu_description *g, char *to, size_t size) noexcept nogil:
    """GPU-, and the driver's 16 bytes."""
    cdef const uint8_t *u = <const uint8_t *>g.uuid
    snprintf(to, size, b"GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1], u[2],
             u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15])


cdef public int nvmlDeviceGetHandleByUUID(const char *text, void **to) noexcept nogil:
    """A device by what nvmlDeviceGetUUID says."""
    cdef char own[64]
    cdef int i
    for i in range(device_count):
        write_gpu_uuid(&devices[i], own, sizeof(own))
        if strcmp(text, own) == 0:
            to[0] = &devices[i]
            return NVML_SUCCESS
    return NVML_ERROR_NOT_FOUND


cdef public int nvmlDeviceGetHandleByPciBusId_v2(const char *text, void **to) noexcept nogil:
    """A device by domain:bus:device.function; domain and function may be left out."""
    cdef unsigned domain = 0, bus = 0, slot = 0
    cdef int i
    if sscanf(text, b"%x:%x:%x", &domain, &bus, &slot) != 3:
        domain = 0
        if sscanf(text, b"%x:%x", &bus, &slot) != 2:
            return NVML_ERROR_INVALID_ARGUMENT
    for i in range(device_count):
        if domain == 0 and bus == <unsigned>devices[i].bus and slot == <unsigned>devices[i].slot:
            to[0] = &devices[i]
            return NVML_SUCCESS
    return NVML_ERROR_NOT_FOUND


cdef public int nvmlDeviceGetHandleByPciBusId(const char *text, void **to) noexcept nogil:
    """The same."""
    return nvmlDeviceGetHandleByPciBusId_v2(text, to)


cdef public int nvmlDeviceGetIndex(const gpu_description *g, unsigned *to) noexcept nogil:
    """A device's place among all."""
    to[0] = number_of(g)
    return NVML_SUCCESS


cdef public int nvmlDeviceGetName(const gpu_description *g, char *to, unsigned room) noexcept nogil:
    """The driver's name of it."""
    return answer_text(to, room, g.name)


cdef public int nvmlDeviceGetUUID(const gpu_description *g, char *to, unsigned room) noexcept nogil:
    """GPU-676f6d70-7920-656d-756c-617465640000: "gompy emulated", and the number."""
    cdef char own[64]
    write_gpu_uuid(g, own, sizeof(own))
    return answer_text(to, room, own)


cdef public int nvmlDeviceGetBrand(const gpu_description *g, unsigned *to) noexcept nogil:
    """None of NVIDIA's."""
    to[0] = NVML_BRAND_UNKNOWN
    return NVML_SUCCESS


cdef public int nvmlDeviceGetArchitecture(const gpu_description *g, unsigned *to) noexcept nogil:
    """NVML_DEVICE_ARCH_*."""
    to[0] = nvml_architecture(g.arch)
    return NVML_SUCCESS


cdef public int nvmlDeviceGetCudaComputeCapability(const gpu_description *g, int *major, int *minor) noexcept nogil:
    """8, 0 for sm_80."""
    major[0], minor[0] = g.arch / 10, g.arch % 10
    return NVML_SUCCESS


cdef public int nvmlDeviceGetPciInfo_v3(const gpu_description *g, pci_info *to) noexcept nogil:
    """The driver's place of it; no maker's number."""
    memset(to, 0, sizeof(pci_info))
    to.bus, to.slot = g.bus, g.slot
    snprintf(to.legacy, sizeof(to.legacy), b"0000:%02X:%02X.0", to.bus, to.slot)
    snprintf(to.name, sizeof(to.name), b"00000000:%02X:%02X.0", to.bus, to.slot)
    return NVML_SUCCESS


cdef public int nvmlDeviceGetPciInfo_v2(const gpu_description *g, pci_info_v2 *to) noexcept nogil:
    """The same, in the structure before NVML 9."""
    memset(to, 0, sizeof(pci_info_v2))
    to.bus, to.slot = g.bus, g.slot
    snprintf(to.name, sizeof(to.name), b"0000:%02X:%02X.0", to.bus, to.slot)
    return NVML_SUCCESS


cdef public int nvmlDeviceGetPciInfo(const gpu_description *g, pci_info_v2 *to) noexcept nogil:
    """The same."""
    return nvmlDeviceGetPciInfo_v2(g, to)


cdef public int nvmlDeviceGetMemoryBusWidth(const gpu_description *g, unsigned *to) noexcept nogil:
    """The driver's attribute, in bits."""
    to[0] = g.bus_width
    return NVML_SUCCESS


cdef public int nvmlDeviceGetMaxClockInfo(const gpu_description *g, unsigned kind, unsigned *to) noexcept nogil:
    """The driver's attributes, in MHz.  What the clock is now is not supported: there is none."""
    if kind == NVML_CLOCK_GRAPHICS or kind == NVML_CLOCK_SM:
        to[0] = g.clock / 1000
    elif kind == NVML_CLOCK_MEM:
        to[0] = g.memory_clock / 1000
    else:
        return NVML_ERROR_NOT_SUPPORTED if kind == NVML_CLOCK_VIDEO else NVML_ERROR_INVALID_ARGUMENT
    return NVML_SUCCESS


cdef public int nvmlDeviceGetMultiGpuBoard(const gpu_description *g, unsigned *to) noexcept nogil:
    """Each is alone on its board."""
    to[0] = 0
    return NVML_SUCCESS


cdef public int nvmlDeviceOnSameBoard(const gpu_description *g, const gpu_description *other,
                                      int *to) noexcept nogil:
    """Only with itself."""
    to[0] = g == other
    return NVML_SUCCESS


cdef public int nvmlDeviceIsMigDeviceHandle(const gpu_description *g, unsigned *to) noexcept nogil:
    """None is a part of another."""
    to[0] = 0
    return NVML_SUCCESS


cdef public int nvmlDeviceGetComputeMode(const gpu_description *g, unsigned *to) noexcept nogil:
    """Any number of processes and contexts."""
    to[0] = NVML_COMPUTEMODE_DEFAULT
    return NVML_SUCCESS


cdef public int nvmlDeviceGetDisplayMode(const gpu_description *g, unsigned *to) noexcept nogil:
    """No display is connected."""
    to[0] = NVML_FEATURE_DISABLED
    return NVML_SUCCESS


cdef public int nvmlDeviceGetDisplayActive(const gpu_description *g, unsigned *to) noexcept nogil:
    """Nor used."""
    to[0] = NVML_FEATURE_DISABLED
    return NVML_SUCCESS
