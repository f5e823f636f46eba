# The cache of compiled code: $XDG_CACHE_HOME/gompy/ptx/<compiler>-<cpu>/<hash of the text>.<form>.  Files are written
# by gompy/ptx/build.py and appear complete (rename); a damaged one is removed and made again.
#
# Code that anybody but the user (or root) could have put there is never run: folders and files are looked at after they
# have been opened, and each is opened below the one before.  Where there is no such folder, or nothing can be written
# into it, what the compiler makes stays in the program's memory (`kept`).
#
# Files are read, not mapped: one that is cut meanwhile would end the program (SIGBUS), and what runs is what has been
# looked at.
#
# Before it comes what the installation has compiled ahead, gompy/_native/ptx/<compiler>-<cpu>: it is only read
# (mkoffload/nvptx_ahead.py).

cdef struct text_buffer:
    char *data
    size_t size
    size_t used

cdef struct cache:
    int folder                          # descriptor, or -1
    int shipped                         # of what the installation has compiled ahead, or -1
    char leaf[176]                      # the folder's name

cdef struct kept_file:                  # a cache file in memory only
    kept_file *next
    const char *name
    file_head *head                     # of a text: the text itself
    size_t size

cdef kept_file *kept
cdef pthread_mutex_t kept_lock          # zero: PTHREAD_MUTEX_INITIALIZER


cdef void log_text(text_buffer *log, const char *text) noexcept nogil:
    """Append to the log; what does not fit is cut."""
    cdef size_t length = strlen(text)
    if log.data == NULL or log.size == 0:
        return
    if length > log.size - 1 - log.used:
        length = log.size - 1 - log.used
    memcpy(log.data + log.used, text, length)
    log.used += length
    log.data[log.used] = 0


cdef void open_shipped(cache *c) noexcept nogil:
    """The installation's own folder of compiled code, if there is one that can be trusted."""
    cdef char below[200]
    cdef char path[4096]
    cdef stat_t status
    c.shipped = -1
    snprintf(below, sizeof(below), "_native/ptx/%s", c.leaf)
    if gompy_own_path(path, sizeof(path), below) == 0:
        c.shipped = gompy_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)
    if c.shipped >= 0 and (fstat(c.shipped, &status) != 0 or not gompy_is_ours(&status)):
        close(c.shipped)
        c.shipped = -1


cdef void open_cache(cache *c) noexcept nogil:
    """The folder of this compiler's and CPU's files.  Closed by close_cache."""
    cdef char cpu[128]
    cdef const char *other = secure_getenv("GOMPY_PTX_CPU")
    cdef const char *plain = secure_getenv("GOMPY_PTX_PLAIN")
    gompy_cpu(cpu, sizeof(cpu))
    if other != NULL and other[0] and strchr(other, b"/") == NULL:
        snprintf(cpu, sizeof(cpu), "%s", other)
    cdef const char *debug = secure_getenv("GOMPY_CUDA_DEBUG")
    snprintf(c.leaf, sizeof(c.leaf), "%.16s-%s%s%s%s", GOMPY_PTX_IDENTITY, cpu,
             <const char *> (b"-plain" if plain != NULL and plain[0] else b""),
             <const char *> (b"-debug" if debug != NULL and debug[0] else b""),
             <const char *> (b"-registers" if debug != NULL and debug[0] == c"2" and not debug[1] else b""))
    c.folder = -1
    open_shipped(c)
    c.folder = gompy_cache_folder("ptx", False)
    if c.folder >= 0:
        c.folder = gompy_own_folder(c.folder, c.leaf, True)


cdef void close_cache(cache *c) noexcept nogil:
    """The program may close or count its descriptors: none stays open."""
    if c.folder >= 0:
        close(c.folder)
    if c.shipped >= 0:
        close(c.shipped)
    c.folder = c.shipped = -1


cdef kept_file *find_kept(const char *name) noexcept nogil:
    """A file that is in memory only, or NULL."""
    cdef kept_file *k
    pthread_mutex_lock(&kept_lock)
    k = kept
    pthread_mutex_unlock(&kept_lock)
    while k != NULL and strcmp(k.name, name) != 0:
        k = k.next
    return k


