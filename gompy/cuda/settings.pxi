# The environment: how many devices there are, of which kind, and what is checked.


cdef void complain_setting(const char *variable, const char *value, const char *wanted) noexcept nogil:
    """A setting that can't be understood."""
    fprintf(stderr, b"libcuda (gompy): error: %s='%s': %s\n", variable, value, wanted)


cdef const char *parse_arch(const char *text, int *arch) noexcept nogil:
    """sm_80, compute_80, 8.0 or 80.  Returns what follows, or NULL."""
    cdef char *end
    cdef long n
    if strncmp(text, b"sm_", 3) == 0:
        text += 3
    elif strncmp(text, b"compute_", 8) == 0:
        text += 8
    n = strtol(text, &end, 10)
    if end == text:
        return NULL
    if end[0] == 46 and 48 <= end[1] <= 57:  # 8.0
        n = n * 10 + (end[1] - 48)
        end += 2
    elif end[0] == 97:  # sm_90a
        end += 1
    if n < 30 or n > 129:
        return NULL
    arch[0] = n
    return end


cdef const char *parse_size(const char *text, uint64_t *size) noexcept nogil:
    """Bytes with K, M, G or T.  Returns what follows, or NULL."""
    cdef char *end
    cdef double n = strtod(text, &end)
    cdef int shift = 0
    if end == text or n <= 0:
        return NULL
    if end[0] in (75, 107):
        shift = 10
    elif end[0] in (77, 109):
        shift = 20
    elif end[0] in (71, 103):
        shift = 30
    elif end[0] in (84, 116):
        shift = 40
    if shift:
        end += 1
        if end[0] == 105:  # GiB
            end += 1
        if end[0] == 66:
            end += 1
    n = n * <double>(<uint64_t>1 << shift)
    if n < 1048576 or n > 1.7e13:
        return NULL
    size[0] = round_up(<uint64_t>n, CHUNK)
    return end


cdef const char *parse_processors(const char *text, int *processors) noexcept nogil:
    """A number of SMs.  Returns what follows, or NULL."""
    cdef char *end
    cdef long n = strtol(text, &end, 10)
    if end == text or n < 1 or n > 1024:
        return NULL
    processors[0] = n
    return end


cdef const char *parse_gpu(const char *text, gpu *g) noexcept nogil:
    """ARCH[:MEMORY[:SMS]], any of them empty.  Returns what follows, or NULL."""
    if text[0] not in (58, 44, 0):
        text = parse_arch(text, &g.arch)
    if text != NULL and text[0] == 58:
        text += 1
        if text[0] not in (58, 44, 0):
            text = parse_size(text, &g.bytes)
        if text != NULL and text[0] == 58:
            text += 1
            if text[0] not in (44, 0):
                text = parse_processors(text, &g.processors)
    return text if text != NULL and text[0] in (44, 0) else NULL


cdef bint read_check() noexcept nogil:
    """GOMPY_CHECK: 0, 1 (everything but races, which take longer), or words with commas between them.

    False after a message.
    """
    global checking, checking_leaks
    cdef const char *text = secure_getenv(b"GOMPY_CHECK")
    cdef const char *at = text
    cdef size_t n
    checking = 0
    checking_leaks = False
    if text == NULL or text[0] == 0 or strcmp(text, b"0") == 0:
        return True
    if strcmp(text, b"1") == 0:
        checking = PTX_CHECK_MEMORY | PTX_CHECK_INIT | PTX_CHECK_SYNC
        checking_leaks = True
        return True
    while True:
        n = 0
        while at[n] not in (44, 0):
            n += 1
        if n == 6 and memcmp(at, b"memory", 6) == 0:
            checking |= PTX_CHECK_MEMORY
        elif n == 4 and memcmp(at, b"init", 4) == 0:
            checking |= PTX_CHECK_INIT
        elif n == 4 and memcmp(at, b"sync", 4) == 0:
            checking |= PTX_CHECK_SYNC
        elif n == 4 and memcmp(at, b"race", 4) == 0:
            checking |= PTX_CHECK_RACE
        elif n == 4 and memcmp(at, b"leak", 4) == 0:
            checking_leaks = True
        else:
            complain_setting(b"GOMPY_CHECK", text,
                             b"neither 0 nor 1 nor a list of memory, init, sync, race, leak such as memory,sync")
            return False
        if at[n] == 0:
            return True
        at += n + 1


cdef bint read_seed() noexcept nogil:
    """GOMPY_CUDA_SEED: a number.  False after a message."""
    global order_seed
    cdef const char *text = secure_getenv(b"GOMPY_CUDA_SEED")
    cdef char *end = NULL
    cdef long number = 0
    if text != NULL and text[0]:
        number = strtol(text, &end, 10)
        if end[0] or number < 0 or number >> 32:
            complain_setting(b"GOMPY_CUDA_SEED", text, b"not a number from 0 to 4294967295")
            return False
    order_seed = <uint32_t> number
    return True


cdef bint read_peers() noexcept nogil:
    """GOMPY_CUDA_PEERS: whether kernels can use other devices' memory.  False after a message."""
    global peers_denied
    cdef const char *text = secure_getenv(b"GOMPY_CUDA_PEERS")
    peers_denied = text != NULL and strcmp(text, b"0") == 0
    if text == NULL or text[0] == 0 or peers_denied or strcmp(text, b"1") == 0:
        return True
    complain_setting(b"GOMPY_CUDA_PEERS", text, b"neither 0 nor 1")
    return False


