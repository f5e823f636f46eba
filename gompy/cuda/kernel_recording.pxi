# `gompy record` of CUDA kernels: each one that is launched, with the device's memory before and after it, in a file
# (native/record_file.h).  What uses device memory is done one after another then, in whatever stream it is.
#
# Kernels that OpenMP's or OpenACC's runtime launches are none of this: the runtime records regions.

cdef extern from *:
    """
    #define GOMPY_RECORD_VOICE "libcuda (gompy)"
    static pthread_mutex_t gompy_places_lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_mutex_t gompy_turn_lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_mutex_t gompy_kernel_turn = PTHREAD_MUTEX_INITIALIZER;  /* who has it uses device memory */
    """
    pthread_mutex_t kernel_turn "gompy_kernel_turn"
    pthread_mutex_t turn_lock "gompy_turn_lock"
    pthread_mutex_t places_lock "gompy_places_lock"

cdef extern from "gompy/native/record_file.h" nogil:
    struct gompy_record_block:
        uintptr_t start
        size_t size
        int device
        int image
        uint64_t blob
        uint64_t hash
    pthread_mutex_t gompy_record_lock
    bint record_over "gompy_record.over"
    int record_pid "gompy_record.pid"
    uint64_t record_dropped "gompy_record.dropped"
    uint64_t gompy_record_number(const char *name)
    double gompy_record_seconds()
    bint gompy_record_open(const char *path)
    void gompy_record_close(uint64_t regions)
    void gompy_record_put(const char *format, ...)
    void gompy_record_string(const char *text)
    void gompy_record_end_line(const void *bytes, size_t n)
    bint gompy_record_has_room(uint64_t n)
    void gompy_record_stop(const char *why)
    long long gompy_record_contents(gompy_record_block *block, void *device,
                                    int (*peek)(void *, void *, uintptr_t, size_t) noexcept nogil)

cdef extern from "<pthread.h>" nogil:
    int pthread_mutex_timedlock(pthread_mutex_t *lock, const timespec *until)

cdef extern from "<errno.h>" nogil:
    int EEXIST

cdef extern from "<string.h>" nogil:
    char *strdup(const char *text)

cdef extern from "<sys/uio.h>" nogil:
    struct iovec:
        void *iov_base
        size_t iov_len
    ssize_t process_vm_readv(int pid, const iovec *to, unsigned long n, const iovec *of, unsigned long m,
                             unsigned long flags)

cdef enum:
    RECORD_KERNELS = 20        # bits of a function's word that are its number in its module
    BY_RUNTIME = 1             # in the place of an address in op.launched: OpenMP's or OpenACC's runtime launches it

cdef struct recorded_blocks:
    gompy_record_block *at
    char **names               # of variables; NULL: of a block
    size_t count, room

cdef int record_state          # 0 not looked at, 1 on, -1 off
cdef const char *record_only
cdef uint64_t record_first     # kernels that are wanted
cdef uint64_t recorded_kernels
cdef int recorded_modules
cdef double record_seconds
cdef recorded_blocks[MAX_GPUS] record_lasts  # of each device
cdef recorded_blocks *record_last   # of the one whose memory was recorded last
cdef uint64_t turns_given      # these four: guarded by turn_lock
cdef uint64_t turn_holder      # whose operation runs that has the turn; 0: none does, or its memory is being recorded
cdef uint64_t turn_disturbed   # beside which one others have used memory, as they had waited too long
cdef uint64_t turns_apart      # operations that run without the turn


cdef bint begin_kernel_recording() noexcept nogil:
    """GOMPY_RECORD_KERNELS=/file: make it."""
    global record_only, record_first, record_seconds
    cdef const char *path = secure_getenv(b"GOMPY_RECORD_KERNELS")
    if path == NULL or not path[0]:
        return False
    if path[0] != c'/':
        fprintf(stderr, b"libcuda (gompy): GOMPY_RECORD_KERNELS=%s: not an absolute path; nothing is recorded\n", path)
        return False
    if not gompy_record_open(path):
        if errno != EEXIST:  # another process of the program's records
            fprintf(stderr, b"libcuda (gompy): GOMPY_RECORD_KERNELS=%s: cannot be made: %s\n", path, strerror(errno))
        return False
    record_only = secure_getenv(b"GOMPY_RECORD_ONLY")
    record_first = gompy_record_number(b"GOMPY_RECORD_FIRST")
    record_seconds = gompy_record_seconds()
    return True


cdef inline bint recording_kernels() noexcept nogil:
    """Whether kernels are recorded: a module has been loaded, and it has begun."""
    return record_state > 0


