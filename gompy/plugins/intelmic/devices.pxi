# The host's record of each device, the services of the runtime, and the environment variables.

from gompy.native.gomp_newer cimport (
    GOMP_REQUIRES_REVERSE_OFFLOAD,
    GOMP_REQUIRES_UNIFIED_ADDRESS,
    GOMP_VERSION_INDIRECT_FUNCS,
    GOMP_VERSION_REQUIRES_MASK,
)
from gompy.native.gomp cimport (
    GOACC_PROPERTY_DRIVER,
    GOACC_PROPERTY_FREE_MEMORY,
    GOACC_PROPERTY_MEMORY,
    GOACC_PROPERTY_NAME,
    GOACC_PROPERTY_VENDOR,
    GOMP_DEVICE_INTEL_MIC,
    GOMP_OFFLOAD_CAP_OPENACC_200,
    GOMP_OFFLOAD_CAP_OPENMP_400,
)
from gompy.native.llvm cimport ACCEL_LLVM
from gompy.native.runtime_interface cimport gompy_answer_count, gompy_answer_version, gompy_newer_runtime
from gompy.native.plugin cimport (
    AddrPair,
    GOMP_PLUGIN_acc_default_dim,
    GOMP_PLUGIN_acc_thread,
    GOMP_PLUGIN_debug,
    GOMP_PLUGIN_error,
    GOMP_PLUGIN_fatal,
    GOMP_PLUGIN_malloc,
    GOMP_PLUGIN_target_task_completion,
    c_bool,
    gompy_target_rev,
)

from gompy.native.profiling cimport (
    GoaccThread,
    acc_device_api_other,
    acc_ev_alloc,
    acc_ev_free,
    acc_event_info,
    acc_prof_info,
    profile_data,
    profile_launch,
    profile_pause,
    profile_resume,
    profiled,
)

