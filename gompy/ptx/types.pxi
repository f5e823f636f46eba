# Declarations of C, and the structures of the executor.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.stdio cimport FILE, fflush, fclose, fprintf, fread, fwrite, snprintf, stderr, stdout
from libc.stdlib cimport calloc, free, malloc, realloc, qsort
from libc.string cimport (
    memchr, memcmp, memcpy, memset, strchr, strcmp, strerror, strlen, strncmp, strncpy, strrchr, strstr,
)

cdef extern from "hash.h" nogil:
    void gompy_text_key(const char *text, size_t size, char *key) noexcept
    void gompy_content(const char *text, size_t size, uint64_t *out) noexcept

cdef extern from "start.h" nogil:
    enum:
        GOMPY_FIRST_FD
    int gompy_start(const char *program, char **arguments, char **environment, const int *fds, bint talks) noexcept
    ssize_t gompy_hear(int fd, int child, char *text, size_t size) noexcept

from gompy.native.blake2b cimport GOMPY_DIGEST, gompy_blake
from gompy.native.pthread cimport (
    PTHREAD_CANCEL_DISABLE, pthread_create, pthread_detach, pthread_mutex_init, pthread_mutex_lock, pthread_mutex_t,
    pthread_mutex_unlock, pthread_setcancelstate, pthread_setname_np, pthread_t,
)
from gompy.native.signals cimport (
    SIGBUS, SIGFPE, SIGILL, SIGKILL, SIGSEGV, SIG_SETMASK, pthread_sigmask, sigdelset, sigfillset, sigset_t,
)
from gompy.native.mman cimport (
    MAP_ANONYMOUS, MAP_FAILED, MAP_NORESERVE, MAP_PRIVATE, PROT_EXEC, PROT_NONE, PROT_READ, PROT_WRITE, mmap,
    mprotect, munmap,
)
from gompy.native.dlfcn cimport (
    RTLD_DEFAULT, RTLD_NOW, dlerror, dlopen, dlsym,
)
from gompy.native.descriptors cimport (
    O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY,
    gompy_again, gompy_appends, gompy_memfd, gompy_open, gompy_openat, gompy_pipe, gompy_raised,
)
from gompy.native.file_size cimport gompy_write
from gompy.native.environment cimport gompy_child_environ_without, gompy_program, secure_getenv
from gompy.native.limits cimport gompy_limit_hint
from gompy.native.own_threads cimport (
    GOMPY_OWN_PAGE, gompy_own_begins, gompy_own_ends, gompy_own_rests, gompy_own_wakes,
)
from gompy.native.own_folders cimport gompy_cache_folder, gompy_is_ours, gompy_own_folder
from gompy.native.interpreter cimport gompy_python_of
from gompy.native.ptx cimport (
    ATOM_EXCH, ATOM_LATER, ATOM_UNUSED, BARRIER_ALIGNED, BARRIER_ARRIVE, BARRIER_CLUSTER_RELAXED, BARRIER_CLUSTER_WAIT,
    BARRIER_PLACE, BARRIER_SYNC, BUILTIN_COUNT, BUILTIN_FREE, BUILTIN_MALLOC, BUILTIN_VPRINTF,
    CLUSTER_BARRIER, CODE_BOTH, CODE_CHECKED, CODE_PLAIN, CODE_RACING,
    FORM_COUNT, FORM_E, FORM_S, FORM_V, FORM_W, FORM_X, GOMPY_LOCAL_BASE, GOMPY_MAGIC, GOMPY_SHARED_BASE,
    GOMPY_SHARED_LIMIT,
    GOMPY_SLOW_FILE, GOMPY_SLOW_FILE_CHECKED, GOMPY_SLOW_PREFIX, GOMPY_SLOW_PREFIX_CHECKED, HASHED_FROM, KIND_CODE,
    KIND_INDEX, LINKAGE_COMMON, LINKAGE_EXTERN, LINKAGE_LOCAL, LINKAGE_WEAK, LINK_FUNCTION, LINK_HOST, LINK_UNIT,
    MBARRIER_COMPLETE_TX, MBARRIER_TEST, NOTE_BYTES, NOTE_SHIFT, QUERY_LEVEL, QUERY_SURFACE,
    OP_ATOM, OP_BARRIER, OP_BULK, OP_CALL, OP_CLOCK, OP_COUNT, OP_EXIT, OP_LANES, OP_LOAD1, OP_LOAD2, OP_LOAD4,
    OP_LOAD8, OP_LOAD_UNIFORM, OP_MATRIX, OP_MBARRIER, OP_RACE, OP_RACE_ATOM, OP_RACE_COME, OP_RACE_END,
    OP_RACE_FENCE, OP_RACE_MEET, OP_RACE_NOTE, OP_RACE_ROW, OP_RACE_ROW_SOON, OP_RACE_SHARED_SOON,
    OP_RACE_UNIFORM, OP_REDUCE, OP_SHUFFLE, OP_MISALIGNED,
    OP_QUERY, OP_SPREAD, OP_STORE1, OP_STORE2, OP_STORE4, OP_STORE8, OP_STORE_UNIFORM, OP_SURFACE, OP_TEXTURE,
    OP_TRAP, OP_TURNED, OP_TURNS, OP_WARP_SYNC, OP_YIELD, PAGE,
    RACE_ACQUIRES, RACE_ALWAYS, RACE_GLOBAL, RACE_MIXED, RACE_PARAMS, RACE_STRAYS, RACE_STRONG,
    RACE_VARIABLES, RACE_WRITES, READ_LAST, READ_LINES, READ_LOW, READ_SINCE,
    REDUCE_AND, REDUCE_POPC,
    SECTION_CODE, SECTION_COUNT, SECTION_DATA, WHOLE_SHIFT,
    SECTION_FILES, SECTION_FUNCTIONS, SECTION_INFO, SECTION_LINKS, SECTION_LOCS, SECTION_PARAMS,
    SECTION_REFS, SECTION_RELOCS, SECTION_STRINGS, SECTION_TEXT, SECTION_VARIABLES, SPACE_CONST, SPACE_SHARED,
    SPREAD_COLUMNS, SPREAD_DEEP, SPREAD_LANE, TEXTURE_COMPONENT, TEXTURE_CUBE, TEXTURE_GATHER, TEXTURE_GRADIENT,
    TEXTURE_LAYERED, TEXTURE_LEVEL, SURFACE_BYTES, SURFACE_COUNT,
    SURFACE_FORMATTED, SURFACE_LAYERED, SURFACE_MODE, SURFACE_MODES_TRAP, SURFACE_MODES_ZERO, SURFACE_REDUCE,
    SURFACE_SIGNED, SURFACE_STORE,
    TRAP_LOCAL_MEMORY,
    TRAP_NOT_UNIFORM, code_record, file_head, file_record, function_record, gompy_builtins, gompy_code_kinds,
    gompy_form_letters, info_record, link_record, loc_record, param_record, ref_record, reloc_record, variable_record,
)
from gompy.native.ptx_executor cimport (
    PTX_CHECK_INIT, PTX_CHECK_MEMORY, PTX_CHECK_RACE, PTX_CHECK_SYNC, PTX_ERROR_ILLEGAL_ADDRESS,
    PTX_ERROR_ILLEGAL_INSTRUCTION,
    PTX_ERROR_INVALID_PC, PTX_ERROR_INVALID_PTX, PTX_ERROR_INVALID_VALUE, PTX_ERROR_JIT_COMPILER_NOT_FOUND,
    PTX_ERROR_ASSERT, PTX_ERROR_LAUNCH_FAILED, PTX_ERROR_LAUNCH_TIMEOUT, PTX_ERROR_MISALIGNED_ADDRESS,
    PTX_ERROR_NOT_FOUND, PTX_ERROR_NOT_SUPPORTED, PTX_ERROR_OUT_OF_MEMORY, PTX_ERROR_SYMBOL_NOT_FOUND, PTX_SUCCESS,
    PTX_TEXTURE_CLAMP, PTX_TEXTURE_LEVELS, PTX_TEXTURE_MAGIC, PTX_TEXTURE_NORMALIZED, PTX_TEXTURE_SURFACE,
    ptx_attributes, ptx_error, ptx_host_ranges, ptx_launch_config, ptx_memory,
    ptx_object, ptx_texture,
)