cdef struct launch_place:
    uint64_t launched[2]
    char *text                 # "" where it has no line

cdef launch_place *launch_places
cdef size_t num_launch_places


cdef const char *known_place(const uint64_t *launched) noexcept nogil:
    """The text of a place of launches, which stays; NULL: not named yet."""
    cdef const char *text = NULL
    cdef size_t i
    pthread_mutex_lock(&places_lock)
    for i in range(num_launch_places):
        if launch_places[i].launched[0] == launched[0] and launch_places[i].launched[1] == launched[1]:
            text = launch_places[i].text
            break
    pthread_mutex_unlock(&places_lock)
    return text


cdef void note_launch(uint64_t *launched) noexcept nogil:
    """A kernel is launched while that is on: from where, and that place's name.  Without a lock of ours, and not in a
    stream's thread: it waits for the loader's, which a thread may have whose library's constructor waits for us."""
    global launch_places, num_launch_places
    cdef char place[600]
    cdef launch_place *more
    if find_callers(launched):
        launched[0] = BY_RUNTIME
        return
    if known_place(launched) != NULL:
        return
    name_caller(launched, place, sizeof(place))
    pthread_mutex_lock(&places_lock)
    more = <launch_place *>realloc(launch_places, (num_launch_places + 1) * sizeof(launch_place))
    if more != NULL:
        launch_places = more
        more[num_launch_places].text = strdup(pick_text(strchr(place, c':') != NULL, place, b""))
        memcpy(more[num_launch_places].launched, launched, sizeof(more[0].launched))
        num_launch_places += more[num_launch_places].text != NULL
    pthread_mutex_unlock(&places_lock)


# --- modules
# ---------------------------------------------------------------------------------------------------------------

cdef int peek_here(void *unused, void *to, uintptr_t start, size_t size) noexcept nogil:
    """Memory that another thread may free meanwhile: a call to the system, which fails then."""
    cdef iovec mine, theirs
    mine.iov_base, mine.iov_len = to, size
    theirs.iov_base, theirs.iov_len = <void *>start, size
    return process_vm_readv(getpid(), &mine, 1, &theirs, 1, 0) == <ssize_t>size


cdef void take_variables(block *n, module *m, uint64_t *table, char **names, size_t room, size_t *count) noexcept nogil:
    """A module's variables in a subtree: their addresses and ends, and names.  With memory_lock."""
    cdef uint64_t at = 0, bytes = 0
    while n != NULL:
        take_variables(n.left, m, table, names, room, count)
        if n.name != NULL and n.use in (VARIABLE, MANAGED) and count[0] < room and \
                ptx.find_variable(m.loaded, n.name, &at, &bytes) == CUDA_SUCCESS and at == n.start:
            table[2 * count[0]], table[2 * count[0] + 1] = n.start, n.start + n.length
            names[count[0]] = n.name
            count[0] += 1
        n = n.right


cdef void write_module(module *m, const void *image, size_t size, ptx_function **kernels, size_t num_kernels,
                       uint64_t *table, char **names, size_t num_names) noexcept nogil:
    """Its lines.  With the recording's lock."""
    cdef uint64_t word = <uint64_t>(m.recorded) << RECORD_KERNELS
    cdef size_t i
    gompy_record_put(b"{\"is\": \"image\", \"image\": %d, \"type\": 0, \"version\": 0, \"kind\": \"cuda\", "
                     b"\"variables\": [", m.recorded - 1)
    for i in range(num_names):
        gompy_record_put(pick_text(i != 0, b", ", b""))
        gompy_record_string(names[i])
    gompy_record_put(b"], \"functions\": [")
    for i in range(num_kernels):
        gompy_record_put(pick_text(i != 0, b", [", b"["))
        gompy_record_string(ptx.name(kernels[i]))
        gompy_record_put(b", 0, 0, 0]")
    gompy_record_put(b"], \"bytes\": %zu", size)
    gompy_record_end_line(image, size)
    gompy_record_put(b"{\"is\": \"loaded\", \"image\": %d, \"device\": %d, \"name\": \"nvptx\", \"functions\": %zu, "
                     b"\"table\": [", m.recorded - 1, m.of.device.ordinal, num_kernels)
    for i in range(num_kernels):
        gompy_record_put(b"%s[%llu, %llu]", pick_text(i != 0, b", ", b""), <unsigned long long>(word + i),
                         <unsigned long long>(word + i + 1))
    for i in range(num_names):
        gompy_record_put(b"%s[%llu, %llu]", pick_text(num_kernels + i != 0, b", ", b""),
                         <unsigned long long>table[2 * i], <unsigned long long>table[2 * i + 1])
    gompy_record_put(b"]")
    gompy_record_end_line(NULL, 0)