cdef bint keep_file(const char *name, file_head *head, size_t size) noexcept nogil:
    """Keep a file's contents, which stay where they are, for this process."""
    global kept
    cdef kept_file *k = <kept_file *> malloc(sizeof(kept_file) + strlen(name) + 1)
    if k == NULL:
        return False
    memcpy(<char *> (k + 1), name, strlen(name) + 1)
    k.name, k.head, k.size = <char *> (k + 1), head, size
    pthread_mutex_lock(&kept_lock)
    k.next = kept
    kept = k
    pthread_mutex_unlock(&kept_lock)
    return True


cdef bint is_whole(const cache *c, const char *name, const file_head *head, size_t size, uint32_t kind) noexcept nogil:
    """Whether a file is what its name says, made by this compiler, and undamaged."""
    cdef char subject[512]
    cdef uint8_t digest[GOMPY_DIGEST]
    cdef uint64_t check[2]
    cdef int i
    if size < sizeof(file_head) or memcmp(head.magic, GOMPY_MAGIC,
                                          sizeof(head.magic)) != 0 or head.size != size or head.kind != kind:
        return False
    if head.sections != SECTION_COUNT:
        return False
    snprintf(subject, sizeof(subject), "%s %s %s", GOMPY_PTX_IDENTITY, c.leaf, name)
    gompy_blake(subject, strlen(subject), digest)
    if memcmp(digest, head.subject, sizeof(digest)) != 0:
        return False
    gompy_content(<const char *> head + HASHED_FROM, size - HASHED_FROM, check)
    if memcmp(check, head.check, sizeof(check)) != 0:
        return False
    for i in range(SECTION_COUNT):
        if head.section[i].offset > size or head.section[i].bytes > size - head.section[i].offset:
            return False
    return True


cdef bint read_all(int fd, char *data, size_t size) noexcept nogil:
    """Read so many bytes from the beginning; False if there are fewer."""
    cdef size_t have = 0
    cdef ssize_t count
    while have < size:
        count = pread(fd, data + have, size - have, have)
        if count < 0 and gompy_not_ready():
            continue
        if count <= 0:
            return False
        have += count
    return True


cdef file_head *read_below(const cache *c, int folder, const char *name, uint32_t kind) noexcept nogil:
    """A file of one of the folders in memory; NULL if it is not there, or not whole.  From the user's such a file is
    removed."""
    cdef stat_t status
    cdef char *memory = NULL
    cdef bint good = False
    cdef int fd = gompy_openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0)
    if fd < 0:
        if gompy_is_link() and folder != c.shipped:
            unlinkat(folder, name, 0)
        return NULL
    if (fstat(fd, &status) == 0 and gompy_is_regular(&status) and gompy_is_ours(&status)
            and <size_t> status.st_size >= sizeof(file_head)):
        memory = <char *> malloc(status.st_size)
        if memory == NULL:
            close(fd)
            return NULL
        good = read_all(fd, memory, status.st_size) and is_whole(c, name, <file_head *> memory, status.st_size, kind)
    if not good:
        free(memory)
        close(fd)
        if folder != c.shipped:
            unlinkat(folder, name, 0)
        return NULL
    if kind == KIND_INDEX and folder != c.shipped:
        futimens(fd, NULL)  # the object is in use: build.py removes those that have not been for longest
    close(fd)
    return <file_head *> memory


cdef file_head *read_file(const cache *c, const char *name, uint32_t kind) noexcept nogil:
    """A cache file in memory, or NULL if there is none that is whole.  For drop_file."""
    cdef kept_file *k = find_kept(name)
    cdef file_head *head = NULL
    if k != NULL:
        return k.head if k.head.kind == kind else NULL
    if c.shipped >= 0:
        head = read_below(c, c.shipped, name, kind)
    if head == NULL and c.folder >= 0:
        head = read_below(c, c.folder, name, kind)
    return head


