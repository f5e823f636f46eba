# The cache of compiled code: $XDG_CACHE_HOME/gompy/ptx/<abi>-<cpu>/<hash of the text>.<form>.  Files are written by
# gompy/ptx/build.py and appear complete (rename); a damaged one is removed and made again.

cdef struct text_buffer:
    char *data
    size_t size
    size_t used

cdef void say(text_buffer *log, const char *text) noexcept nogil:
    """Append to the log; what does not fit is cut."""
    cdef size_t length = strlen(text)
    if log.data == NULL or log.size == 0:
        return
    if length > log.size - 1 - log.used:
        length = log.size - 1 - log.used
    memcpy(log.data + log.used, text, length)
    log.used += length
    log.data[log.used] = 0


cdef bint make_folders(char *path) noexcept nogil:
    """mkdir -p."""
    cdef char *at = path + 1
    while at[0]:
        if at[0] == b"/":
            at[0] = 0
            mkdir(path, 0o777)
            at[0] = b"/"
        at += 1
    mkdir(path, 0o777)
    return eaccess(path, 2) == 0


cdef int cache_folder(char *path, size_t size, text_buffer *log) noexcept nogil:
    """The folder of this CPU's files, made if it is not there."""
    cdef char cpu[128]
    cdef const char *home = secure_getenv("XDG_CACHE_HOME")
    cdef const char *other = secure_getenv("GOMPY_PTX_CPU")
    gompy_cpu(cpu, sizeof(cpu))
    if other != NULL and other[0] and strchr(other, b"/") == NULL:
        snprintf(cpu, sizeof(cpu), "%s", other)
    if home != NULL and home[0] == b"/":
        snprintf(path, size, "%s/gompy/ptx/%d-%s", home, <int> CACHE_ABI, cpu)
    else:
        home = secure_getenv("HOME")
        if home == NULL or home[0] != b"/":
            home = "/tmp"
        snprintf(path, size, "%s/.cache/gompy/ptx/%d-%s", home, <int> CACHE_ABI, cpu)
    if not make_folders(path):
        say(log, "error: the folder for compiled PTX cannot be written: ")
        say(log, path)
        say(log, " (set XDG_CACHE_HOME)\n")
        return PTX_ERROR_JIT_COMPILER_NOT_FOUND
    return 0


cdef file_head *map_file(const char *path, uint32_t kind) noexcept nogil:
    """A cache file in memory (read-only), or NULL if there is none that is whole."""
    cdef stat_t status
    cdef file_head *head
    cdef void *memory
    cdef int fd = gompy_open(path, O_RDONLY, 0), i
    cdef bint good
    if fd < 0:
        return NULL
    if fstat(fd, &status) != 0 or <size_t> status.st_size < sizeof(file_head):
        close(fd)
        unlink(path)
        return NULL
    memory = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
    if kind == KIND_INDEX:
        futimens(fd, NULL)  # the object is in use: build.py removes those that have not been for longest
    close(fd)
    if gompy_is_map_failed(memory):
        return NULL
    head = <file_head *> memory
    good = memcmp(head.magic, b"GOMPYPTX", 8) == 0 and head.abi == CACHE_ABI and head.kind == kind
    good = good and head.sections == SECTION_COUNT and head.size == <uint64_t> status.st_size
    good = good and gompy_check(<char *> memory + 40, head.size - 40) == head.check
    if good:
        for i in range(SECTION_COUNT):
            if head.section[i].offset + head.section[i].bytes > head.size:
                good = False
    if not good:
        munmap(memory, status.st_size)
        unlink(path)
        return NULL
    return head


cdef inline char *section_of(file_head *head, int number) noexcept nogil:
    """A section's bytes."""
    return <char *> head + head.section[number].offset


cdef inline const char *string_of(file_head *head, uint32_t offset) noexcept nogil:
    """A string of a file's table."""
    return <const char *> head + head.section[SECTION_STRINGS].offset + offset


cdef const char *own_python(const char *program, char *path, size_t size) noexcept nogil:
    """The Python that the compiler at this path is to be run by, as a path or a name for PATH."""
    cdef char root[4096]
    snprintf(root, sizeof(root), "%.*s", <int> (strlen(program) - strlen("/gompy/ptx/__main__.py")), program)
    gompy_python_of(root, path, size)
    return path


