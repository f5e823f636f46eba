# Declarations of C, and the structures of the executor.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.stdio cimport FILE, fflush, fclose, fprintf, fread, fwrite, snprintf, stderr, stdout
from libc.stdlib cimport calloc, free, malloc, realloc, qsort
from libc.string cimport memchr, memcmp, memcpy, memset, strchr, strcmp, strerror, strlen, strncmp, strncpy, strrchr

cdef extern from "hash.h" nogil:
    enum:
        GOMPY_DIGEST
    void gompy_blake(const void *data, size_t size, uint8_t *out) noexcept
    void gompy_text_key(const char *text, size_t size, char *key) noexcept
    void gompy_content(const char *text, size_t size, uint64_t *out) noexcept

cdef extern from "start.h" nogil:
    enum:
        GOMPY_FIRST_FD
    int gompy_start(const char *program, char **arguments, char **environment, const int *fds, bint talks) noexcept
    ssize_t gompy_hear(int fd, int child, char *text, size_t size) noexcept

from gompy.native.descriptors cimport (
    O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY,
    gompy_again, gompy_appends, gompy_memfd, gompy_open, gompy_openat, gompy_pipe, gompy_raised,
)
from gompy.native.environment cimport gompy_child_environ, gompy_program, secure_getenv
from gompy.native.interpreter cimport gompy_python_of

