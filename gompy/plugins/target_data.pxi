# What an image for x86_64 registers, and what those by clang are asked for.

cdef extern from *:
    """
    /* What the host object of mkoffload registers; GCC's own intelmic mkoffload gives the first two words only.  */
    struct mic_target_data
    {
      const char *image_start, *image_end;
      uint64_t magic;
      uint32_t abi, accel;
      uint64_t image_funcs, image_vars;
      /* An image by clang: the host addresses of its indirect functions, whose variables are the last ones; and an
         array of mic_symbol.  */
      const uint64_t *host_begin, *host_end;
      const void *objects;
      uint64_t num_objects;
      const char *name;
    };
    /* What an image by clang is asked for: functions, then variables.  */
    struct mic_symbol
    {
      const char *name;
      uint64_t size;
    };
    #define MIC_TARGET_MAGIC 0x43494d59504d4f47ull
    """
    struct mic_target_data:
        const char *image_start
        const char *image_end
        uint64_t magic
        uint32_t abi
        uint32_t accel
        uint64_t image_funcs
        uint64_t image_vars
        const uint64_t *host_begin
        const uint64_t *host_end
        const void *objects
        uint64_t num_objects
        const char *name
    struct mic_symbol:
        const char *name
        uint64_t size
    uint64_t MIC_TARGET_MAGIC


cdef inline const mic_symbol *symbols_of(mic_target_data *data, unsigned version) noexcept nogil:
    """What an image by clang is asked for by name; NULL: it is gcc's and has tables."""
    if version != 0 and data.magic == MIC_TARGET_MAGIC and data.accel == ACCEL_LLVM:
        return <const mic_symbol *>data.objects
    return NULL
