# What the device process knows: its place in shared memory and what has been loaded.

cdef extern from *:
    """
    #define MIC_IMAGES 1024
    struct mic_image { void *handle; uintptr_t base, text_begin, text_end; void **regions, **regions_end; int fd;
                       void (*flush_units) (int *); void **indirect; int calls_host; };
    /* The launch slot that the calling thread works for; inherited by the threads it creates.  */
    static __thread int mic_thread_slot = -1;
    static struct mic_image mic_images[MIC_IMAGES];
    static int mic_host_maps; /* the host's /proc/<pid>/maps, -1: there is no /proc */
    """
    int host_maps "mic_host_maps"
    int MIC_IMAGES
    struct mic_image:
        void *handle
        uintptr_t base
        uintptr_t text_begin
        void **regions
        void **regions_end
        uintptr_t text_end
        int fd
        void (*flush_units)(int *) noexcept nogil
        void **indirect
        int calls_host
    int mic_thread_slot
    mic_image mic_images[1024]

ctypedef void (*region_function)(void *) noexcept nogil
cdef mic_control *control
cdef int memory_fd
cdef int image_count
cdef uint32_t units_written  # set when a region finished a Fortran write statement


cdef inline char *arena_at(uint64_t offset) noexcept nogil:
    """The device address of an arena offset."""
    return <char *>(control.arena_base + offset)


cdef inline int device_number() noexcept nogil:
    """This device's number."""
    return control.device


cdef enum:
    PAGE = 4096
    JUMP_PAGES = 4096

cdef uintptr_t jump_pages[4096]  # at the host's addresses of indirect functions (device_indirect.pxi)
cdef int jump_page_count


cdef bint is_jump_page(uintptr_t address) noexcept nogil:
    """Whether an address is in a page of jumps."""
    cdef int i
    for i in range(jump_page_count):
        if jump_pages[i] == address & ~<uintptr_t>(PAGE - 1):
            return True
    return False
