# cython: boundscheck=False, wraparound=False, cdivision=True
"""The assembler that gcc finds through ``-B``: runs the real one, then edits the object it wrote.

docs/internals.md, "Compile", says what is done to an object and why.  The object's sections stay where they are; what
changes are names, flags and one new section, so only the ELF header and the end of the file (section name table,
section headers) are written anew.

A C program: no Python object is made here, and CPython is not in the process.  Whatever is not a 64-bit little-endian
relocatable with sections of GCC's LTO or offloading stays as the assembler wrote it.

Sources: ELF-64 object file format 1.5; GCC lto-section-in.c (names are ``<prefix><name>.<hex id>``).
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.stdio cimport fprintf, stderr
from libc.stdlib cimport calloc, getenv, malloc
from libc.string cimport memcmp, memcpy, strchr, strcmp, strerror, strlen, strncmp

cdef extern from *:
    """
    #include <elf.h>
    #include <errno.h>
    #include <fcntl.h>
    #include <signal.h>
    #include <spawn.h>
    #include <sys/mman.h>
    #include <sys/stat.h>
    #include <sys/wait.h>
    #include <unistd.h>
    extern char **environ;
    #ifndef SHF_GNU_RETAIN
    #define SHF_GNU_RETAIN (1u << 21)
    #endif
    #define GOMPY_MTIME(st) ((long long) (st)->st_mtim.tv_sec * 1000000000LL + (st)->st_mtim.tv_nsec)

    static const char PREFIX_LTO[] = ".gnu.lto_";
    static const char PREFIX_IR[] = ".gompyir_";
    static const char PREFIX_OFFLOAD[] = ".gnu.offload_lto_";
    static const char SECTION_FUNCS[] = ".gnu.offload_funcs";
    static const char SECTION_VARS[] = ".gnu.offload_vars";
    static const char SECTION_RECORD[] = "gompy_offload_objects";
    _Static_assert (sizeof PREFIX_LTO == sizeof PREFIX_IR, "renaming keeps the length");
    """
    const char PREFIX_LTO[]
    const char PREFIX_IR[]
    const char PREFIX_OFFLOAD[]
    const char SECTION_FUNCS[]
    const char SECTION_VARS[]
    const char SECTION_RECORD[]
    ctypedef struct Elf64_Ehdr:
        unsigned char e_ident[16]
        uint16_t e_type
        uint64_t e_shoff
        uint16_t e_shentsize
        uint16_t e_shnum
        uint16_t e_shstrndx
    ctypedef struct Elf64_Shdr:
        uint32_t sh_name
        uint32_t sh_type
        uint64_t sh_flags
        uint64_t sh_addr
        uint64_t sh_offset
        uint64_t sh_size
        uint32_t sh_link
        uint32_t sh_info
        uint64_t sh_addralign
        uint64_t sh_entsize
    ctypedef struct Elf64_Sym:
        uint32_t st_name
        unsigned char st_info
        uint16_t st_shndx
    enum:
        ET_REL
        ELFCLASS64
        ELFDATA2LSB
        ELFOSABI_NONE
        ELFOSABI_GNU
        SHT_PROGBITS
        SHT_NOBITS
        SHT_RELA
        SHT_REL
        SHT_SYMTAB
        SHF_ALLOC
        SHN_XINDEX
        STT_FILE
        O_RDWR
        O_RDONLY
        O_CLOEXEC
        PROT_READ
        PROT_WRITE
        MAP_PRIVATE
        EINTR
        X_OK
    const uint64_t SHF_GNU_RETAIN
    const void *MAP_FAILED
    int errno
    char **environ
    ctypedef int pid_t
    struct stat_s "stat":
        uint64_t st_dev
        uint64_t st_ino
        uint32_t st_mode
        int64_t st_size
    int stat(const char *, stat_s *) nogil
    int fstat(int, stat_s *) nogil
    int S_ISREG(uint32_t) nogil
    long long GOMPY_MTIME(stat_s *) nogil
    int access(const char *, int) nogil
    int open(const char *, int, ...) nogil
    int close(int) nogil
    int ftruncate(int, int64_t) nogil
    int64_t pwrite(int, const void *, size_t, int64_t) nogil
    void *mmap(void *, size_t, int, int, int, int64_t) nogil
    int posix_spawn(pid_t *, const char *, void *, void *, char **, char **) nogil
    pid_t waitpid(pid_t, int *, int) nogil
    int WIFEXITED(int) nogil
    int WEXITSTATUS(int) nogil
    int WTERMSIG(int) nogil
    int kill(pid_t, int) nogil
    pid_t getpid() nogil


# --- finding the real assembler -------------------------------------------------------------------------------------

cdef bint usable(const char *path, stat_s *self) noexcept nogil:
    """Whether ``path`` is an executable other than this program."""
    cdef stat_s st
    if stat(path, &st) != 0 or not S_ISREG(st.st_mode) or access(path, X_OK) != 0:
        return False
    return st.st_dev != self.st_dev or st.st_ino != self.st_ino


cdef char *search(const char *dirs, stat_s *self) noexcept nogil:
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
        if usable(path, self):
            return path
        if end == NULL:
            return NULL
        dirs = end + 1


cdef char *real_assembler() noexcept nogil:
    """Path of the real assembler: $GOMPY_REAL_AS, then COMPILER_PATH, then PATH, never this program itself."""
    cdef stat_s self
    cdef char *found = getenv("GOMPY_REAL_AS")
    if found != NULL and found[0] != 0:
        return found
    if stat("/proc/self/exe", &self) != 0:
        self.st_dev = 0
        self.st_ino = 0
    found = search(getenv("COMPILER_PATH"), &self)
    if found == NULL:
        found = search(getenv("PATH"), &self)
    if found == NULL:
        found = search("/usr/local/bin:/usr/bin:/bin", &self)
    return found


# --- the name of the output -------------------------------------------------------------------------------------------

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
    fd = open(name, O_RDONLY | O_CLOEXEC)
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


# --- the object -------------------------------------------------------------------------------------------------------

cdef struct Object:
    char *data          # private writable mapping of the whole file
    size_t size
    Elf64_Shdr *sections
    size_t count
    size_t names_index
    const char *names   # .shstrtab
    size_t names_size


cdef bint parse(Object *obj) noexcept nogil:
    """Check that the file is a relocatable we understand and fill in the rest of ``obj``."""
    cdef Elf64_Ehdr *header = <Elf64_Ehdr *> obj.data
    cdef Elf64_Shdr *shdr
    cdef size_t i
    if obj.size < 64 or memcmp(obj.data, b"\x7fELF", 4) != 0:
        return False
    if header.e_ident[4] != ELFCLASS64 or header.e_ident[5] != ELFDATA2LSB or header.e_type != ET_REL:
        return False
    if header.e_shoff == 0 or header.e_shoff > obj.size - 64 or header.e_shentsize != 64 or header.e_shoff & 7:
        return False
    obj.sections = <Elf64_Shdr *> (obj.data + header.e_shoff)
    obj.count = header.e_shnum if header.e_shnum != 0 else obj.sections[0].sh_size
    obj.names_index = header.e_shstrndx if header.e_shstrndx != SHN_XINDEX else obj.sections[0].sh_link
    if obj.count == 0 or obj.count > (obj.size - header.e_shoff) // 64 or obj.names_index >= obj.count:
        return False
    for i in range(1, obj.count):
        shdr = &obj.sections[i]
        if shdr.sh_type != SHT_NOBITS and (shdr.sh_offset > obj.size or shdr.sh_size > obj.size - shdr.sh_offset):
            return False
    shdr = &obj.sections[obj.names_index]
    obj.names = obj.data + shdr.sh_offset
    obj.names_size = shdr.sh_size
    if obj.names_size == 0 or obj.names[obj.names_size - 1] != 0:
        return False
    for i in range(obj.count):
        if obj.sections[i].sh_name >= obj.names_size:
            return False
    return True


cdef const char *name_of(Object *obj, size_t i) noexcept nogil:
    return obj.names + obj.sections[i].sh_name


cdef size_t prefix_length(const char *name) noexcept nogil:
    """Length of the stream prefix that ``name`` starts with, 0 if it is no stream's."""
    if strncmp(name, PREFIX_LTO, 9) == 0 or strncmp(name, PREFIX_IR, 9) == 0:
        return 9
    return 17 if strncmp(name, PREFIX_OFFLOAD, 17) == 0 else 0