cdef extern from "warp.h" nogil:
    struct gompy_warp:
        uint64_t base
        uint64_t size
        char *shared
        uint64_t shared_size
        char *local
        uint64_t local_size
        uint64_t local_top
        const char *params
        void **ops
        int32_t fuel
        uint32_t exited
        uint32_t ctaid[3]
        uint32_t ntid[3]
        uint32_t nctaid[3]
        uint32_t warpid
        uint32_t nwarps
        uint32_t dynamic_shared
        uint32_t tid[3][32]
        uint8_t *shadow
        uint8_t *shared_shadow
        void *sp
        void *runner
        void *launch
        void *module
        uint32_t state
        uint32_t barrier
        uint32_t mask
        uint32_t place
        char *stack
        void *wait_unit
        uint32_t wait_line, votes, voters
    gompy_warp *gompy_running
    void gompy_switch(void **save, void *load) noexcept
    void gompy_resume(void *load) noexcept
    void *gompy_new_stack(char *stack, size_t size, void *function, void *argument) noexcept
    char *gompy_place(const gompy_warp *w, uint64_t address, uint64_t size, int lane) noexcept
    void gompy_cpu(char *text, size_t size) noexcept
    uint64_t gompy_atom(int code, char *place, uint64_t b, uint64_t c) noexcept
    void gompy_lanes(int word, const void *a, const void *b, const void *c, void *out) noexcept
    void gompy_shuffle(int mode, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t *out, uint32_t *ok) noexcept
    void gompy_catch_signals() noexcept
    ctypedef struct stack_t:
        pass
    void gompy_alternate_stack(void *stack, size_t size, stack_t *old) noexcept
    int sigaltstack(const stack_t *, stack_t *) noexcept
    uint64_t gompy_clock(int which) noexcept
    int gompy_compiler_path(char *text, size_t size) noexcept

    enum:
        PTX_SUCCESS
        PTX_ERROR_INVALID_VALUE
        PTX_ERROR_OUT_OF_MEMORY
        PTX_ERROR_INVALID_IMAGE
        PTX_ERROR_INVALID_PTX
        PTX_ERROR_JIT_COMPILER_NOT_FOUND
        PTX_ERROR_SYMBOL_NOT_FOUND
        PTX_ERROR_NOT_FOUND
        PTX_ERROR_ILLEGAL_ADDRESS
        PTX_ERROR_LAUNCH_TIMEOUT
        PTX_ERROR_ILLEGAL_INSTRUCTION
        PTX_ERROR_MISALIGNED_ADDRESS
        PTX_ERROR_INVALID_PC
        PTX_ERROR_LAUNCH_FAILED
        PTX_ERROR_NOT_SUPPORTED
        PTX_CHECK_MEMORY
        PTX_CHECK_INIT
        PTX_CHECK_SYNC
    ctypedef struct ptx_memory:
        uint64_t base
        uint64_t size
        void *user
        uint64_t (*alloc_variable)(void *, size_t, size_t, const char *) noexcept nogil
        void (*free_variable)(void *, uint64_t) noexcept nogil
        uint64_t (*heap_malloc)(void *, size_t) noexcept nogil
        void (*heap_free)(void *, uint64_t) noexcept nogil
        void (*print "print")(void *, const char *, size_t) noexcept nogil
        void (*describe)(void *, uint64_t, char *, size_t) noexcept nogil
        uint8_t *shadow
        void (*warn)(void *, const char *) noexcept nogil
    ctypedef struct ptx_object:
        const char *text
        size_t size
        const char *name
    ctypedef struct ptx_error:
        int code
        int line
        int source_line
        uint32_t ctaid[3]
        uint32_t tid[3]
        uint64_t address
        char kernel[160]
        char function[160]
        char object[160]
        char source[256]
        char message[768]
    ctypedef struct ptx_attributes:
        uint32_t max_threads_per_block
        uint32_t registers
        uint64_t shared_bytes
        uint64_t const_bytes
        uint64_t local_bytes
        uint64_t param_bytes
        uint32_t num_params
        uint32_t ptx_version
    ctypedef struct ptx_launch_config:
        uint32_t grid[3]
        uint32_t block[3]
        uint32_t shared_bytes
        uint32_t threads
        const void *params
        size_t params_size

    ctypedef struct sem_t:
        pass
    int sem_init(sem_t *, int, unsigned int) noexcept
    int sem_wait(sem_t *) noexcept
    int sem_post(sem_t *) noexcept
    int sem_getvalue(sem_t *, int *) noexcept
    ctypedef struct pthread_mutex_t:
        pass
    ctypedef struct pthread_cond_t:
        pass
    ctypedef unsigned long pthread_t
    ctypedef struct pthread_attr_t:
        pass
    int pthread_mutex_init(pthread_mutex_t *, void *) noexcept
    int pthread_mutex_lock(pthread_mutex_t *) noexcept
    int pthread_mutex_unlock(pthread_mutex_t *) noexcept
    int pthread_cond_init(pthread_cond_t *, void *) noexcept
    int pthread_cond_wait(pthread_cond_t *, pthread_mutex_t *) noexcept
    int pthread_cond_broadcast(pthread_cond_t *) noexcept
    int pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *) noexcept nogil, void *) noexcept
    int pthread_detach(pthread_t) noexcept
    int sched_yield() noexcept
    void *aligned_alloc(size_t, size_t) noexcept
    long sysconf(int) noexcept
    int _SC_NPROCESSORS_ONLN

    struct stat_t "stat":
        long st_size
        unsigned st_mode, st_uid
    int fstat(int, stat_t *) noexcept
    int fstatat(int, const char *, stat_t *, int) noexcept
    unsigned geteuid() noexcept
    int mkdirat(int, const char *, unsigned) noexcept
    int fchmodat(int, const char *, unsigned, int) noexcept
    int fchmod(int, unsigned) noexcept
    int renameat(int, const char *, int, const char *) noexcept
    int unlinkat(int, const char *, int) noexcept
    ssize_t getrandom(void *, size_t, unsigned) noexcept
    long lseek(int, long, int) noexcept
    int pthread_setcancelstate(int, int *) noexcept
    int PTHREAD_CANCEL_DISABLE, AT_SYMLINK_NOFOLLOW
    int futimens(int, void *) noexcept
    ctypedef struct sigset_t:
        pass
    int SIG_SETMASK
    int sigfillset(sigset_t *) noexcept
    int pthread_sigmask(int, const sigset_t *, sigset_t *) noexcept
    int SIGSEGV, SIGBUS, SIGFPE, SIGILL
    int sigdelset(sigset_t *, int) noexcept
    int close(int) noexcept
    int getpid() noexcept
    ssize_t read(int, void *, size_t) noexcept
    ssize_t write(int, const void *, size_t) noexcept
    int PROT_READ, PROT_WRITE, PROT_EXEC, PROT_NONE, MAP_PRIVATE, MAP_ANONYMOUS, MAP_FIXED, MAP_NORESERVE
    void *mmap(void *, size_t, int, int, int, long) noexcept
    int munmap(void *, size_t) noexcept
    int mprotect(void *, size_t, int) noexcept
    void *dlsym(void *, const char *) noexcept
    void *RTLD_DEFAULT

    int waitpid(int, int *, int) noexcept