cdef extern from *:
    """
    #include "gompy/plugins/intelmic/page_marks.h"
    #define MIC_DEVICES 64
    struct host_image
    {
      const void *target_data;
      const char *bytes;      /* the ELF image, in the host's memory */
      size_t size;
      const char *name;       /* of the link, or NULL */
      int64_t number;         /* on the device */
      uintptr_t base;         /* where it lies on the device */
      struct host_image *next;
    };
    struct mic_touched { uint64_t begin, end; }; /* end 0: none */
    #define GUARD_IDLE 256 /* freed blocks that stay closed */
    struct mic_idle { uint64_t offset, bytes; };
    /* What the device had in a page outside the arena when it was last looked at, and what of it was out of date.  */
    struct mic_outer_kept { unsigned char had[4096], stale[4096]; int known; };
    struct mic_device
    {
      int number;
      int running;            /* between init_device and fini_device */
      pid_t pid;              /* of the device process (or the tool that runs it) */
      struct gompy_kept file; /* memfd */
      struct gompy_kept pipe; /* its write end, which tells the device of our end */
      uint32_t gone;          /* death was noticed */
      pthread_mutex_t zones_lock;
      int oldest_zone;
      struct mic_touched zones[16]; /* see first_touch.pxi */
      int no_huge;            /* see huge_pages.pxi: they are refused */
      uint64_t huge_patience; /* bytes to go on by other means after slow ones */
      uint64_t huge_spent;    /* ns that slow ones took in the place of small pages */
      unsigned huge_waits, huge_slow; /* see huge_pages.pxi: so many 2 MiB do without, now and after a slow one */
      struct mic_control *control;
      char *memory;           /* the arena in our address space */
      uintptr_t base, size;   /* and in the device's */
      uint64_t free_slots;    /* launch slots: bit set = free */
      uint64_t started_slots; /* slots whose thread runs on the device */
      uint32_t spin_ns[MIC_SLOTS]; /* how long the host looks before it sleeps, by slot */
      pthread_mutex_t commands;
      struct arena small, large; /* below and above `split` */
      uintptr_t split;
      struct host_image *images;
      char directory[256];    /* for image files under OFFLOAD_EMUL_RUN, empty: none */
      int files;
      int guarded;            /* GOMPY_CHECK */
      unsigned char *marks;   /* of the arena's bytes, or NULL; see marks.pxi */
      struct mic_pages pages; /* with them, those of whole pages */
      struct mic_outer_kept *outer_kept; /* of outer_marks.pxi */
      int exact;              /* there are images that tell of their accesses (-foffload-check) */
      int inexact_told;       /* one came later than the device, and that has been told */
      uint32_t reads_told;    /* a bit for each of MIC_READS */
      char preload[64];       /* library that the device process has before all others, empty: none */
      struct mic_idle idle[GUARD_IDLE]; /* see guards.pxi */
      unsigned oldest_idle, next_idle; /* numbers, modulo GUARD_IDLE */
      uint64_t idle_bytes;
      int taken_as_set; /* new memory counts as written, and freed blocks stay open: guard_rests.pxi */
      struct mic_idle open_blocks[GUARD_IDLE]; /* these, the last one last */
      unsigned open_count;
      uint64_t open_bytes;
      pthread_mutex_t idle_lock;
      uint64_t words_begin, words_size; /* a room, and which of its blocks are free; see words.pxi */
      uint64_t words_free;
      int queues;             /* OpenACC's, whose threads may be copying */
      pthread_mutex_t queue_lock; /* for the end of control->queue */
      char taken[MIC_CELLS];  /* its cells that hold a region which nobody has waited for yet */
      uint32_t unawaited;     /* their number */
      int workers;            /* it has a thread on the device */
      uint32_t queue_spin_ns; /* as spin_ns, for its regions */
      int called;             /* regions may call functions of the host */
    };
    static struct mic_device mic_device_table[MIC_DEVICES];
    static pthread_mutex_t mic_plugin_lock = PTHREAD_MUTEX_INITIALIZER;
    /* Set in a child that the program forks: the devices stay its parent's, and their memory isn't mapped there.  */
    static int mic_forked;
    static void mic_note_fork (void) { mic_forked = 1; }
    static void mic_watch_forks (void)
    {
      static int watching;
      if (!watching)
        watching = pthread_atfork (NULL, NULL, mic_note_fork) == 0;
    }
    """
    int MIC_DEVICES
    struct host_image:
        const void *target_data
        const char *bytes
        size_t size
        const char *name
        int64_t number
        uintptr_t base
        host_image *next
    struct mic_touched:
        uint64_t begin
        uint64_t end
    unsigned GUARD_IDLE
    struct mic_idle:
        uint64_t offset
        uint64_t bytes
    struct mic_outer_kept:
        unsigned char had[4096]
        unsigned char stale[4096]
        int known
    struct mic_device:
        int number
        int running
        pid_t pid
        gompy_kept file
        gompy_kept pipe
        uint32_t gone
        pthread_mutex_t zones_lock
        int oldest_zone
        mic_touched zones[16]
        int no_huge
        uint64_t huge_patience
        uint64_t huge_spent
        unsigned huge_waits
        unsigned huge_slow
        mic_control *control
        char *memory
        uintptr_t base
        uintptr_t size
        uint64_t free_slots
        uint64_t started_slots
        uint32_t spin_ns[64]
        pthread_mutex_t commands
        arena small
        arena large
        uintptr_t split
        host_image *images
        char directory[256]
        int files
        char preload[64]
        int guarded
        unsigned char *marks
        mic_pages pages
        mic_outer_kept *outer_kept
        int exact
        int inexact_told
        uint32_t reads_told
        mic_idle idle[256]
        unsigned oldest_idle
        unsigned next_idle
        uint64_t idle_bytes
        bint taken_as_set
        mic_idle open_blocks[256]
        unsigned open_count
        uint64_t open_bytes
        pthread_mutex_t idle_lock
        uint64_t words_begin
        uint64_t words_size
        uint64_t words_free
        int queues
        pthread_mutex_t queue_lock
        char taken[256]
        uint32_t unawaited
        int workers
        uint32_t queue_spin_ns
        int called
    mic_device mic_device_table[64]
    pthread_mutex_t mic_plugin_lock
    int mic_forked
    void watch_forks "mic_watch_forks"() nogil

cdef bint mic_openacc  # a thread of the program uses OpenACC
cdef int configured_devices  # number of devices + 1 once the environment has been read


