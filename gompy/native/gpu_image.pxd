# The record of an image by clang for GPUs: GCC's mkoffload for nvptx makes such (GCC: struct nvptx_tdata), with more
# behind it that a plugin may look at where a function's first dimension is KERNEL_BY_CLANG.

from libc.stdint cimport uint16_t, uint64_t, uintptr_t

cdef struct GpuObject:
    const char *code
    size_t size

cdef struct GpuFunction:
    const char *name
    uint16_t dims[3]

cdef struct GpuImage:
    const GpuObject *objects
    unsigned num_objects
    const char **variables
    unsigned num_variables
    const GpuFunction *functions
    unsigned num_functions
    unsigned num_indirect
    const uint64_t *indirect  # ours: their host addresses
    const uintptr_t *places  # ours: of each variable its host address and size
