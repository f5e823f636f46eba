# The PTX executor's interface (gompy/ptx/executor.h): what libgompy-ptx.so.1 defines, and the emulated CUDA driver
# calls.

from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef extern from "gompy/ptx/executor.h" nogil:
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
        PTX_ERROR_ASSERT
        PTX_ERROR_NOT_SUPPORTED
        PTX_CHECK_MEMORY
        PTX_CHECK_INIT
        PTX_CHECK_SYNC
        PTX_CHECK_RACE
    enum:
        PTX_HOST_RANGES
        PTX_WHOLE_ALLOCATED
        PTX_WHOLE_LOOKER
        PTX_WHOLE_SHIFT
        PTX_WHOLE_WRITTEN
    ctypedef struct ptx_host_range "__typeof__ (((ptx_host_ranges *) 0)->range[0])":
        uint64_t start
        uint64_t size
    ctypedef struct ptx_host_ranges:
        uint32_t count
        ptx_host_range range[1024]
    ctypedef struct ptx_memory:
        uint64_t base
        uint64_t size
        void *user
        uint64_t (*alloc_variable)(void *, size_t, size_t, const char *, unsigned) noexcept nogil
        void (*free_variable)(void *, uint64_t) noexcept nogil
        uint64_t (*heap_malloc)(void *, size_t) noexcept nogil
        void (*heap_free)(void *, uint64_t) noexcept nogil
        void (*print_text "print")(void *, const char *, size_t) noexcept nogil
        void (*describe)(void *, uint64_t, char *, size_t) noexcept nogil
        uint8_t *shadow
        void (*warn)(void *, uint64_t, const char *) noexcept nogil
        const ptx_host_ranges *hosts
        int (*reach)(const ptx_memory *, uint64_t, uint64_t *, uint64_t *) noexcept nogil
        void *whose
        uint64_t whole
        uint64_t whole_size
        uint8_t *states
        int (*host_wrote)(void *, uint64_t, size_t) noexcept nogil
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
    enum:
        PTX_ORDER_STREAMS
    ctypedef struct ptx_order:
        uint32_t stream
        uint32_t number
        uint32_t device
        uint64_t ticket
        uint64_t callers[2]
        void (*name_caller)(const uint64_t *, char *, size_t) noexcept nogil
        uint64_t before[64]
        uint64_t always[64]
    ctypedef struct ptx_launch_config:
        uint32_t grid[3]
        uint32_t block[3]
        uint32_t shared_bytes
        uint32_t threads
        uint32_t seed
        uint32_t together
        const void *params
        size_t params_size
        uint64_t workspace
        const ptx_order *order
        uint64_t asker
        const ptx_memory *memory
        uint64_t *ran
    enum:
        PTX_TEXTURE_U8
        PTX_TEXTURE_U16
        PTX_TEXTURE_U32
        PTX_TEXTURE_S8
        PTX_TEXTURE_S16
        PTX_TEXTURE_S32
        PTX_TEXTURE_HALF
        PTX_TEXTURE_FLOAT
        PTX_TEXTURE_CLAMP
        PTX_TEXTURE_INTEGERS
        PTX_TEXTURE_NORMALIZED
        PTX_TEXTURE_LINEAR_MEMORY
        PTX_TEXTURE_MAGIC
        PTX_TEXTURE_SURFACE
        PTX_TEXTURE_LAYERS
        PTX_TEXTURE_LEVEL
        PTX_TEXTURE_LEVELS
        PTX_TEXTURE_ROW
    ctypedef struct ptx_texture:
        uint64_t magic
        uint64_t address
        uint64_t pitch
        uint64_t slice
        uint32_t width
        uint32_t height
        uint32_t depth
        uint32_t format
        uint32_t channels
        uint32_t modes[3]
        uint32_t filter
        uint32_t flags
        float border[4]
        uint32_t levels
        uint32_t mipmap_filter
        float bias
        float least
        float most
    void ptx_texture_halve(ptx_texture *t, uint32_t size)
    ctypedef struct ptx_image:
        pass
    ctypedef struct ptx_module:
        pass
    ctypedef struct ptx_function:
        pass
