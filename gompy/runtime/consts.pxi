# Numbers of GCC 12's offloading ABI: include/gomp-constants.h unless another file is named.

cdef enum:
    # --- device numbers (gomp-constants.h) ---
    GOMP_DEVICE_ICV = -1
    GOMP_DEVICE_HOST_FALLBACK = -2
    OMP_INVALID_DEVICE = -4  # omp.h of GCC 13

    # --- flags of GOMP_target_ext, _update_ext, _enter_exit_data ---
    GOMP_TARGET_FLAG_NOWAIT = 1
    GOMP_TARGET_FLAG_EXIT_DATA = 2
    GOMP_TARGET_FLAG_UPDATE = 0x40000000  # ours: a deferred update (libgomp.h has an internal bit as well)

    # --- words of GOMP_target_ext's args ---
    GOMP_TARGET_ARG_DEVICE_MASK = 0x7F
    GOMP_TARGET_ARG_SUBSEQUENT_PARAM = 0x80
    GOMP_TARGET_ARG_ID_MASK = 0xFF00
    GOMP_TARGET_ARG_NUM_TEAMS = 0x100
    GOMP_TARGET_ARG_THREAD_LIMIT = 0x200
    GOMP_TARGET_ARG_VALUE_SHIFT = 16

    # --- flags of GOMP_task ---
    GOMP_TASK_FLAG_DEPEND = 8

    # --- which, of GOMP_cancellation_point ---
    GOMP_CANCEL_PARALLEL = 1
    GOMP_CANCEL_TASKGROUP = 8

    # --- capabilities of a device (libgomp-plugin.h) ---
    CAP_SHARED_MEM = 1
    CAP_NATIVE_EXEC = 2
    CAP_OPENMP_400 = 4
    CAP_OPENACC_200 = 8

    # --- device types (libgomp-plugin.h) ---
    TYPE_NVIDIA_PTX = 5
    TYPE_INTEL_MIC = 6
    TYPE_GCN = 8

    # --- GOMP_VERSION, the version of the plugin interface and of images ---
    GOMP_VERSION = 1

    # --- map kinds ---
    MAP_ALLOC = 0x00
    MAP_TO = 0x01
    MAP_FROM = 0x02
    MAP_TOFROM = 0x03
    MAP_POINTER = 0x04
    MAP_TO_PSET = 0x05
    MAP_FORCE_PRESENT = 0x06
    MAP_DELETE = 0x07
    MAP_FORCE_DEVICEPTR = 0x08
    MAP_IF_PRESENT = 0x0B
    MAP_FIRSTPRIVATE = 0x0C
    MAP_FIRSTPRIVATE_INT = 0x0D
    MAP_USE_DEVICE_PTR = 0x0E
    MAP_ZERO_LEN_ARRAY_SECTION = 0x0F
    MAP_USE_DEVICE_PTR_IF_PRESENT = 0x10
    MAP_ALWAYS_TO = 0x11
    MAP_ALWAYS_FROM = 0x12
    MAP_ALWAYS_TOFROM = 0x13
    MAP_RELEASE = 0x17
    MAP_STRUCT = 0x1C
    MAP_ALWAYS_POINTER = 0x1D
    MAP_POINTER_TO_ZERO_LENGTH_ARRAY_SECTION = 0x1E
    MAP_DELETE_ZERO_LEN_ARRAY_SECTION = 0x1F
    MAP_ATTACH = 0x50
    MAP_DETACH = 0x51
    MAP_ATTACH_ZERO_LENGTH_ARRAY_SECTION = 0x52
    MAP_FORCE_ALLOC = 0x80
    MAP_FORCE_TO = 0x81
    MAP_FORCE_FROM = 0x82
    MAP_FORCE_TOFROM = 0x83
    MAP_FORCE_DETACH = 0xD1
    MAP_FLAG_FORCE = 0x80
    MAP_FLAG_TO = 1
    MAP_FLAG_FROM = 2
    MAP_FLAG_SPECIAL = 0x0C
    MAP_IMPLICIT = 0x60
    MAP_SPECIAL_BITS = 0x7C

    # --- pairing of host and image: objects/names.py, docs/internals.md ---
    OBJECT_KIND_ID = 0
    OBJECT_KIND_LTO = 1
    OBJECT_KIND_HOST_ONLY = 2
    OBJECT_KIND_STOCK = 3
    ACCEL_STOCK = 1
    IMAGE_ABI = 1

    # --- OMP_TARGET_OFFLOAD (libgomp.h) ---
    OFFLOAD_DEFAULT = 0
    OFFLOAD_MANDATORY = 1
    OFFLOAD_DISABLED = 2

    # --- state of a device (libgomp.h) ---
    DEVICE_UNINITIALIZED = 0
    DEVICE_INITIALIZED = 1
    DEVICE_FINALIZED = 2

    # --- what a map call belongs to (libgomp.h: enum gomp_map_vars_kind) ---
    VARS_TARGET = 2
    VARS_DATA = 4
    VARS_ENTER_DATA = 8

    # --- how a mapping counts its references (libgomp.h: the special values of refcount) ---
    REF_COUNTED = 0
    REF_INFINITY = 1
    REF_LINK = 2
    REF_STRUCT_ELEMENT = 3

cdef extern from *:
    """
    #define OFFSET_INLINED (~(uintptr_t) 0)
    #define OFFSET_POINTER (~(uintptr_t) 1)
    #define OFFSET_STRUCT (~(uintptr_t) 2)
    #define OFFSET_LATER (~(uintptr_t) 3)
    #define GOMPY_LINK_BIT ((uintptr_t) 1 << 63)
    #define GOMPY_SIZE_UNKNOWN ((uintptr_t) 1 << 62)
    #define GOMPY_IMAGE_MAGIC UINT64_C (0x43494d59504d4f47) /* "GOMPYMIC" */
    """
    # Offsets of a map entry without a key: how its argument word is made (libgomp.h).
    uintptr_t OFFSET_INLINED  # the host word itself
    uintptr_t OFFSET_POINTER  # NULL
    uintptr_t OFFSET_STRUCT  # base of the struct whose members follow
    uintptr_t OFFSET_LATER  # ours: use_device_ptr that waits for the maps of its construct
    uintptr_t LINK_BIT "GOMPY_LINK_BIT"
    uintptr_t SIZE_UNKNOWN "GOMPY_SIZE_UNKNOWN"
    uint64_t IMAGE_MAGIC "GOMPY_IMAGE_MAGIC"