cdef const char *stream_id(Object *obj) noexcept nogil:
    """The object's stream id as text: what follows ``<prefix>.symtab.``.  NULL if there is none, or several."""
    cdef const char *found = NULL
    cdef const char *name
    cdef size_t i, length
    for i in range(1, obj.count):
        name = name_of(obj, i)
        length = prefix_length(name)
        if length == 0 or strncmp(name + length, ".symtab.", 8) != 0:
            continue
        name += length + 8
        if found != NULL and strcmp(found, name) != 0:
            return NULL
        found = name
    if found == NULL or found[0] == 0 or strlen(found) > 16:
        return NULL
    return found


cdef size_t stem_length(const char *name, const char *old) noexcept nogil:
    """Length of a stream section's name up to and with the point before the id; the whole length if no id ends it."""
    cdef size_t length = strlen(name), tail
    if old == NULL:
        return length
    tail = strlen(old)
    if length > tail and name[length - tail - 1] == 46 and strcmp(name + length - tail, old) == 0:
        return length - tail
    return length


cdef uint64_t mix(uint64_t h, const char *data, size_t size) noexcept nogil:
    """Hash of bytes: multiply and fold, eight bytes at a time.  Not for security: only to tell objects apart."""
    cdef uint64_t word
    cdef size_t i = 0
    h = (h ^ size) * <uint64_t> 0x9E3779B97F4A7C15
    while i + 8 <= size:
        memcpy(&word, data + i, 8)
        h = (h ^ word) * <uint64_t> 0xD6E8FEB86659FD93
        h ^= h >> 32
        i += 8
    word = 0
    if i < size:
        memcpy(&word, data + i, size - i)
    h = (h ^ word) * <uint64_t> 0xD6E8FEB86659FD93
    return h ^ (h >> 29)


