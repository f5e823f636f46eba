# What the executor calls (executor.h: ptx_memory).


cdef uint64_t variable_alloc(void *user, size_t size, size_t align, const char *name, unsigned managed) noexcept nogil:
    """Memory for a module's variable; one of .attribute(.managed) is managed memory that has a name."""
    cdef gpu *g = <gpu *>user
    return alloc_in(g, &g.memory, size if size else 1, align if align > 256 else 256,
                    MANAGED if managed else VARIABLE, NULL, name, 0)


cdef void variable_free(void *user, uint64_t address) noexcept nogil:
    """A module's variable goes."""
    free_block_at(address, VARIABLE, MANAGED)


cdef uint64_t heap_alloc(void *user, size_t size) noexcept nogil:
    """malloc of device code."""
    cdef gpu *g = <gpu *>user
    g.heap_begun = True
    return alloc_in(g, &g.heap, size if size else 1, 16, HEAP, NULL, NULL, 0)


cdef void heap_release(void *user, uint64_t address) noexcept nogil:
    """free of device code.  A bad address is told; the device goes on, as a GPU does."""
    if address != 0 and free_block_at(address, HEAP, HEAP) != CUDA_SUCCESS:
        fprintf(stderr, b"libcuda (gompy): error: device code frees 0x%llx, which its malloc did not return\n",
                <unsigned long long>address)


cdef extern from "words.h":
    void say "gompy_say"(const char *kind, const char *text) nogil


cdef void warn_text(void *user, uint64_t asker, const char *text) noexcept nogil:
    """A kernel's mistake after which it goes on (GOMPY_CHECK)."""
    add64(&(<gpu *>user).warnings, 1, RELAXED)
    say(b"warning", text)
    tell_runtime(asker, text)


cdef uint32_t printed


cdef void print_text(void *user, const char *text, size_t length) noexcept nogil:
    """Device code prints: to the program's stdout, in order with its own output; flushed when the kernel ends."""
    global printed
    printed = 1
    fwrite(text, 1, length, stdout)