cdef void record_module(module *m, const void *image, size_t size) noexcept nogil:
    """A module has been loaded of PTX text or a linked image of so many bytes."""
    global record_state, recorded_modules
    cdef size_t num_kernels, num_names = 0, room
    cdef ptx_function **kernels
    cdef uint64_t *table
    cdef char **names
    pthread_mutex_lock(&gompy_record_lock)
    if record_state == 0:
        record_state = 1 if begin_kernel_recording() else -1
    if record_state > 0 and getpid() == record_pid and gompy_record_has_room(size + 4096):
        num_kernels = ptx.kernels(m.loaded, NULL, 0)
        room = m.of.device.memory.blocks_in_use
        kernels = <ptx_function **>calloc(num_kernels + 1, sizeof(ptx_function *))
        table = <uint64_t *>calloc(2 * room + 2, sizeof(uint64_t))
        names = <char **>calloc(room + 1, sizeof(char *))
        if kernels == NULL or table == NULL or names == NULL:
            gompy_record_stop(b"out of memory")
        else:
            ptx.kernels(m.loaded, kernels, num_kernels)
            pthread_mutex_lock(&memory_lock)
            take_variables(m.of.device.memory.root, m, table, names, room, &num_names)
            pthread_mutex_unlock(&memory_lock)
            recorded_modules += 1
            m.recorded = recorded_modules
            write_module(m, image, size, kernels, num_kernels, table, names, num_names)
        free(kernels)
        free(table)
        free(names)
    pthread_mutex_unlock(&gompy_record_lock)


cdef void record_unload(const module *m) noexcept nogil:
    """A module goes, before others get the addresses of its variables."""
    pthread_mutex_lock(&gompy_record_lock)
    if m.recorded and not record_over and getpid() == record_pid:
        gompy_record_put(b"{\"is\": \"unloaded\", \"image\": %d, \"device\": %d", m.recorded - 1,
                         m.of.device.ordinal)
        gompy_record_end_line(NULL, 0)
    pthread_mutex_unlock(&gompy_record_lock)


# --- memory
# ----------------------------------------------------------------------------------------------------------------

cdef bint is_contents(uint32_t use) noexcept nogil:
    """Whether a block has what kernels read and write."""
    return use in (ALLOCATION, VARIABLE, MANAGED, HOST_MEMORY, TEXTURE, SURFACE, OPENED, GRAPH_MEMORY, MAPPED)


cdef void take_blocks(context *c, gpu *g, block *n, recorded_blocks *to) noexcept nogil:
    """Those of a device's subtree that a context's kernels use, in the order of addresses.  With memory_lock."""
    cdef gompy_record_block *more
    cdef char **names
    while n != NULL:
        take_blocks(c, g, n.left, to)
        if is_contents(n.use) and n.length and (g == c.device or may_use(c, g, n)):
            if to.count == to.room:
                more = <gompy_record_block *>realloc(to.at, (2 * to.room + 64) * sizeof(gompy_record_block))
                if more != NULL:
                    to.at = more
                names = <char **>realloc(to.names, (2 * to.room + 64) * sizeof(char *))
                if names != NULL:
                    to.names = names
                if more == NULL or names == NULL:
                    gompy_record_stop(b"out of memory")
                    return
                to.room = 2 * to.room + 64
            memset(&to.at[to.count], 0, sizeof(gompy_record_block))
            to.at[to.count].start, to.at[to.count].size = n.start, n.length
            to.names[to.count] = strdup(n.name) if n.name != NULL else NULL
            to.count += 1
        n = n.right


cdef void drop_blocks(recorded_blocks *of) noexcept nogil:
    cdef size_t i
    for i in range(of.count):
        free(of.names[i])
    free(of.at)
    free(of.names)