cdef int run_compiler(const char *folder, const char *requests, size_t size, text_buffer *log) noexcept nogil:
    """Start the compiler with these requests and wait.  Its diagnostics go to the log."""
    cdef char program[4096]
    cdef char found[4096]
    cdef char manifest[4200]
    cdef char text[2048]
    cdef char *arguments[8]
    cdef posix_spawn_file_actions_t actions
    cdef int out[2]
    cdef int child = 0, status = 0, fd, failed, i, kept
    cdef ssize_t count
    cdef const char *python = secure_getenv("GOMPY_PYTHON")
    cdef char **given = gompy_child_environ()
    cdef char **clean
    if gompy_compiler_path(program, sizeof(program)) != 0:
        say(log, "error: the PTX compiler (gompy/ptx) is not beside this library\n")
        return PTX_ERROR_JIT_COMPILER_NOT_FOUND
    if python == NULL or python[0] == 0:
        python = own_python(program, found, sizeof(found))
    snprintf(manifest, sizeof(manifest), "%s/.requests.%d", folder, getpid())
    fd = gompy_open(manifest, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    if fd < 0 or write(fd, requests, size) != <ssize_t> size:
        say(log, "error: cannot write to the folder for compiled PTX\n")
        if fd >= 0:
            close(fd)
        return PTX_ERROR_JIT_COMPILER_NOT_FOUND
    close(fd)
    if gompy_pipe(out) != 0:
        return PTX_ERROR_OUT_OF_MEMORY
    arguments[0], arguments[1], arguments[2] = <char *> python, b"-I", b"-S"
    arguments[3], arguments[4], arguments[5], arguments[6] = program, b"fill", <char *> folder, NULL
    # Nothing of the program's environment that concerns libraries or threads gets into the compiler.
    i = kept = 0
    while given[i] != NULL:
        i += 1
    clean = <char **> malloc((i + 1) * sizeof(char *))
    i = 0
    while given[i] != NULL:
        if memcmp(given[i], b"LD_", 3) != 0 and memcmp(given[i], b"OMP_", 4) != 0 and memcmp(given[i], b"PYTHON", 6) != 0:
            clean[kept] = given[i]
            kept += 1
        i += 1
    clean[kept] = NULL
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_addopen(&actions, 0, manifest, O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, out[1], 1)
    failed = gompy_spawnp(&child, python, &actions, NULL, arguments, clean)
    posix_spawn_file_actions_destroy(&actions)
    free(clean)
    close(out[1])
    if failed:
        close(out[0])
        unlink(manifest)
        say(log, "error: the PTX compiler needs Python, which did not start: ")
        say(log, python)
        say(log, " (set GOMPY_PYTHON)\n")
        return PTX_ERROR_JIT_COMPILER_NOT_FOUND
    while True:
        count = read(out[0], text, sizeof(text) - 1)
        if count <= 0:
            if count < 0 and gompy_not_ready():
                continue
            break
        text[count] = 0
        say(log, text)
    close(out[0])
    while waitpid(child, &status, 0) < 0 and gompy_not_ready():
        pass
    unlink(manifest)
    status = gompy_exit_status(status)
    if status == 0:
        return 0
    if status == 1:
        return PTX_ERROR_INVALID_PTX
    if status == 3:
        return PTX_ERROR_NOT_SUPPORTED
    if status != 2:
        say(log, "error: the PTX compiler failed\n")
    return PTX_ERROR_JIT_COMPILER_NOT_FOUND


cdef void function_file(char *path, size_t size, const char *folder, const char *key, int form, const char *function, bint checked) noexcept nogil:
    """The name of a cache file: of one function if it is named and not compiled with all others of its object (build.py)."""
    cdef uint64_t value = 0xCBF29CE484222325U
    cdef const char *at = function
    cdef const char *letters = "svewx" if checked else "SVEWX"
    if form == FORM_V or form == FORM_W or (form == FORM_S and function[0]):
        while at[0]:
            value = (value ^ <uint8_t> at[0]) * 0x100000001B3U
            at += 1
        snprintf(path, size, "%s/%s.%c.%016llx", folder, key, <int> letters[form], <unsigned long long> value)
    else:
        snprintf(path, size, "%s/%s.%c", folder, key, <int> letters[form])
