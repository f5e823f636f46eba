# What has registered: programs and libraries with their entries, and the entries' names.

from gompy.native.gpu_image cimport GpuFunction, GpuImage, GpuObject

cdef struct TgtSymbol:
    # Asked of the image (gompy/plugins/intelmic/images.pxi).
    const char *name
    uint64_t size

cdef struct TgtLibrary:
    # A program or library that has registered, with the image for one kind of device.
    TgtLibrary *next
    const TgtDescriptor *descriptor
    const TgtDescriptor *registered  # the program's: its entries may have another form
    int type  # of the device
    TargetData data  # of a CPU
    GpuImage gpu
    GpuObject object
    GpuFunction *gpu_functions
    const char **gpu_variables
    char *text  # a copy of the PTX, if the image has no end
    const void *table[4]  # for the core: functions begin, end, variables begin, end
    uintptr_t *words  # the tables
    uint64_t *indirect  # host addresses of the functions of `declare target indirect`, the last ones of the variables
    unsigned num_indirect
    TgtSymbol *symbols
    char caller  # its address stands for the function that calls kernels
    uint64_t built  # bit n: constructors have run on device n

cdef TgtLibrary *tgt_libraries  # in the order of registration; under the register lock


cdef const char *name_of_entry(const void *address) noexcept nogil:
    """The name of a region or variable by its host address, or NULL.  For messages: it looks at all of them."""
    cdef const TgtLibrary *library = tgt_libraries
    cdef const TgtEntry *entry
    while library != NULL:
        entry = library.descriptor.entries
        while entry < library.descriptor.entries_end:
            if entry.address == address:
                return entry.name
            entry += 1
        library = library.next
    return NULL


cdef const void *name_of_variable(const SplayNode *node) noexcept nogil:
    """The name of an image's variable, or NULL."""
    return name_of_entry(<const void *> node.host_start) if of_image(node) else NULL
