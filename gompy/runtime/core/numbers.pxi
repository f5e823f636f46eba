# Numbers that are libgomp's own, or ours.  Those of GCC's interface come from gompy/abi.

from gompy.native.gomp cimport *
from gompy.native.gomp_newer cimport *
from gompy.native.interop cimport *
from gompy.native.llvm cimport *

cdef enum:
    OMP_INITIAL_DEVICE = -1  # omp.h of GCC 13
    OMP_INVALID_DEVICE = -4
    GOMP_TARGET_FLAG_UPDATE = 0x40000000  # ours: a deferred update (libgomp.h has an internal bit as well)

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
