# The processes that use emulated GPUs: those that have libcuda.so.1 of gompy's in memory.  They notice nothing of it.
#
# A process's memory can be read by its own user and by root; Linux's Yama may forbid it to all but its parents
# (kernel.yama.ptrace_scope = 1).  Such a process is listed, and what it uses is not known.

cdef enum:
    MAX_PROCESSES = 512
    MAX_STREAMS = 4096
    MAX_LIBRARIES = 16
    MAX_RECORD = 1024          # bytes of a stream's structure

cdef struct process:
    int pid
    bint hidden                # it is there, but its memory cannot be read
    uint64_t words[CUDA_STATUS_WORDS]

cdef struct known_library:
    uint64_t device, inode     # of the file, as /proc/PID/maps has them
    uint64_t offset            # of gompy_cuda_status, 0: it has none

cdef struct usage:             # of one device, by one process
    bint uses                  # it has a context there
    bint launching, copying    # now
    uint64_t bytes

# All guarded by nvml_lock.
cdef process processes[MAX_PROCESSES]
cdef int process_count
cdef known_library libraries[MAX_LIBRARIES]
cdef int library_count


cdef uint64_t status_offset(uint64_t device, uint64_t inode, const char *path) noexcept nogil:
    """Where a library has gompy_cuda_status; 0: it is not gompy's."""
    global library_count
    cdef known_library *l
    cdef int i
    for i in range(library_count):
        if libraries[i].device == device and libraries[i].inode == inode:
            return libraries[i].offset
    if library_count == MAX_LIBRARIES:
        library_count = 0
    l = &libraries[library_count]
    library_count += 1
    l.device, l.inode = device, inode
    l.offset = elf_symbol(path, b"gompy_cuda_status")
    return l.offset


cdef uint64_t status_address(FILE *maps) noexcept nogil:
    """The address of a process's table, by the lines of its maps: the lowest mapping of the library; 0: there is
    none."""
    cdef char *line = NULL
    cdef char *path
    cdef char *name
    cdef size_t room = 0
    cdef unsigned long long start, end, offset, inode
    cdef unsigned major, minor
    cdef uint64_t found = 0
    while found == 0 and getline(&line, &room, maps) > 0:
        path = strchr(line, 47)
        name = strrchr(line, 47)
        if path == NULL or strncmp(name, b"/libcuda.so", 11) != 0:
            continue
        if sscanf(line, b"%llx-%llx %*s %llx %x:%x %llu", &start, &end, &offset, &major, &minor,
                  &inode) != 6 or offset != 0:
            continue
        path[strlen(path) - 1] = 0  # its newline
        found = status_offset(<uint64_t>major << 32 | minor, inode, path)
        if found:
            found += start
    free(line)
    return found


cdef void look_at(int pid) noexcept nogil:
    """Take a process into the list if it uses an emulated GPU's driver."""
    global process_count
    cdef char path[64]
    cdef process *p = &processes[process_count]
    cdef FILE *maps
    cdef uint64_t address
    snprintf(path, sizeof(path), b"/proc/%d/maps", pid)
    maps = gompy_fopen(path)
    if maps == NULL:
        return
    address = status_address(maps)
    fclose(maps)
    if address == 0:
        return
    p.pid = pid
    p.hidden = False
    if not read_process(pid, address, p.words, sizeof(p.words)):
        if errno != EPERM:
            return
        p.hidden = True
    elif p.words[CUDA_STATUS_MAGIC_WORD] != CUDA_STATUS_MAGIC:
        return  # before cuInit
    process_count += 1


cdef void find_processes() noexcept nogil:
    """Renew the list of processes.  With nvml_lock held."""
    global process_count
    cdef DIR *folder
    cdef dirent *entry
    cdef char *end
    cdef long pid
    process_count = 0
    folder = gompy_opendir(b"/proc")
    if folder == NULL:
        return
    while process_count < MAX_PROCESSES:
        entry = readdir(folder)
        if entry == NULL:
            break
        pid = strtol(entry.d_name, &end, 10)
        if pid > 0 and end[0] == 0:
            look_at(<int>pid)
    closedir(folder)


cdef inline uint64_t word_at(const char *record, uint64_t offset) noexcept nogil:
    """A word of a structure that was read."""
    cdef uint64_t word = 0
    if offset <= MAX_RECORD - sizeof(uint64_t):
        memcpy(&word, record + offset, sizeof(word))
    return word


cdef void look_at_streams(process *p, usage *to) noexcept nogil:
    """What the streams of a process do now on each device.  The process goes on meanwhile: what is read may be gone by
    then, so nothing is followed that does not make sense."""
    cdef char record[MAX_RECORD]
    cdef uint64_t *w = p.words
    cdef uint64_t stream = 0, device = 0, first, number
    cdef int i
    cdef uint32_t kind = 0
    if w[CUDA_STATUS_STREAM_SIZE] > MAX_RECORD or w[CUDA_STATUS_GPU_SIZE] == 0:
        return
    read_process(p.pid, w[CUDA_STATUS_STREAMS], &stream, sizeof(stream))
    for i in range(MAX_STREAMS):
        if stream == 0 or not read_process(p.pid, stream, record, w[CUDA_STATUS_STREAM_SIZE]):
            return
        stream = word_at(record, w[CUDA_STATUS_STREAM_NEXT])
        if not read_process(p.pid, word_at(record, w[CUDA_STATUS_STREAM_CONTEXT]) + w[CUDA_STATUS_CONTEXT_DEVICE],
                            &device, sizeof(device)):
            continue
        number = (device - w[CUDA_STATUS_GPUS]) / w[CUDA_STATUS_GPU_SIZE]
        if number >= MAX_DEVICES:
            continue
        to[number].uses = True
        first = word_at(record, w[CUDA_STATUS_STREAM_FIRST])
        if <uint32_t>word_at(record, w[CUDA_STATUS_STREAM_RUNNING]) and first and \
                read_process(p.pid, first + w[CUDA_STATUS_OP_KIND], &kind, sizeof(kind)):
            to[number].launching |= kind == w[CUDA_STATUS_KIND_LAUNCH]
            to[number].copying |= kind in (w[CUDA_STATUS_KIND_COPY], w[CUDA_STATUS_KIND_FILL])


cdef void look_at_memory(process *p, usage *to) noexcept nogil:
    """How much memory a process has taken of each device that it uses."""
    cdef uint64_t *w = p.words
    cdef uint64_t at, memory, heap
    cdef int i
    for i in range(MAX_DEVICES):
        if not to[i].uses:
            continue
        at = w[CUDA_STATUS_GPUS] + i * w[CUDA_STATUS_GPU_SIZE]
        memory = heap = 0
        read_process(p.pid, at + w[CUDA_STATUS_GPU_MEMORY], &memory, sizeof(memory))
        read_process(p.pid, at + w[CUDA_STATUS_GPU_HEAP], &heap, sizeof(heap))
        to[i].bytes = memory + heap
