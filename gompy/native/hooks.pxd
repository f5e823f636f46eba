# What happens in the runtime, for those who want to know: gompy/native/hooks.h.

from libc.stdint cimport uint64_t, uintptr_t

cdef extern from "gompy/native/hooks.h" nogil:
    enum:
        GOMPY_SUBSCRIBERS
        HOOK_CONSTRUCT "GOMPY_HOOK_CONSTRUCT"
        HOOK_FALLBACK "GOMPY_HOOK_FALLBACK"
        HOOK_MAP "GOMPY_HOOK_MAP"
        HOOK_ALLOC "GOMPY_HOOK_ALLOC"
        HOOK_FREE "GOMPY_HOOK_FREE"
        HOOK_COPY "GOMPY_HOOK_COPY"
        HOOK_LAUNCH "GOMPY_HOOK_LAUNCH"
        HOOK_IMAGE "GOMPY_HOOK_IMAGE"
        HOOK_DEVICE "GOMPY_HOOK_DEVICE"
        HOOK_QUEUE "GOMPY_HOOK_QUEUE"
        HOOK_ALL "GOMPY_HOOK_ALL"
        PHASE_BEGIN "GOMPY_BEGIN"
        PHASE_END "GOMPY_END"
        PHASE_ONCE "GOMPY_ONCE"
        COPY_TO_DEVICE "GOMPY_COPY_TO_DEVICE"
        COPY_TO_HOST "GOMPY_COPY_TO_HOST"
        COPY_WITHIN "GOMPY_COPY_WITHIN"
        MAP_NEW "GOMPY_MAP_NEW"
        MAP_PRESENT "GOMPY_MAP_PRESENT"
        MAP_KEPT "GOMPY_MAP_KEPT"
        MAP_REMOVED "GOMPY_MAP_REMOVED"
        MAP_UPDATED "GOMPY_MAP_UPDATED"
        MAP_OWN "GOMPY_MAP_OWN"
        MAP_ATTACHED "GOMPY_MAP_ATTACHED"
        MAP_ABSENT "GOMPY_MAP_ABSENT"
        LAUNCH_NOW "GOMPY_LAUNCH_NOW"
        LAUNCH_LATER "GOMPY_LAUNCH_LATER"
        IMAGE_LOAD "GOMPY_IMAGE_LOAD"
        IMAGE_UNLOAD "GOMPY_IMAGE_UNLOAD"
        DEVICE_INIT "GOMPY_DEVICE_INIT"
        DEVICE_FINI "GOMPY_DEVICE_FINI"
        QUEUE_MAKE "GOMPY_QUEUE_MAKE"
        QUEUE_DROP "GOMPY_QUEUE_DROP"
        QUEUE_WAIT "GOMPY_QUEUE_WAIT"
        QUEUE_ORDER "GOMPY_QUEUE_ORDER"
    struct Construct "gompy_construct":
        bint on
        uint64_t number
        const char *what
        const void *where
        const void *region
        int code
        void *door
        int device
        unsigned teams
        Construct *outer
        uint64_t own[8]
        const char *place
        unsigned entries
        uint64_t rounds
    struct HookEvent "gompy_event":
        int kind
        int phase
        int detail
        bint good
        int device
        const char *device_name
        Construct *construct
        uintptr_t host
        uintptr_t target
        size_t size
        size_t bytes
        uintptr_t count
        int map_kind
        const char *map_words
        size_t entry
        const void *region
        const char *reason
        void *queue
        const void *image
        unsigned teams
        uintptr_t function
        size_t words
        void **arguments
        void **limits
        const unsigned *dims
        const void *shape
        const void *pairs
        uint64_t own[8]
    ctypedef void (*hook_fn "gompy_hook_fn")(HookEvent *event, int slot) noexcept nogil