cdef bint record_memory(context *c) noexcept nogil:
    """Have all memory that a context's kernels use in the file, and in the line where.  False: there is no room."""
    global record_last
    cdef gpu *g
    cdef recorded_blocks now
    cdef long long *blobs
    cdef size_t i, k = 0
    memset(&now, 0, sizeof(now))
    record_last = &record_lasts[c.device.ordinal]
    pthread_mutex_lock(&memory_lock)
    for i in range(<size_t>gpu_count):
        g = &gpus[i]
        take_blocks(c, g, g.memory.root, &now)
        take_blocks(c, g, g.pinned.root, &now)
        take_blocks(c, g, g.virtual.root, &now)
    pthread_mutex_unlock(&memory_lock)
    blobs = <long long *>malloc((now.count + 1) * sizeof(long long))
    if blobs == NULL:
        gompy_record_stop(b"out of memory")
    for i in range(now.count if blobs != NULL else 0):
        while k < record_last.count and record_last.at[k].start < now.at[i].start:
            k += 1
        if k < record_last.count and record_last.at[k].start == now.at[i].start \
                and record_last.at[k].size == now.at[i].size:
            now.at[i].blob, now.at[i].hash = record_last.at[k].blob, record_last.at[k].hash
        blobs[i] = gompy_record_contents(&now.at[i], NULL, peek_here)
    drop_blocks(record_last)
    record_last[0] = now
    if not record_over:
        gompy_record_put(b"{\"memory\": [")
        for i in range(now.count):
            gompy_record_put(b"%s[%llu, %llu, %lld]", pick_text(i != 0, b", ", b""),
                             <unsigned long long>now.at[i].start, <unsigned long long>now.at[i].size, blobs[i])
        gompy_record_put(b"], ")
    free(blobs)
    return not record_over


# --- kernels
# ---------------------------------------------------------------------------------------------------------------

cdef uint64_t word_of_kernel(function *f) noexcept nogil:
    """What stands for it in the file, 0: its module is not there."""
    cdef size_t i, count = ptx.kernels(f.of.loaded, NULL, 0)
    cdef ptx_function **kernels = <ptx_function **>calloc(count + 1, sizeof(ptx_function *))
    cdef uint64_t word = 0
    if kernels != NULL and f.of.recorded:
        ptx.kernels(f.of.loaded, kernels, count)
        for i in range(count):
            if kernels[i] == f.code:
                word = (<uint64_t>f.of.recorded << RECORD_KERNELS) + i
    free(kernels)
    return word


cdef void record_objects() noexcept nogil:
    """Variables, which have names."""
    cdef size_t i
    cdef bint some = False
    gompy_record_put(b", \"objects\": [")
    for i in range(record_last.count):
        if record_last.names[i] != NULL:
            gompy_record_put(b"%s[%llu, %llu, %llu]", pick_text(some, b", ", b""),
                             <unsigned long long>record_last.at[i].start, <unsigned long long>record_last.at[i].size,
                             <unsigned long long>record_last.at[i].start)
            some = True
    gompy_record_put(b"]")


cdef void record_names(const op *o) noexcept nogil:
    """Where the kernel is launched, and these names."""
    cdef size_t i
    cdef bint some = False
    gompy_record_put(b"{\"is\": \"names\", \"bytes\": 0, \"region\": %llu, \"place\": ",
                     <unsigned long long>recorded_kernels)
    gompy_record_string(known_place(o.launched) if o.launched[0] else NULL)
    gompy_record_put(b", \"names\": [")
    for i in range(record_last.count):
        if record_last.names[i] != NULL:
            gompy_record_put(b"%s[%llu, ", pick_text(some, b", ", b""), <unsigned long long>record_last.at[i].start)
            gompy_record_string(record_last.names[i])
            gompy_record_put(b", 0, 0, \"\"]")
            some = True
    gompy_record_put(b"]")
    gompy_record_end_line(NULL, 0)


cdef uint64_t kernel_begins(const op *o) noexcept nogil:
    """Before a kernel that has the turn: 1 and its number in the file, or 0 if it is not recorded."""
    global recorded_kernels
    cdef function *f = o.kernel
    cdef const ptx_launch_config *config = &o.config
    cdef uint64_t word, value
    cdef size_t i, done = 0
    if record_over or recorded_kernels - record_dropped >= record_first or getpid() != record_pid or \
            (record_only != NULL and strstr(f.name, record_only) == NULL):
        return 0
    word = word_of_kernel(f)
    if word == 0 or not record_memory(f.of.of):
        return 0
    gompy_record_put(b"\"is\": \"region\", \"region\": %llu, \"device\": %d, \"name\": \"nvptx\", \"function\": ",
                     <unsigned long long>recorded_kernels, f.of.of.device.ordinal)
    gompy_record_string(f.name)
    gompy_record_put(b", \"word\": %llu, \"host\": 0, \"what\": \"%s\", \"at\": \"\", \"teams\": 0, \"arguments\": 0, "
                     b"\"words\": [", <unsigned long long>word,
                     pick_text(config.together, b"cooperative kernel", b"kernel"))
    while done < config.params_size:
        value = 0
        i = min(sizeof(value), config.params_size - done)
        memcpy(&value, <const char *>config.params + done, i)
        gompy_record_put(b"%s%llu", pick_text(done != 0, b", ", b""), <unsigned long long>value)
        done += i
    gompy_record_put(b"], \"limits\": [], \"shape\": [0, 0, 0, %u, %u, %u, %u, %u, %u, %u, %zu], \"maps\": []",
                     <unsigned>config.shared_bytes, config.grid[0], config.grid[1], config.grid[2], config.block[0],
                     config.block[1], config.block[2], <size_t>config.params_size)
    record_objects()
    gompy_record_end_line(NULL, 0)
    record_names(o)
    recorded_kernels += 1
    return recorded_kernels


