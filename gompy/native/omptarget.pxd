# Records of libomptarget's, of its callers' and its plugins' side (LLVM 16: openmp/libomptarget/include/omptarget.h,
# omptargetplugin.h).

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

cdef struct TgtIdent:
    # Where in the source a construct is (ident_t).
    int reserved_1
    int flags
    int reserved_2
    int reserved_3
    const char *source  # ";file;function;line;column;;"

cdef struct TgtEntry:
    # A region's or variable's line in the host's table (__tgt_offload_entry).
    void *address
    const char *name
    size_t size  # 0: a function
    int flags
    int reserved

cdef struct TgtNewerEntry:
    # The same of clang 20 and later (NEWER_ENTRY_SIZE).
    uint64_t reserved  # 0, where older ones have an address
    uint16_t version  # 1
    uint16_t kind  # OFK_OPENMP, or another interface's
    uint32_t flags
    void *address
    const char *name
    uint64_t size
    uint64_t data
    void *more

cdef struct TgtDeviceImage:
    const char *start
    const char *end
    TgtEntry *entries
    TgtEntry *entries_end

cdef struct TgtDescriptor:
    # What a program or library registers (__tgt_bin_desc).
    int num_images
    TgtDeviceImage *images
    TgtEntry *entries
    TgtEntry *entries_end

cdef struct TgtKernelArgs:
    # KernelArgsTy; of version 1 the first 64 bytes only.
    unsigned version
    unsigned count
    void **bases
    void **begins
    int64_t *sizes
    int64_t *types
    void **names
    void **mappers
    uint64_t tripcount
    uint64_t flags
    unsigned teams[3]
    unsigned threads[3]
    unsigned dynamic_memory

cdef struct TgtNonContig:
    # A dimension of a section with strides (__tgt_target_non_contig).
    uint64_t offset
    uint64_t count
    uint64_t stride

cdef struct TgtTable:
    # What a plugin answers for an image: an entry for each of the host's, in the same order (__tgt_target_table).
    TgtEntry *entries
    TgtEntry *entries_end
