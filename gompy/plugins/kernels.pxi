# Regions of images by clang: kernels, functions of words (libomptarget of LLVM: launch_kernel of the x86_64 plugin).

cdef extern from *:
    """
    /* The words from the seventh on go by way of the stack, as a struct that is passed by value does.  */
    struct kernel_words_32 { uint64_t words[26]; };
    struct kernel_words_128 { uint64_t words[122]; };
    struct kernel_words_1024 { uint64_t words[1018]; };
    #define CALL_KERNEL(n)                                                                                    \
      static void                                                                                                 \
      kernel_call_##n (void *kernel, const uint64_t *w, uint64_t count)                                              \
      {                                                                                                           \
        struct kernel_words_##n more;                                                                                \
        uint64_t first[6] = { 0, 0, 0, 0, 0, 0 };                                                                 \
        memcpy (first, w, (count < 6 ? count : 6) * sizeof *w);                                                   \
        if (count > 6)                                                                                            \
          memcpy (more.words, w + 6, (count - 6) * sizeof *w);                                                    \
        ((void (*) (uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, struct kernel_words_##n)) kernel) (  \
          first[0], first[1], first[2], first[3], first[4], first[5], more);                                      \
      }
    CALL_KERNEL (32)
    CALL_KERNEL (128)
    CALL_KERNEL (1024)
    """
    void kernel_call_32(void *kernel, const uint64_t *words, uint64_t count) nogil
    void kernel_call_128(void *kernel, const uint64_t *words, uint64_t count) nogil
    void kernel_call_1024(void *kernel, const uint64_t *words, uint64_t count) nogil


cdef void call_kernel(void *block) noexcept nogil:
    """A region's function for all kernels: the block has the kernel, the number of its words (1024 at most), and them.
    """
    cdef uint64_t *words = <uint64_t *>block
    if words[1] <= 6:
        (<void (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) noexcept nogil>words[0])(
            words[2], words[3], words[4], words[5], words[6], words[7])
    elif words[1] <= 32:
        kernel_call_32(<void *>words[0], words + 2, words[1])
    elif words[1] <= 128:
        kernel_call_128(<void *>words[0], words + 2, words[1])
    else:
        kernel_call_1024(<void *>words[0], words + 2, words[1])


cdef void *symbol_of_image(void *handle, const char *name) noexcept nogil:
    """The address of a kernel or variable in an image, or NULL.

    Before 15 clang did not export constructors and destructors: the image's own entry for one begins with the address.
    """
    cdef char entry[1024]
    cdef void *found = dlsym(handle, name)
    cdef void **of_image
    if found != NULL or name[0] == 0:
        return found
    snprintf(entry, sizeof(entry), b".omp_offloading.entry.%s", name)
    of_image = <void **>dlsym(handle, entry)
    return of_image[0] if of_image != NULL else NULL
