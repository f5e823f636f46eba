# The compiler's process (gompy/ptx/__main__.py): requests on its standard input, answers on its standard output, the
# cache's folder and a file in memory as further descriptors (store.py).
#
# What it says ends with a NUL and its status.  The process itself is no witness: a program that ignores SIGCHLD, or
# waits for all children, leaves nothing to wait for.

cdef enum:
    TEXT_GONE = -4                      # of run_compiler: a text was not in the cache when the compiler looked

cdef struct memory_record:              # in the file in memory; the name follows, then the contents, each on 16 bytes
    uint64_t bytes                      # with this head
    uint64_t name_bytes                 # with its NUL
    uint64_t contents
    uint64_t reserved


cdef bint write_kept(int fd) noexcept nogil:
    """Give the compiler what is in memory only."""
    cdef kept_file *k
    cdef memory_record record
    cdef char zero[16]
    cdef size_t name
    memset(zero, 0, sizeof(zero))
    memset(&record, 0, sizeof(record))
    pthread_mutex_lock(&kept_lock)
    k = kept
    pthread_mutex_unlock(&kept_lock)
    while k != NULL:
        name = strlen(k.name) + 1
        record.name_bytes = (name + 15) // 16 * 16
        record.contents = k.size
        record.bytes = sizeof(record) + record.name_bytes + (k.size + 15) // 16 * 16
        if not (
            write_all(fd, <char *> &record, sizeof(record)) and write_all(fd, k.name, name)
            and write_all(fd, zero, record.name_bytes - name) and write_all(fd, <char *> k.head, k.size)
            and write_all(fd, zero, record.bytes - sizeof(record) - record.name_bytes - k.size)
        ):
            return False
        k = k.next
    return True


cdef void take_made(const cache *c, int fd, size_t start) noexcept nogil:
    """Keep what the compiler has put into the file in memory behind `start`."""
    cdef stat_t status
    cdef memory_record *record
    cdef char *memory
    cdef file_head *head
    cdef const char *name
    cdef size_t at = start, end
    if fstat(fd, &status) != 0 or <size_t> status.st_size <= start:
        return
    end = status.st_size
    memory = <char *> mmap(NULL, end, PROT_READ, MAP_PRIVATE, fd, 0)
    if gompy_is_map_failed(memory):
        return
    while end - at >= sizeof(memory_record):
        record = <memory_record *> (memory + at)
        if record.bytes > end - at or record.name_bytes > 512 or record.contents > record.bytes:
            break
        if record.bytes < sizeof(memory_record) + record.name_bytes + record.contents or record.bytes % 16:
            break
        name = <const char *> (record + 1)
        head = <file_head *> (name + record.name_bytes)
        if record.contents >= sizeof(file_head) and is_whole(c, name, head, record.contents, head.kind):
            keep_file(name, head, record.contents)
        at += record.bytes


cdef int memory_file(const char *name) noexcept nogil:
    """An empty file in memory, to which is appended; -1 with errno."""
    cdef int fd = gompy_raised(gompy_memfd(name), GOMPY_FIRST_FD)
    if fd >= 0:
        gompy_appends(fd)
    return fd


cdef int hear_answer(int fd, int child, text_buffer *log) noexcept nogil:
    """What the compiler says goes to the log; its status, -1 if it ends without one."""
    cdef char text[2048]
    cdef char *mark
    cdef ssize_t count, used = 0
    while True:
        count = gompy_hear(fd, child, text + used, sizeof(text) - 1 - used)
        if count <= 0:
            return -1
        used += count
        text[used] = 0
        mark = <char *> memchr(text, 0, used)
        log_text(log, text)
        if mark != NULL:
            if mark + 1 < text + used:
                return mark[1] - 48
            text[0] = 0
            used = 1  # the status follows
        else:
            used = 0


cdef void say_end(text_buffer *log, const char *python, int child, int waited, int status) noexcept nogil:
    """The compiler has ended without an answer."""
    cdef char text[512]
    cdef char how[64]
    how[0] = 0
    if waited == child and gompy_signal_of(status):
        snprintf(how, sizeof(how), " was ended by signal %d%s", gompy_signal_of(status), <const char *> (
            b" (out of memory?)" if gompy_signal_of(status) in (6, 9) else b""))
    elif waited == child:
        snprintf(how, sizeof(how), " ended with status %d", gompy_exit_status(status))
    else:
        snprintf(how, sizeof(how), " ended")
    snprintf(text, sizeof(text), "error: the PTX compiler (%.300s)%s before it answered "
             "(see docs/ptx.md; GOMPY_PYTHON names another Python)\n", python, how)
    log_text(log, text)


cdef const char *own_python(const char *program, char *path, size_t size) noexcept nogil:
    """The Python that the compiler at this path is to be run by, as a path or a name for PATH."""
    cdef char root[4096]
    snprintf(root, sizeof(root), "%.*s", <int> (strlen(program) - strlen("/gompy/ptx/__main__.py")), program)
    gompy_python_of(root, path, size)
    return path