cdef extern from *:
    """
    typedef void (*gompy_code_fn) (struct gompy_warp *, uint32_t, char *, void *);
    static pthread_mutex_t gompy_compile_lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_mutex_t gompy_pool_lock = PTHREAD_MUTEX_INITIALIZER;
    static int gompy_increment (int *p, int by) { return __atomic_add_fetch (p, by, __ATOMIC_SEQ_CST); }
    static uint64_t gompy_next (uint64_t *p) { return __atomic_fetch_add (p, 1, __ATOMIC_SEQ_CST); }
    /* Whether *p was `from`; then it is `to` now.  */
    static int gompy_change (int *p, int from, int to)
    { return __atomic_compare_exchange_n (p, &from, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); }
    static int gompy_claim (int *p) { int zero = 0; return __atomic_compare_exchange_n (p, &zero, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); }
    static void gompy_publish (void **place, void *value) { __atomic_store_n (place, value, __ATOMIC_RELEASE); }
    #define GOMPY_LOCAL 0x80000000ull
    #define GOMPY_SLOW_FILE "slow.S"
    #define GOMPY_SLOW_FILE_CHECKED "slow.s"
    #define GOMPY_FUNCTION_BIT 0x80000000u
    static int gompy_exit_status (int status) { return WIFEXITED (status) ? WEXITSTATUS (status) : -1; }
    static int gompy_lowest (uint32_t mask) { return mask ? __builtin_ctz (mask) : 0; }
    static int gompy_is_map_failed (void *p) { return p == MAP_FAILED; }
    static int gompy_not_ready (void) { return errno == EINTR; }
    static int gompy_not_there (void) { return errno == ENOENT; }
    static int gompy_is_link (void) { return errno == ELOOP; }
    static int gompy_errno (void) { return errno; }
    static int gompy_is_regular (const struct stat *s) { return S_ISREG (s->st_mode); }
    static int gompy_signal_of (int status) { return WIFSIGNALED (status) ? WTERMSIG (status) : 0; }
    """
    ctypedef void (*gompy_code_fn)(gompy_warp *, uint32_t, char *, void *) noexcept nogil
    uint32_t GOMPY_FUNCTION_BIT
    uint64_t GOMPY_LOCAL
    const char *SLOW_FILE "GOMPY_SLOW_FILE"
    const char *SLOW_FILE_CHECKED "GOMPY_SLOW_FILE_CHECKED"
    pthread_mutex_t gompy_compile_lock, gompy_pool_lock
    int gompy_increment(int *p, int by) noexcept nogil
    uint64_t gompy_next(uint64_t *p) noexcept nogil
    int gompy_claim(int *p) noexcept nogil
    bint gompy_change(int *p, int was, int now) noexcept nogil
    void gompy_publish(void **place, void *value) noexcept nogil
    int gompy_exit_status(int status) noexcept nogil
    int gompy_lowest(uint32_t mask) noexcept nogil
    bint gompy_is_map_failed(void *p) noexcept nogil
    bint gompy_not_ready() noexcept nogil
    bint gompy_not_there() noexcept nogil
    bint gompy_is_link() noexcept nogil
    int gompy_errno() noexcept nogil
    bint gompy_is_regular(const stat_t *status) noexcept nogil
    int gompy_signal_of(int status) noexcept nogil
    const char *GOMPY_PTX_IDENTITY

cdef enum:
    SHARED_BASE = 0x7F000000
    PAGE = 4096
    KIND_INDEX = 0
    KIND_CODE = 1
    HASHED_FROM = 32                    # of a file: what `check` is of
    SECTION_STRINGS = 0
    SECTION_LINKS = 1
    SECTION_CODE = 2
    SECTION_TEXT = 3
    SECTION_VARIABLES = 4
    SECTION_FUNCTIONS = 5
    SECTION_PARAMS = 6
    SECTION_RELOCS = 7
    SECTION_DATA = 8
    SECTION_LOCS = 9
    SECTION_FILES = 10
    SECTION_INFO = 11
    SECTION_REFS = 12
    SECTION_COUNT = 13
    SPACE_SHARED = 2
    LINKAGE_LOCAL = 0
    LINKAGE_WEAK = 2
    LINKAGE_COMMON = 3
    LINKAGE_EXTERN = 4
    LINK_UNIT = 0
    LINK_SYMBOL = 1
    LINK_FUNCTION = 2
    LINK_HOST = 3
    FORM_S = 0
    FORM_V = 1
    FORM_E = 2
    FORM_W = 3
    FORM_X = 4
    FORMS = 5
    BUILTINS = 4