from gompy.native.clock cimport thread_ns

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
        uint8_t *whole
        void *races
        uint64_t race_mask
        uint64_t *race_blocks
        void *notes
        uint64_t note_mask
        uint64_t workspace
        void *first
        void *following
        void *at
        void *sums
        uint32_t group
        uint32_t mask
        void *sp
        void *runner
        void *launch
        void *module
        uint32_t barrier
        uint32_t place
        char *stack
        void *wait_unit
        uint32_t wait_line, wait_place, votes, voters
        const ptx_memory *memory
        uint64_t far_size
    gompy_warp *gompy_running
    void gompy_switch(void **save, void *load) noexcept
    void gompy_resume(void *load) noexcept
    void gompy_barrier(gompy_warp *w, uint32_t mask, int kind, uint32_t number, uint32_t threads, void *unit,
                       uint32_t line) noexcept
    void *(*gompy_meet)(gompy_warp *w, uint32_t mask, int kind, uint32_t number, uint32_t threads, void *unit,
                        uint32_t line, void *sp) noexcept nogil
    void *gompy_new_stack(char *stack, size_t size, void *function, void *argument, void **home) noexcept
    bint gompy_in_shadow(const gompy_warp *w, uint64_t address) noexcept
    char *gompy_place(const gompy_warp *w, uint64_t address, uint64_t size, int lane) noexcept
    void gompy_cpu(char *text, size_t size) noexcept
    uint64_t gompy_atom(int code, char *place, uint64_t b, uint64_t c) noexcept
    bint gompy_atom_warp(const gompy_warp *w, uint32_t mask, int code, const uint64_t *a, const uint64_t *b,
                         const uint64_t *c, uint64_t *out) noexcept
    bint gompy_atom_shared_add(const gompy_warp *w, uint32_t mask, int code, const uint64_t *a,
                               const uint64_t *b) noexcept
    void gompy_lanes(int word, const void *a, const void *b, const void *c, void *out) noexcept
    void gompy_matrix(uint32_t shape, uint32_t types, const void *a, const void *b, const void *c,
                      void *out) noexcept
    void gompy_matrix_spread(int type, int columns, int deep, int first, const uint32_t *a, const uint32_t *metadata,
                             uint32_t *out)
    unsigned gompy_texture_component(uint32_t format) noexcept
    void gompy_texture_gather(const ptx_texture *t, unsigned component, const uint32_t *place, uint32_t *out)
    uint32_t gompy_texture_query(const ptx_texture *t, unsigned what)
    bint gompy_surface_has_sign(uint32_t format)
    void gompy_surface_put(char *place, uint32_t format, uint32_t value)
    void gompy_surface_reduce(char *place, unsigned size, unsigned operation, bint has_sign, uint64_t value)
    void gompy_texture_between(const ptx_texture *t, float part, const uint32_t *other, uint32_t *found)
    void gompy_texture_level(const ptx_texture *t, unsigned level, ptx_texture *out)
    float gompy_texture_lod(const ptx_texture *t, int dimensions, const uint32_t *rows)
    int gompy_texture_face(const uint32_t *direction, size_t step, uint32_t *place)
    void gompy_texture(const ptx_texture *t, int dimensions, int floats, const uint32_t *place,
                       uint32_t *out) noexcept
    uint64_t gompy_mbarrier(int step, uint64_t state, uint64_t value, uint64_t *answer) noexcept
    void gompy_shuffle(int mode, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t *out,
                       uint32_t *ok) noexcept
    void gompy_catch_signals(bint first) noexcept
    void gompy_need_signal_stack() noexcept
    struct gompy_modes:
        pass
    void gompy_usual(gompy_modes *was) noexcept
    void gompy_as_before(const gompy_modes *was) noexcept
    uint32_t gompy_lanes_with(const uint64_t *values, uint64_t value) noexcept
    int gompy_forks
    uint64_t gompy_ticks() noexcept
    uint64_t gompy_clock(int which) noexcept
    int gompy_own_path(char *text, size_t size, const char *below) noexcept
    int gompy_compiler_path(char *text, size_t size) noexcept

    ctypedef struct sem_t:
        pass
    int sem_init(sem_t *, int, unsigned int) noexcept
    int sem_wait(sem_t *) noexcept
    int sem_post(sem_t *) noexcept
    int sem_getvalue(sem_t *, int *) noexcept
    int sched_yield() noexcept
    void *aligned_alloc(size_t, size_t) noexcept
    long sysconf(int) noexcept
    int _SC_NPROCESSORS_ONLN

    struct stat_t "stat":
        long st_size
        unsigned st_mode, st_uid
    int fstat(int, stat_t *) noexcept
    int fstatat(int, const char *, stat_t *, int) noexcept
    int fchmod(int, unsigned) noexcept
    int renameat(int, const char *, int, const char *) noexcept
    int unlinkat(int, const char *, int) noexcept
    ssize_t getrandom(void *, size_t, unsigned) noexcept
    long lseek(int, long, int) noexcept
    int AT_SYMLINK_NOFOLLOW
    int futimens(int, void *) noexcept
    int close(int) noexcept
    ssize_t read(int, void *, size_t) noexcept
    ssize_t pread(int, void *, size_t, long) noexcept
    ssize_t write(int, const void *, size_t) noexcept

    int waitpid(int, int *, int) noexcept

