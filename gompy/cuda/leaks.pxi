# GOMPY_CHECK=leak: memory that the program has asked for and never given back, when its context or the program ends.

cdef enum:
    LEAKS_TOLD = 20            # places
    PLACE_ROOM = 320

cdef struct leak:
    const uint64_t *made       # where it was asked for
    uint32_t use
    uint64_t blocks, bytes
    uint64_t address           # of the first
    char place[PLACE_ROOM]

cdef struct leaks:
    leak at[LEAKS_TOLD]
    uint32_t count
    uint64_t more              # blocks from other places


cdef void note_made(uint64_t address) noexcept nogil:
    """The program has got memory.  What its OpenMP or OpenACC runtime has for itself is not the program's."""
    cdef uint64_t callers[2]
    cdef block *n
    if not checking_leaks or called_by_runtime() or find_callers(callers):
        return
    pthread_mutex_lock(&memory_lock)
    n = block_at(address, NULL, NULL)
    if n != NULL:
        n.made[0], n.made[1] = callers[0], callers[1]
    pthread_mutex_unlock(&memory_lock)


cdef void given_back(uint64_t address) noexcept nogil:
    """The program has freed memory in a stream's order, which may come after its end.  With memory_lock."""
    cdef block *n = block_at(address, NULL, NULL) if checking_leaks else NULL
    if n != NULL and n.start == address:
        n.made[0] = n.made[1] = 0


cdef void collect_leaks(block *n, const void *owner, leaks *found) noexcept nogil:
    """Those of a context, or (NULL) of all, in a subtree."""
    cdef uint32_t i
    while n != NULL:
        collect_leaks(n.left, owner, found)
        if n.made[0] and n.use in (ALLOCATION, MANAGED, HOST_MEMORY) and (owner == NULL or n.owner == owner) and \
                (n.owner == NULL or (<context *>n.owner).failure == CUDA_SUCCESS):
            i = 0
            while i < found.count and (memcmp(found.at[i].made, n.made, sizeof(n.made)) != 0
                                       or found.at[i].use != n.use):
                i += 1
            if i == LEAKS_TOLD:
                found.more += 1
            else:
                if i == found.count:
                    found.at[i].made, found.at[i].use, found.at[i].address = n.made, n.use, n.start
                    found.count += 1
                found.at[i].blocks += 1
                found.at[i].bytes += n.length
        n = n.right


cdef void join_leaks(leaks *found) noexcept nogil:
    """One line of the source may be several places in the code: an unrolled loop, or who called there."""
    cdef uint32_t i, j, kept = 0
    for i in range(found.count):
        name_caller(found.at[i].made, found.at[i].place, PLACE_ROOM)
        j = 0
        while j < kept and (found.at[j].use != found.at[i].use or strcmp(found.at[j].place, found.at[i].place) != 0):
            j += 1
        if j < kept:
            found.at[j].blocks += found.at[i].blocks
            found.at[j].bytes += found.at[i].bytes
        else:
            found.at[kept] = found.at[i]
            kept += 1
    found.count = kept


cdef void tell_leak(const leak *l) noexcept nogil:
    """A line for each place."""
    cdef char text[700]
    cdef const char *kind = b"device memory"
    if l.use == MANAGED:
        kind = b"managed memory"
    elif l.use == HOST_MEMORY:
        kind = b"pinned host memory"
    if l.blocks == 1:
        snprintf(text, sizeof(text), b"%llu bytes of %s at 0x%llx are never freed: allocated at %s",
                 <unsigned long long>l.bytes, kind, <unsigned long long>l.address, l.place)
    else:
        snprintf(text, sizeof(text), b"%llu bytes of %s in %llu blocks are never freed: allocated at %s",
                 <unsigned long long>l.bytes, kind, <unsigned long long>l.blocks, l.place)
    fprintf(stderr, b"libcuda (gompy): warning: %s\n", text)
    tell_runtime(0, text)


cdef void tell_leaks(const void *owner) noexcept nogil:
    """A context ends, or (NULL) the program."""
    cdef leaks found
    cdef uint32_t i
    cdef int g
    if not checking_leaks or forked:
        return
    memset(&found, 0, sizeof(found))
    pthread_mutex_lock(&memory_lock)
    for g in range(gpu_count):
        collect_leaks(gpus[g].memory.root, owner, &found)
        collect_leaks(gpus[g].pinned.root, owner, &found)
    pthread_mutex_unlock(&memory_lock)
    join_leaks(&found)
    for i in range(found.count):
        tell_leak(&found.at[i])
    if found.more:
        fprintf(stderr, b"libcuda (gompy): warning: %llu more blocks, from other places, are never freed\n",
                <unsigned long long>found.more)
