# An image as it travels: what the host object registers, without its pointers.

cdef extern from *:
    """
    /* What the host object of mkoffload registers for the emulated MIC.  */
    struct remote_mic_data
    {
      const char *image_start, *image_end;
      uint64_t magic;
      uint32_t abi, accel;
      uint64_t image_funcs, image_vars;
      const void *host_begin, *host_end, *objects;
      uint64_t num_objects;
      const char *name;
    };
    struct remote_mic_symbol { const char *name; uint64_t size; };
    #define REMOTE_MIC_MAGIC 0x43494d59504d4f47ull
    struct remote_ptx_object { const char *code; size_t size; };
    struct remote_ptx_function { const char *name; uint16_t dim[3]; };
    struct remote_ptx_data
    {
      const struct remote_ptx_object *objects;
      unsigned num_objects;
      const char **variables;
      unsigned num_variables;
      const struct remote_ptx_function *functions;
      unsigned num_functions;
      unsigned num_indirect;
    };
    """
    uint64_t REMOTE_MIC_MAGIC
    struct remote_mic_data:
        const char *image_start
        const char *image_end
        uint64_t magic
        uint32_t abi
        uint32_t accel
        uint64_t image_funcs
        uint64_t image_vars
        const void *objects
        uint64_t num_objects
        const char *name
    struct remote_mic_symbol:
        const char *name
        uint64_t size
    struct remote_ptx_object:
        const char *code
        size_t size
    struct remote_ptx_function:
        const char *name
        uint16_t dim[3]
    struct remote_ptx_data:
        const remote_ptx_object *objects
        unsigned num_objects
        const char **variables
        unsigned num_variables
        const remote_ptx_function *functions
        unsigned num_functions
        unsigned num_indirect