cdef int run_compiler(cache *c, const char *requests, size_t size, text_buffer *log) noexcept nogil:
    """Start the compiler with these requests and wait.  Its diagnostics go to the log."""
    cdef char text[512]
    cdef char program[4096]
    cdef char found[4096]
    cdef const char *python = secure_getenv("GOMPY_PYTHON")
    cdef int fds[4]
    cdef int result, i, error
    if gompy_compiler_path(program, sizeof(program)) != 0:
        log_text(log, "error: the PTX compiler (gompy/ptx) is not beside this library\n")
        return PTX_ERROR_JIT_COMPILER_NOT_FOUND
    if python == NULL or python[0] == 0:
        python = own_python(program, found, sizeof(found))
    fds[0], fds[1], fds[2], fds[3] = memory_file("gompy-requests"), -1, -1, memory_file("gompy-ptx")
    snprintf(text, sizeof(text), "identity %s %s\n", GOMPY_PTX_IDENTITY, c.leaf)
    if c.folder >= 0:
        fds[2] = gompy_again(c.folder, GOMPY_FIRST_FD)
    if (
        fds[0] < 0 or fds[3] < 0 or not write_all(fds[0], text, strlen(text)) or not write_all(fds[0], requests, size)
        or lseek(fds[0], 0, 0) != 0 or not write_kept(fds[3])
    ):
        error = gompy_errno()
        snprintf(text, sizeof(text), "error: the PTX compiler cannot be started: a file in memory: %s%s\n",
                 strerror(error), gompy_limit_hint(error))
        log_text(log, text)
        result = PTX_ERROR_OUT_OF_MEMORY
    else:
        result = ask_compiler(c, python, fds, log)
    for i in range(4):
        if fds[i] >= 0:
            close(fds[i])
    return result


cdef int ask_compiler(cache *c, const char *python, int *fds, text_buffer *log) noexcept nogil:
    """Start the compiler with its descriptors but the pipe, which is made here, and wait for its answer."""
    cdef char program[4096]
    cdef char found[4200]
    cdef char text[512]
    cdef const char *interpreter = gompy_program(python, found, sizeof(found))
    cdef char *arguments[8]
    cdef char **clean
    cdef const char *dropped[3]
    cdef int out[2]
    cdef int child = -1, status = 0, heard, waited, error, cancel = 0
    cdef stat_t before
    if gompy_compiler_path(program, sizeof(program)) != 0:
        log_text(log, "error: the PTX compiler (gompy/ptx) is not beside this library\n")
        return PTX_ERROR_JIT_COMPILER_NOT_FOUND
    dropped[0], dropped[1], dropped[2] = b"LD_", b"OMP_", b"PYTHON"  # what concerns the program's libraries, threads
    clean = gompy_child_environ_without(dropped, 3)
    if clean == NULL or fstat(fds[3], &before) != 0:
        free(clean)
        return PTX_ERROR_OUT_OF_MEMORY
    if gompy_pipe(out) != 0:
        error = gompy_errno()
        free(clean)
        snprintf(text, sizeof(text), "error: the PTX compiler cannot be started: a pipe: %s%s\n", strerror(error),
                 gompy_limit_hint(error))
        log_text(log, text)
        return PTX_ERROR_OUT_OF_MEMORY
    out[0], fds[1] = gompy_raised(out[0], GOMPY_FIRST_FD), gompy_raised(out[1], GOMPY_FIRST_FD)
    arguments[0], arguments[1], arguments[2] = <char *> python, b"-I", b"-S"
    arguments[3], arguments[4], arguments[5], arguments[6] = program, b"fill", b"-", NULL
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel)
    if out[0] >= 0 and fds[1] >= 0 and interpreter != NULL:
        child = gompy_start(interpreter, arguments, clean, fds, secure_getenv("GOMPY_TRACEBACK") != NULL)
    error = gompy_errno()
    free(clean)
    if fds[1] >= 0:
        close(fds[1])
        fds[1] = -1
    if child < 0:
        if out[0] >= 0:
            close(out[0])
        pthread_setcancelstate(cancel, NULL)
        snprintf(text, sizeof(text),
                 "error: the PTX compiler needs Python, which did not start: %.300s (set GOMPY_PYTHON): %s%s\n", python,
                 strerror(error), gompy_limit_hint(error))
        log_text(log, text)
        return PTX_ERROR_JIT_COMPILER_NOT_FOUND
    heard = hear_answer(out[0], child, log)
    close(out[0])
    waited = waitpid(child, &status, 0)
    while waited < 0 and gompy_not_ready():
        waited = waitpid(child, &status, 0)
    pthread_setcancelstate(cancel, NULL)
    take_made(c, fds[3], before.st_size)
    if heard == 0:
        return 0
    if heard < 0:
        say_end(log, python, child, waited, status)
    if heard == 4:
        return TEXT_GONE
    if heard == 1:
        return PTX_ERROR_INVALID_PTX
    return PTX_ERROR_NOT_SUPPORTED if heard == 3 else PTX_ERROR_JIT_COMPILER_NOT_FOUND