cdef extern from *:
    """
    typedef void (*gompy_code_fn) (struct gompy_warp *, uint32_t, char *, void *);
    static pthread_mutex_t gompy_compile_lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_mutex_t gompy_pool_lock = PTHREAD_MUTEX_INITIALIZER;
    static int gompy_increment (int *p, int by) { return __atomic_add_fetch (p, by, __ATOMIC_SEQ_CST); }
    static uint64_t gompy_take (uint64_t *p, uint64_t count) { return __atomic_fetch_add (p, count, __ATOMIC_SEQ_CST); }
    /* Whether *p was `from`; then it is `to` now.  */
    static int gompy_change (int *p, int from, int to)
    { return __atomic_compare_exchange_n (p, &from, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); }
    static int gompy_claim (int *p) { int zero = 0;
    return __atomic_compare_exchange_n (p, &zero, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); }
    static void *gompy_swap (void **p, void *to) { return __atomic_exchange_n (p, to, __ATOMIC_ACQ_REL); }
    static void gompy_publish (void **place, void *value) { __atomic_store_n (place, value, __ATOMIC_RELEASE); }
    #define GOMPY_FUNCTION_BIT 0x80000000u
    static int gompy_exit_status (int status) { return WIFEXITED (status) ? WEXITSTATUS (status) : -1; }
    static int gompy_lowest (uint32_t mask) { return mask ? __builtin_ctz (mask) : 0; }
    static int gompy_is_map_failed (void *p) { return p == MAP_FAILED; }
    static int gompy_not_ready (void) { return errno == EINTR; }
    static int gompy_is_link (void) { return errno == ELOOP; }
    static int gompy_errno (void) { return errno; }
    static int gompy_is_regular (const struct stat *s) { return S_ISREG (s->st_mode); }
    static int gompy_signal_of (int status) { return WIFSIGNALED (status) ? WTERMSIG (status) : 0; }
    """
    ctypedef void (*gompy_code_fn)(gompy_warp *, uint32_t, char *, void *) noexcept nogil
    uint32_t GOMPY_FUNCTION_BIT
    pthread_mutex_t gompy_compile_lock, gompy_pool_lock
    int gompy_increment(int *p, int by) noexcept nogil
    uint64_t gompy_take(uint64_t *p, uint64_t count) noexcept nogil
    int gompy_claim(int *p) noexcept nogil
    bint gompy_change(int *p, int was, int now) noexcept nogil
    void gompy_publish(void **place, void *value) noexcept nogil
    void *gompy_swap(void **place, void *value) noexcept nogil
    int gompy_exit_status(int status) noexcept nogil
    int gompy_lowest(uint32_t mask) noexcept nogil
    bint gompy_is_map_failed(void *p) noexcept nogil
    bint gompy_not_ready() noexcept nogil
    bint gompy_is_link() noexcept nogil
    int gompy_errno() noexcept nogil
    bint gompy_is_regular(const stat_t *status) noexcept nogil
    int gompy_signal_of(int status) noexcept nogil
    const char *GOMPY_PTX_IDENTITY

