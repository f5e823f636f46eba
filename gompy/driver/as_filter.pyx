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
from libc.stdlib cimport calloc, malloc
from libc.string cimport memcmp, memcpy, strchr, strcmp, strerror, strlen, strncmp

from gompy.native.descriptors cimport gompy_open
from gompy.native.environment cimport secure_getenv

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
    static const char SECTION_INDIRECT[] = ".gnu.offload_ind_funcs";
    static const char SECTION_RECORD[] = "gompy_offload_objects";
    _Static_assert (sizeof PREFIX_LTO == sizeof PREFIX_IR, "renaming keeps the length");
    """
    const char PREFIX_LTO[]
    const char PREFIX_IR[]
    const char PREFIX_OFFLOAD[]
    const char SECTION_FUNCS[]
    const char SECTION_VARS[]
    const char SECTION_INDIRECT[]
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

include "as_command.pxi"
include "as_object.pxi"
include "as_edit.pxi"


cdef int process_output(const char *output, stat_s *before, bint existed) noexcept nogil:
    """Edit the assembler's output if it is one of ours to edit; 0, or errno of what failed."""
    cdef stat_s st
    cdef Object obj
    cdef const char *mode = secure_getenv("GOMPY_AS")
    cdef int fd
    if stat(output, &st) != 0 or not S_ISREG(st.st_mode) or st.st_size < 64:
        return 0
    if (existed and st.st_dev == before.st_dev and st.st_ino == before.st_ino and st.st_size == before.st_size
            and GOMPY_MTIME(&st) == GOMPY_MTIME(before)):
        return 0
    fd = gompy_open(output, O_RDWR, 0)
    if fd < 0:
        return errno
    obj.size = <size_t> st.st_size
    obj.data = <char *> mmap(NULL, obj.size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0)
    if obj.data == <char *> MAP_FAILED:
        return errno
    if parse_object(&obj) and not edit_object(&obj, fd, mode != NULL and strcmp(mode, b"rename") == 0):
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
        fprintf(stderr,
                "as: fatal error: cannot find the real assembler in COMPILER_PATH or PATH (set GOMPY_REAL_AS)\n")
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
    error = process_output(scan.output, &before, existed)
    if error != 0:
        fprintf(stderr, "as: fatal error: %s: cannot edit the object: %s\n", scan.output, strerror(error))
        return 1
    return 0