cdef bint read_address() noexcept nogil:
    """GOMPY_CUDA_ADDRESS: where the first device's memory is to be, a hexadecimal number.  False after a message."""
    global wanted_address
    cdef const char *text = secure_getenv(b"GOMPY_CUDA_ADDRESS")
    cdef char *end = NULL
    wanted_address = 0
    if text != NULL and text[0]:
        wanted_address = strtoull(text, &end, 16)
        if end[0] or wanted_address < <uint64_t>1 << 32 or wanted_address >> 47 or wanted_address % CHUNK:
            complain_setting(b"GOMPY_CUDA_ADDRESS", text, b"not a hexadecimal address from 100000000 to 7fffffe00000 "
                             b"that is a multiple of 2 MiB")
            return False
    return True


cdef int told_version() noexcept nogil:
    """GOMPY_CUDA_VERSION: 12.4 is 12040.  0 if it makes no sense."""
    cdef const char *text = secure_getenv(b"GOMPY_CUDA_VERSION")
    cdef char *end
    cdef long major, minor = 0
    if text == NULL or text[0] == 0:
        return DRIVER_VERSION
    major = strtol(text, &end, 10)
    if end != text and end[0] == 46 and 48 <= end[1] <= 57:
        minor = strtol(end + 1, &end, 10)
    return major * 1000 + minor * 10 if end[0] == 0 and 1 <= major <= 99 and minor <= 9 else 0


cdef bint read_settings() noexcept nogil:
    """Fill the table of devices from the environment.  False after a message for a setting that makes no sense."""
    global gpu_count, host_processors, driver_version
    cdef gpu model
    cdef char *text
    cdef const char *end
    cdef char *number_end
    cdef long n = 1
    cdef int i
    memset(&model, 0, sizeof(model))
    model.arch = 80
    host_processors = available_cpus()
    model.processors = host_processors
    model.bytes = <uint64_t>sysconf(_SC_PHYS_PAGES) * <uint64_t>sysconf(_SC_PAGESIZE) / 2 & ~((<uint64_t>1 << 30) - 1)
    if model.bytes < <uint64_t>1 << 30:
        model.bytes = <uint64_t>1 << 30
    if not read_check():
        return False
    driver_version = told_version()
    if driver_version == 0:
        complain_setting(b"GOMPY_CUDA_VERSION", secure_getenv(b"GOMPY_CUDA_VERSION"),
                         b"not a version of CUDA such as 12.4")
        return False
    if not read_seed() or not read_peers() or not read_address():
        return False
    text = secure_getenv(b"GOMPY_CUDA_ARCH")
    if text != NULL and text[0]:
        end = parse_arch(text, &model.arch)
        if end == NULL or end[0]:
            complain_setting(b"GOMPY_CUDA_ARCH", text, b"not an architecture such as sm_80")
            return False
    text = secure_getenv(b"GOMPY_CUDA_MEMORY")
    if text != NULL and text[0]:
        end = parse_size(text, &model.bytes)
        if end == NULL or end[0]:
            complain_setting(b"GOMPY_CUDA_MEMORY", text, b"not a size such as 512M or 16G (1M to 15T)")
            return False
    text = secure_getenv(b"GOMPY_CUDA_SMS")
    if text != NULL and text[0]:
        end = parse_processors(text, &model.processors)
        if end == NULL or end[0]:
            complain_setting(b"GOMPY_CUDA_SMS", text, b"not a number of multiprocessors (1 to 1024)")
            return False
    gpu_count = 0
    text = secure_getenv(b"GOMPY_CUDA_DEVICES")
    if text != NULL and text[0]:
        n = strtol(text, &number_end, 10)
        if number_end == text or number_end[0]:
            end = text
            while True:
                if gpu_count == MAX_GPUS:
                    complain_setting(b"GOMPY_CUDA_DEVICES", text, b"more than 16 devices")
                    return False
                gpus[gpu_count] = model
                end = parse_gpu(end, &gpus[gpu_count])
                if end == NULL:
                    complain_setting(b"GOMPY_CUDA_DEVICES", text, b"neither a number (0 to 16) nor a list of "
                                     b"ARCH[:MEMORY[:SMS]] such as sm_70:4G:2,sm_90")
                    return False
                gpu_count += 1
                if end[0] == 0:
                    break
                end += 1
            return True
        if n < 0 or n > MAX_GPUS:
            complain_setting(b"GOMPY_CUDA_DEVICES", text, b"not a number from 0 to 16")
            return False
    for i in range(n):
        gpus[i] = model
    gpu_count = n
    return True


cdef void read_visible() noexcept nogil:
    """CUDA_VISIBLE_DEVICES, as the real driver reads it: ordinals up to the first that does not exist."""
    global visible_count
    cdef char *text = secure_getenv(b"CUDA_VISIBLE_DEVICES")
    cdef char *end
    cdef long n
    cdef int i
    visible_count = 0
    if text == NULL:
        for i in range(gpu_count):
            visible[i] = i
        visible_count = gpu_count
        return
    while visible_count < MAX_GPUS:
        n = strtol(text, &end, 10)
        if end == text or n < 0 or n >= gpu_count:
            return
        for i in range(visible_count):
            if visible[i] == n:  # named twice: no device at all
                visible_count = 0
                return
        visible[visible_count] = n
        visible_count += 1
        if end[0] != 44:
            return
        text = end + 1
