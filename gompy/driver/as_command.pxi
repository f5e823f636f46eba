# Which assembler is run, and what its output is called: $GOMPY_REAL_AS, COMPILER_PATH, PATH; -o on the command line and
# in response files.

# --- finding the real assembler -------------------------------------------------------------------------------------

cdef bint is_usable(const char *path, stat_s *self) noexcept nogil:
    """Whether ``path`` is an executable other than this program."""
    cdef stat_s st
    if stat(path, &st) != 0 or not S_ISREG(st.st_mode) or access(path, X_OK) != 0:
        return False
    return st.st_dev != self.st_dev or st.st_ino != self.st_ino


cdef char *search_path(const char *dirs, stat_s *self) noexcept nogil:
    """First ``as`` in a colon-separated list of directories that is not this program; NULL if none."""
    cdef const char *end
    cdef size_t size
    cdef char *path
    if dirs == NULL:
        return NULL
    while True:
        end = strchr(dirs, 58)
        size = strlen(dirs) if end == NULL else <size_t> (end - dirs)
        path = <char *> malloc(size + 6)
        if path == NULL:
            return NULL
        memcpy(path, dirs, size)
        if size == 0:
            path[0] = 46
            size = 1
        memcpy(path + size, b"/as", 4)
        if is_usable(path, self):
            return path
        if end == NULL:
            return NULL
        dirs = end + 1


cdef char *real_assembler() noexcept nogil:
    """Path of the real assembler: $GOMPY_REAL_AS, then COMPILER_PATH, then PATH, never this program itself."""
    cdef stat_s self
    cdef char *found = secure_getenv("GOMPY_REAL_AS")
    if found != NULL and found[0] != 0:
        return found
    if stat("/proc/self/exe", &self) != 0:
        self.st_dev = 0
        self.st_ino = 0
    found = search_path(secure_getenv("COMPILER_PATH"), &self)
    if found == NULL:
        found = search_path(secure_getenv("PATH"), &self)
    if found == NULL:
        found = search_path("/usr/local/bin:/usr/bin:/bin", &self)
    return found


# --- the name of the output ------------------------------------------------------------------------------------------

cdef struct Scan:
    const char *output
    bint takes_output  # the previous word was -o
    bint informative   # --version, --help: nothing is assembled
    int depth          # of response files


cdef void scan_word(Scan *scan, const char *word) noexcept nogil:
    """Take one word of the command line into account."""
    if scan.takes_output:
        scan.output = word
        scan.takes_output = False
    elif word[0] == 64 and word[1] != 0:
        scan_file(scan, word + 1)
    elif strcmp(word, b"-o") == 0:
        scan.takes_output = True
    elif strncmp(word, b"-o", 2) == 0:
        scan.output = word + 2
    elif strcmp(word, b"--version") == 0 or strncmp(word, b"--help", 6) == 0 or strcmp(word, b"--target-help") == 0:
        scan.informative = True


cdef void scan_file(Scan *scan, const char *name) noexcept nogil:
    """The words of a response file, by libiberty's rules: blanks separate, quotes and backslashes protect."""
    cdef stat_s st
    cdef int fd
    cdef char *text
    cdef char *word
    cdef size_t i = 0, used, size
    cdef char quote, c
    cdef bint inside
    if scan.depth >= 32:
        return
    fd = gompy_open(name, O_RDONLY, 0)
    if fd < 0:
        return
    if fstat(fd, &st) != 0 or not S_ISREG(st.st_mode) or st.st_size <= 0:
        close(fd)
        return
    size = <size_t> st.st_size
    text = <char *> mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0)
    close(fd)
    if text == <char *> MAP_FAILED:
        return
    scan.depth += 1
    while i < size:
        word = <char *> malloc(size - i + 1)
        if word == NULL:
            break
        used = 0
        quote = 0
        inside = False
        while i < size:
            c = text[i]
            i += 1
            if c == 92 and i < size:
                word[used] = text[i]
                used += 1
                i += 1
                inside = True
            elif quote != 0:
                if c == quote:
                    quote = 0
                else:
                    word[used] = c
                    used += 1
            elif c == 34 or c == 39:
                quote = c
                inside = True
            elif c == 32 or (9 <= c <= 13):
                if inside:
                    break
            else:
                word[used] = c
                used += 1
                inside = True
        if inside:
            word[used] = 0
            scan_word(scan, word)  # the word stays allocated: it may be the output's name
    scan.depth -= 1