cdef int count_devices() noexcept nogil:
    """OFFLOAD_EMUL_NUM: number of devices, 1 without it.  What isn't a number from 0 to 64 is told, and counts as 1."""
    global configured_devices
    cdef const char *text
    cdef char *end
    cdef long n = 1
    if configured_devices:
        return configured_devices - 1
    text = secure_getenv(b"OFFLOAD_EMUL_NUM")
    if text != NULL and text[0]:
        n = strtol(text, &end, 10)
        if end[0] or n < 0 or n > MIC_DEVICES:
            GOMP_PLUGIN_error(b"OFFLOAD_EMUL_NUM=%s: not a number from 0 to %d; using 1 device", text, MIC_DEVICES)
            n = 1
    configured_devices = <int>n + 1
    return <int>n


cdef int teams_at_a_time() noexcept nogil:
    """OFFLOAD_EMUL_TEAMS: how many teams of a region run at the same time, 0 without it (the device decides)."""
    cdef const char *text = secure_getenv(b"OFFLOAD_EMUL_TEAMS")
    cdef char *end
    cdef long n
    if text == NULL or text[0] == 0:
        return 0
    n = strtol(text, &end, 10)
    if end[0] or n < 1 or n > MIC_TEAMS:
        GOMP_PLUGIN_error(b"OFFLOAD_EMUL_TEAMS=%s: not a number from 1 to %d; ignored", text, MIC_TEAMS)
        return 0
    return <int>n


cdef extern from *:
    """
    static uint64_t mic_limited_room (uint64_t n, unsigned known, uint64_t fixed)
    {
      struct rlimit r;
      if (getrlimit (RLIMIT_AS, &r) != 0 || r.rlim_cur == RLIM_INFINITY)
        return n;
      uint64_t most = r.rlim_cur > fixed ? (r.rlim_cur - fixed) / 2 / known : 0;
      return most == 0 ? 1 : n > most ? most : n;
    }
    """
    uint64_t limited_room "mic_limited_room"(uint64_t n, unsigned known, uint64_t fixed) nogil


cdef uint64_t arena_size_wanted(unsigned known, uint64_t fixed) noexcept nogil:
    """OFFLOAD_EMUL_MEM: bytes of device memory, with K, M, G or T.  A multiple of 2 MiB.

    Without it 64G, under a tool 4G: valgrind spends seconds on every 64G that are mapped.  Where address space is
    limited, at most half of it: the device process, which has the same limit, has an image and threads besides.
    That half has room for what is kept of the memory, too: ``known`` bytes for each byte, itself among them.
    ``fixed`` bytes are kept besides.
    """
    cdef const char *text = secure_getenv(b"OFFLOAD_EMUL_MEM")
    cdef char *end
    cdef uint64_t n = 64, shift = 30
    if secure_getenv(b"OFFLOAD_EMUL_RUN") != NULL and secure_getenv(b"OFFLOAD_EMUL_RUN")[0]:
        n = 4
    if text != NULL and text[0]:
        n = strtoull(text, &end, 10)
        shift = 0
        if end[0] == c'k' or end[0] == c'K':
            shift = 10
        elif end[0] == c'm' or end[0] == c'M':
            shift = 20
        elif end[0] == c'g' or end[0] == c'G':
            shift = 30
        elif end[0] == c't' or end[0] == c'T':
            shift = 40
        if text[0] == c'-' or end == text or end[1 if shift else 0] or n == 0 or n > (<uint64_t>16 << 40) >> shift:
            GOMP_PLUGIN_error(b"OFFLOAD_EMUL_MEM=%s: not a size from 1 to 16T, such as 512M; using 4G", text)
            n, shift = 4, 30
        n <<= shift
    else:
        n = limited_room(n << shift, known, fixed)
    return (n + (2 << 20) - 1) & ~<uint64_t>((2 << 20) - 1)


cdef inline mic_device *device_of(int number) noexcept nogil:
    """The record of a running device; any other number is the caller's mistake and fatal."""
    if number < 0 or number >= MIC_DEVICES or not mic_device_table[number].running:
        GOMP_PLUGIN_fatal(b"device %d (intelmic) is not initialised", number)
    if mic_forked:
        GOMP_PLUGIN_fatal(b"device %d (intelmic) belongs to the parent of this forked process", number)
    return &mic_device_table[number]


cdef const char *image_name(host_image *image) noexcept nogil:
    """What messages call an image."""
    return image.name if image.name != NULL else <const char *>b"image"