# --- cache files (unit.py, index.py) ---------------------------------------------------------------------------------

cdef struct file_section:
    uint64_t offset
    uint64_t bytes

cdef struct file_head:
    char magic[8]
    uint64_t size
    uint64_t check[2]                   # of what follows
    uint8_t subject[32]                 # hash of the compiler, the folder's and the file's names
    uint32_t kind
    uint32_t sections
    uint32_t parts                      # further files with code of the same object
    uint32_t reserved
    file_section section[13]

cdef struct link_record:
    uint32_t kind
    uint32_t name
    uint32_t line
    int32_t reserved

cdef struct code_record:
    uint32_t name
    uint32_t version
    uint64_t offset

cdef struct variable_record:
    uint32_t name
    uint32_t space
    uint32_t linkage
    uint32_t line
    uint64_t size
    uint64_t align
    uint64_t data
    uint64_t data_bytes
    uint32_t first_reloc
    uint32_t relocs

cdef struct function_record:
    uint32_t name
    uint32_t entry
    uint32_t linkage
    uint32_t line
    uint32_t last_line
    uint32_t first_param
    uint32_t params
    uint32_t max_threads
    uint64_t param_bytes
    uint64_t local_bytes
    uint32_t first_ref
    uint32_t refs

cdef struct ref_record:                 # a name that a function refers to
    uint32_t name
    uint32_t line

cdef struct param_record:
    uint64_t offset
    uint64_t size

cdef struct reloc_record:
    uint64_t offset
    uint32_t name
    uint32_t reserved
    int64_t addend

cdef struct loc_record:
    uint32_t line
    uint32_t file
    uint32_t source_line

cdef struct file_record:
    uint32_t number
    uint32_t name

cdef struct info_record:
    uint32_t version
    uint32_t openmp
    uint32_t entries
    uint32_t architecture               # of .target; 0: none

# --- images and modules ----------------------------------------------------------------------------------------------

cdef struct obj:                        # one PTX object of an image
    char key[72]                        # its hash, as text
    char name[160]
    file_head *index
    info_record *info
    uint32_t nvariables
    uint32_t nfunctions
    uint32_t first_variable             # place of its own among all of the image
    uint32_t first_function
    uint32_t *names                     # open addressing: number + 1 of a variable, with the top bit of a function
    uint64_t names_size

cdef struct symbol:                     # a name that other objects see
    const char *name
    uint32_t object
    uint32_t number
    uint32_t linkage
    bint function

cdef struct ptx_image "ptx_image":
    int references
    unsigned check                      # PTX_CHECK_...; 0: code without checks
    size_t nobjects
    obj *objects
    uint32_t nvariables
    uint32_t nfunctions
    symbol *table                       # open addressing
    uint64_t table_size
    uint64_t *shared_offset             # by variable
    uint64_t shared_bytes
    uint64_t const_bytes

cdef struct descriptor "ptx_function":                 # a function: its address is what PTX sees as the function's address
    void *code[5]                       # by form; a stub as long as it is not loaded
    void *module
    const char *name
    uint32_t object
    uint32_t number

cdef struct code_unit:                  # a code file loaded for a module; link word 0 points here
    code_unit *next
    void *module
    uint32_t object
    char *memory
    size_t bytes
    size_t text_bytes
    uint32_t parts                      # further files of the same object

cdef struct site:                       # a place in PTX whose mistakes have been told
    code_unit *unit
    uint32_t line
    int kind

cdef struct findings:
    pthread_mutex_t lock
    site sites[24]
    uint32_t nsites

cdef struct ptx_module "ptx_module":
    ptx_image *image
    const ptx_memory *memory
    uint64_t *addresses                 # by variable
    descriptor *descriptors             # by function, then the builtins
    code_unit *units
    findings *found                     # checked code: what it has told
    uint8_t *shared_template            # and the shadow of a new block's shared memory

ctypedef descriptor ptx_function        # an entry's descriptor