# --- images and modules ----------------------------------------------------------------------------------------------

cdef struct obj:                        # one PTX object of an image
    char key[72]                        # its hash, as text
    char name[160]
    char *text                          # a copy of ours: the one in the cache may be removed
    size_t text_size
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

cdef enum:
    CACHE_LINE = 64
    SHARED_MARGIN = 128                 # bytes of shared memory in front of a block's variables: a row of 32 words

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
    uint64_t shared_bytes               # of the kernel with most, gaps counted: dynamic shared memory begins there
    uint64_t *kernel_shared             # bytes by function (shared.pxi)
    uint64_t *shared_sets               # by function: a bit for each shared variable that it can reach
    uint32_t set_words                  # of each
    uint64_t const_bytes

# A function: its address is what PTX sees as the function's address
cdef struct descriptor "ptx_function":
    void *code[5]                       # by form; a stub as long as it is not loaded
    void *module
    const char *name
    uint32_t object
    uint32_t number
    bint launched                       # as a kernel, before
    uint64_t ticks                      # of the processor's clock that a block took last time; 0: not known
    uint32_t tries                      # launches on several threads that may do better on one
    uint32_t seeded                     # launches with a seed (choose_order)
    int alone                           # ALONE_UNKNOWN, ALONE, NOT_ALONE (alone.pxi)
    uint32_t whole                      # a bit for each form whose code can run all warps of a block (fission.py)
    uint32_t aligned                    # … that is for blocks whose rows are multiples of 32 threads (warps.py)
    uint64_t writes, plain              # a kernel's, in code whose races may be looked for (conflicts.py)

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

cdef struct doubt:                      # a read of a module's variable that the host has changed (check.pxi)
    doubt *next
    void *launch
    site place
    const uint8_t *shadow               # of the first such byte
    char message[768]                   # as ptx_error has it

cdef struct findings:
    pthread_mutex_t lock
    site sites[24]
    uint32_t nsites
    uint32_t pairs[24][2]               # of places that race (race_calls.pxi)
    uint32_t npairs
    uint64_t counter                    # where libgomp counts threads, or 0 (race_calls.pxi)
    doubt *doubts                       # of launches under way

cdef struct ptx_module "ptx_module":
    ptx_image *image
    const ptx_memory *memory
    uint64_t *addresses                 # by variable
    descriptor *descriptors             # by function, then the builtins
    descriptor *named                   # whose addresses PTX sees: its own, or those of the module whose twin it is
    code_unit *units
    findings *found                     # checked code: what it has told
    ptx_module *twin                    # the same without checks, or NULL (twins.pxi)
    bint twin_failed

ctypedef descriptor ptx_function        # an entry's descriptor