cdef void kernel_ends(const op *o, uint64_t number, bint disturbed, int r) noexcept nogil:
    """After it; one that has failed did not end."""
    global record_dropped
    if record_over or r != CUDA_SUCCESS:
        return
    if not disturbed and not record_memory(o.kernel.of.of):
        return
    if disturbed:
        record_dropped += 1
        gompy_record_put(b"{\"is\": \"dropped\", \"region\": %llu", <unsigned long long>(number - 1))
        fprintf(stderr, b"libcuda (gompy): kernel %s is not recorded: others have waited for its end for %g s, and it "
                b"may wait for them (gompy record --wait)\n", o.kernel.name, record_seconds)
    else:
        gompy_record_put(b"\"is\": \"after\", \"region\": %llu", <unsigned long long>(number - 1))
    gompy_record_end_line(NULL, 0)


cdef bint take_turn() noexcept nogil:
    """Wait until nothing else uses device memory.  False: one operation has run too long for that; this one goes on
    beside it, and what it has beside it is not recorded (leave_apart)."""
    global turn_disturbed, turns_apart
    cdef timespec until
    cdef uint64_t holder
    cdef bint apart = False
    while pthread_mutex_trylock(&kernel_turn) != 0:
        pthread_mutex_lock(&turn_lock)
        holder = turn_holder
        apart = holder != 0 and turn_disturbed == holder
        turns_apart += apart
        pthread_mutex_unlock(&turn_lock)
        if apart:
            return False
        clock_gettime(CLOCK_REALTIME, &until)
        add_time(&until, <uint64_t>(record_seconds * 1e9))
        if pthread_mutex_timedlock(&kernel_turn, &until) == 0:
            return True
        pthread_mutex_lock(&turn_lock)
        if holder != 0 and turn_holder == holder:  # all that time the same operation, and no recording
            turn_disturbed = holder
            turns_apart += 1
            apart = True
        pthread_mutex_unlock(&turn_lock)
        if apart:
            return False
    return True


cdef void leave_apart() noexcept nogil:
    """An operation that had no turn has ended."""
    global turns_apart
    pthread_mutex_lock(&turn_lock)
    turns_apart -= 1
    pthread_mutex_unlock(&turn_lock)


cdef uint64_t begin_recorded(const op *o) noexcept nogil:
    """The turn has been taken: record what is before a kernel, unless something is beside it."""
    global turn_holder, turns_given
    cdef uint64_t number = 0
    cdef bint alone
    pthread_mutex_lock(&turn_lock)
    alone = turns_apart == 0  # and stays so until there is a holder
    pthread_mutex_unlock(&turn_lock)
    if alone and o.kind == LAUNCH_OP:
        pthread_mutex_lock(&gompy_record_lock)
        number = kernel_begins(o)
        pthread_mutex_unlock(&gompy_record_lock)
    pthread_mutex_lock(&turn_lock)
    turns_given += 1
    turn_holder = turns_given
    pthread_mutex_unlock(&turn_lock)
    return number


cdef void end_recorded(const op *o, uint64_t number, int r) noexcept nogil:
    """Record what is behind it, and give the turn."""
    global turn_holder
    cdef bint disturbed
    pthread_mutex_lock(&turn_lock)
    disturbed = turn_disturbed == turn_holder
    turn_holder = 0
    pthread_mutex_unlock(&turn_lock)
    if number:
        pthread_mutex_lock(&gompy_record_lock)
        kernel_ends(o, number, disturbed, r)
        pthread_mutex_unlock(&gompy_record_lock)
    pthread_mutex_unlock(&kernel_turn)


cdef void end_kernel_recording() noexcept nogil:
    """The program ends."""
    if not recording_kernels() or getpid() != record_pid:
        return
    gompy_record_close(recorded_kernels)