cdef void drop_file(file_head *head) noexcept nogil:
    """A file that was read is no longer needed; those that are in memory only stay."""
    cdef kept_file *k
    pthread_mutex_lock(&kept_lock)
    k = kept
    pthread_mutex_unlock(&kept_lock)
    while k != NULL and k.head != head:
        k = k.next
    if k == NULL:
        free(head)


cdef bint is_below(int folder, const char *name, size_t size) noexcept nogil:
    """has_file, for one folder (-1: none)."""
    cdef stat_t status
    return (
        folder >= 0 and fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 and gompy_is_regular(&status)
        and gompy_is_ours(&status) and (size == 0 or <size_t> status.st_size == size)
    )


cdef bint has_file(const cache *c, const char *name, size_t size) noexcept nogil:
    """Whether there is a file of that name, of SIZE bytes if that is not 0; whether it is whole is seen when it is
    read."""
    return find_kept(name) != NULL or is_below(c.shipped, name, size) or is_below(c.folder, name, size)


cdef bint write_all(int fd, const char *data, size_t size) noexcept nogil:
    """Write, in as many pieces as it takes."""
    cdef ssize_t count
    while size:
        count = gompy_write(fd, data, size)
        if count < 0 and gompy_not_ready():
            continue
        if count <= 0:
            return False
        data += count
        size -= count
    return True


cdef bint keep_text(const char *name, const char *text, size_t size) noexcept nogil:
    """Keep a copy of a text for this process.  False: there is no memory."""
    cdef char *copy = <char *> malloc(size + 1)
    if copy == NULL:
        return False
    memcpy(copy, text, size)
    if keep_file(name, <file_head *> copy, size):
        return True
    free(copy)
    return False


cdef bint write_text(const cache *c, const char *name, const char *text, size_t size) noexcept nogil:
    """A text as a cache file, complete or not at all; in memory if it cannot be written.  False: there is no memory."""
    cdef char part[256]
    cdef uint64_t number = 0
    cdef int fd = -1
    cdef bint good
    if c.folder >= 0:
        getrandom(&number, sizeof(number), 0)
        snprintf(part, sizeof(part), ".%s.%016llx", name, <unsigned long long> number)
        fd = gompy_openat(c.folder, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    if fd >= 0:
        good = fchmod(fd, 0o600) == 0 and write_all(fd, text, size)
        if close(fd) == 0 and good and renameat(c.folder, part, c.folder, name) == 0:
            return True
        unlinkat(c.folder, part, 0)
    return keep_text(name, text, size)


cdef inline char *section_of(file_head *head, int number) noexcept nogil:
    """A section's bytes."""
    return <char *> head + head.section[number].offset


cdef inline const char *string_of(file_head *head, uint32_t offset) noexcept nogil:
    """A string of a file's table."""
    return <const char *> head + head.section[SECTION_STRINGS].offset + offset


cdef inline int code_kind(const ptx_image *image) noexcept nogil:
    """CODE_…, of what is looked for."""
    if image.check & PTX_CHECK_RACE:
        return CODE_RACING if image.check == PTX_CHECK_RACE else CODE_BOTH
    return CODE_CHECKED if image.check else CODE_PLAIN


cdef void function_file(char *name, size_t size, const char *key, int form, const char *function,
                        int kind) noexcept nogil:
    """The name of a cache file: of one function if it is named and not compiled with all others of its object
    (build.py)."""
    cdef uint8_t digest[GOMPY_DIGEST]
    cdef const char *letters = gompy_form_letters[kind]
    cdef uint64_t first, second
    if form == FORM_V or form == FORM_W or (form == FORM_S and function[0]):
        gompy_blake(function, strlen(function), digest)
        memcpy(&first, digest, 8)
        memcpy(&second, digest + 8, 8)
        snprintf(name, size, "%s.%c.%016llx%016llx", key, <int> letters[form], <unsigned long long> first,
                 <unsigned long long> second)
    else:
        snprintf(name, size, "%s.%c", key, <int> letters[form])