cdef uint64_t content_id(Object *obj, const char *old) noexcept nogil:
    """The new stream id: a hash of the streams' names and contents, with a first hex digit other than 0.

    GCC prints ids without leading zeros; a full 16 digits give every object the same layout.
    """
    cdef uint64_t h = 0x676F6D7079
    cdef const char *name
    cdef size_t i, length
    for i in range(1, obj.count):
        name = name_of(obj, i)
        length = prefix_length(name)
        if length == 0 or obj.sections[i].sh_type == SHT_NOBITS:
            continue
        h = mix(h, name + length, stem_length(name, old) - length)
        h = mix(h, obj.data + obj.sections[i].sh_offset, obj.sections[i].sh_size)
    if h >> 60 == 0:
        h |= <uint64_t> 1 << 60
    return h


cdef struct Record:
    uint64_t id
    uint32_t nfuncs
    uint32_t nvars
    char name[48]


cdef void source_name(Object *obj, char *name) noexcept nogil:
    """The STT_FILE symbol's name, cut to 47 bytes."""
    cdef Elf64_Shdr *shdr
    cdef Elf64_Shdr *strings
    cdef Elf64_Sym *sym
    cdef size_t i, j, length
    for i in range(1, obj.count):
        shdr = &obj.sections[i]
        if shdr.sh_type != SHT_SYMTAB or shdr.sh_link >= obj.count or shdr.sh_offset & 7:
            continue
        strings = &obj.sections[shdr.sh_link]
        for j in range(1, shdr.sh_size // 24):
            sym = <Elf64_Sym *> (obj.data + shdr.sh_offset + 24 * j)
            if sym.st_info & 15 == STT_FILE and sym.st_name < strings.sh_size:
                length = 0
                while length < 47 and sym.st_name + length < strings.sh_size:
                    name[length] = obj.data[strings.sh_offset + sym.st_name + length]
                    if name[length] == 0:
                        return
                    length += 1
                return
        return





cdef char hex_digit(uint64_t value) noexcept nogil:
    return <char> (48 + value) if value < 10 else <char> (87 + value)


cdef bint edit(Object *obj, int fd, bint rename) noexcept nogil:
    """Make the edits and write them; True if the file is as it should be afterwards."""
    cdef Elf64_Ehdr *header = <Elf64_Ehdr *> obj.data
    cdef Elf64_Shdr *sections
    cdef const char *old = stream_id(obj)
    cdef const char *name
    cdef char *names
    cdef char *out
    cdef char *cursor
    cdef size_t i, j, length, stem, tail, used, total, count, record_at = 0, names_at, headers_at
    cdef uint64_t new_id = 0
    cdef Record record
    cdef bint streams = False, tables = False, has_record = False, retained = False
    cdef uint64_t funcs = 0, variables = 0
    cdef size_t *offsets = <size_t *> calloc(obj.count + 1, sizeof(size_t))
    if offsets == NULL:
        return False
    total = obj.names_size + 64
    for i in range(1, obj.count):
        name = name_of(obj, i)
        total += strlen(name) + 18
        if prefix_length(name) != 0:
            streams = True
        elif strcmp(name, SECTION_FUNCS) == 0:
            tables = True
            funcs += obj.sections[i].sh_size // 8
        elif strcmp(name, SECTION_VARS) == 0:
            tables = True
            variables += obj.sections[i].sh_size // 16
        elif strcmp(name, SECTION_RECORD) == 0:
            has_record = True
    if not streams and not tables:
        return True
    if old != NULL:
        new_id = content_id(obj, old)

    # What follows the last section's contents (the name table and the headers, as gas orders them) is replaced.
    tail = 64
    for i in range(1, obj.count):
        if i != obj.names_index and obj.sections[i].sh_type != SHT_NOBITS:
            tail = max(tail, obj.sections[i].sh_offset + obj.sections[i].sh_size)

    names = <char *> calloc(total, 1)
    sections = <Elf64_Shdr *> calloc(obj.count + 1, 64)
    if names == NULL or sections == NULL:
        return False
    memcpy(sections, obj.sections, 64 * obj.count)
    used = 1
    for i in range(1, obj.count):
        name = name_of(obj, i)
        if (sections[i].sh_type == SHT_PROGBITS and
                (strcmp(name, SECTION_FUNCS) == 0 or strcmp(name, SECTION_VARS) == 0)):
            sections[i].sh_flags |= SHF_GNU_RETAIN
            retained = True
        # ".rela.text" stands right behind ".text": let it have its name's tail, as the assembler does.
        if i + 1 < obj.count and sections[i + 1].sh_type == SHT_RELA and sections[i + 1].sh_info == i:
            if strncmp(name_of(obj, i + 1), b".rela", 5) == 0 and strcmp(name_of(obj, i + 1) + 5, name) == 0:
                memcpy(names + used, b".rela", 5)
                offsets[i + 1] = used
                used += 5
        if offsets[i] != 0:
            sections[i].sh_name = <uint32_t> offsets[i]
            continue
        offsets[i] = used
        sections[i].sh_name = <uint32_t> used
        length = strlen(name)
        memcpy(names + used, name, length)
        if prefix_length(name) != 0:
            if rename and strncmp(name, PREFIX_LTO, 9) == 0:
                memcpy(names + used, PREFIX_IR, 9)
            stem = stem_length(name, old)
            if stem != length:
                for j in range(16):
                    names[used + stem + j] = hex_digit((new_id >> (60 - 4 * j)) & 15)
                length = stem + 16
        names[used + length] = 0
        used += length + 1

    count = obj.count
    memset_record(&record)
    tail = (tail + 7) & ~<size_t> 7
    names_at = tail
    if tables and not has_record:
        record.id = new_id
        record.nfuncs = <uint32_t> funcs
        record.nvars = <uint32_t> variables
        source_name(obj, record.name)
        record_at = tail
        names_at = tail + sizeof(Record)
        sections[count].sh_name = <uint32_t> used
        sections[count].sh_type = SHT_PROGBITS
        sections[count].sh_flags = SHF_ALLOC | SHF_GNU_RETAIN
        sections[count].sh_offset = record_at
        sections[count].sh_size = sizeof(Record)
        sections[count].sh_addralign = 8
        memcpy(names + used, SECTION_RECORD, 22)
        used += 22
        count += 1
        retained = True
    sections[obj.names_index].sh_offset = names_at
    sections[obj.names_index].sh_size = used
    headers_at = (names_at + used + 7) & ~<size_t> 7
    if retained and header.e_ident[7] == ELFOSABI_NONE:
        header.e_ident[7] = ELFOSABI_GNU
    header.e_shoff = headers_at
    if count >= 0xFF00:
        header.e_shnum = 0
        sections[0].sh_size = count
    else:
        header.e_shnum = <uint16_t> count

    # One buffer from the end of the contents to the end of the file.
    total = headers_at + 64 * count - tail
    out = <char *> calloc(total, 1)
    if out == NULL:
        return False
    cursor = out
    if record_at != 0:
        memcpy(cursor, &record, sizeof(Record))
    memcpy(out + (names_at - tail), names, used)
    memcpy(out + (headers_at - tail), sections, 64 * count)
    return (pwrite(fd, out, total, <int64_t> tail) == <int64_t> total
            and ftruncate(fd, <int64_t> (tail + total)) == 0
            and pwrite(fd, obj.data, 64, 0) == 64)


cdef void memset_record(Record *record) noexcept nogil:
    cdef size_t i
    for i in range(sizeof(Record)):
        (<char *> record)[i] = 0


cdef int process(const char *output, stat_s *before, bint existed) noexcept nogil:
    """Edit the assembler's output if it is one of ours to edit; 0, or errno of what failed."""
    cdef stat_s st
    cdef Object obj
    cdef const char *mode = getenv("GOMPY_AS")
    cdef int fd
    if stat(output, &st) != 0 or not S_ISREG(st.st_mode) or st.st_size < 64:
        return 0
    if (existed and st.st_dev == before.st_dev and st.st_ino == before.st_ino and st.st_size == before.st_size
            and GOMPY_MTIME(&st) == GOMPY_MTIME(before)):
        return 0
    fd = open(output, O_RDWR | O_CLOEXEC)
    if fd < 0:
        return errno
    obj.size = <size_t> st.st_size
    obj.data = <char *> mmap(NULL, obj.size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0)
    if obj.data == <char *> MAP_FAILED:
        return errno
    if parse(&obj) and not edit(&obj, fd, mode != NULL and strcmp(mode, b"rename") == 0):
        return errno if errno != 0 else 12
    return 0


cdef public int main(int argc, char **argv) noexcept nogil:
    """Run the assembler with our own arguments, then edit its output."""
    cdef Scan scan
    cdef stat_s before
    cdef char *program = real_assembler()
    cdef pid_t child
    cdef int status = 0, error, i
    cdef bint existed
    if program == NULL:
        fprintf(stderr, "as: fatal error: cannot find the real assembler in COMPILER_PATH or PATH (set GOMPY_REAL_AS)\n")
        return 1
    scan.output = NULL
    scan.takes_output = False
    scan.informative = False
    scan.depth = 0
    for i in range(1, argc):
        scan_word(&scan, argv[i])
    if scan.output == NULL:
        scan.output = b"a.out"
    existed = stat(scan.output, &before) == 0
    argv[0] = <char *> b"as"  # the name gcc starts it by, which its messages repeat
    error = posix_spawn(&child, program, NULL, NULL, argv, environ)
    if error != 0:
        fprintf(stderr, "as: fatal error: %s: %s\n", program, strerror(error))
        return 1
    while waitpid(child, &status, 0) < 0:
        if errno != EINTR:
            return 1
    if not WIFEXITED(status):
        kill(getpid(), WTERMSIG(status))
        return 128 + WTERMSIG(status)
    if WEXITSTATUS(status) != 0 or scan.informative:
        return WEXITSTATUS(status)
    error = process(scan.output, &before, existed)
    if error != 0:
        fprintf(stderr, "as: fatal error: %s: cannot edit the object: %s\n", scan.output, strerror(error))
        return 1
    return 0
