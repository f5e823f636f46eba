# The runtimes of -fsanitize= on the device: their place in the process, and what the host hears of their findings.
#
# Source: LLVM's compiler-rt as GCC 12 has it (include/sanitizer/asan_interface.h, common_interface_defs.h; lib/asan/
# asan_mapping.h and lib/sanitizer_common for the addresses, x86-64).

ctypedef void (*death_callback)() noexcept nogil
ctypedef void (*set_callback)(death_callback) noexcept nogil
ctypedef void (*mark_function)(void *, size_t) noexcept nogil
ctypedef bint (*present_function)() noexcept nogil
ctypedef const char *(*description_function)() noexcept nogil
ctypedef void *(*pc_function)() noexcept nogil


cdef bint is_preloaded(char **argv) noexcept nogil:
    """Have the library that the host names as the first of this process: the program is executed once more for it.

    False: it cannot be had.
    """
    cdef const char *before = secure_getenv(b"LD_PRELOAD")
    cdef char text[4096]
    global sanitized
    sanitized = dlsym(RTLD_DEFAULT, b"__asan_init") != NULL
    if control.preload[0] == 0 or sanitized:
        return True
    if before != NULL and strstr(before, control.preload) != NULL:
        return False
    snprintf(text, sizeof(text), b"%s%s%s", control.preload, <const char *>(b":" if before != NULL else b""),
             before if before != NULL else <const char *>b"")
    setenv(b"LD_PRELOAD", text, 1)
    start_over(argv)
    return False


cdef void on_finding() noexcept nogil:
    """A sanitizer has written its report and ends the process: tell the host what it was and where."""
    cdef present_function present = <present_function>dlsym(RTLD_DEFAULT, b"__asan_report_present")
    cdef description_function what
    cdef pc_function where
    cdef uintptr_t pc = 0
    only_one_dies()
    control.death.kind = MIC_DEATH_SANITIZER
    control.death.slot = mic_thread_slot
    snprintf(control.text, MIC_TEXT_SIZE, b"UndefinedBehaviorSanitizer: runtime error")
    if present != NULL and present():
        what = <description_function>dlsym(RTLD_DEFAULT, b"__asan_get_report_description")
        snprintf(control.text, MIC_TEXT_SIZE, b"AddressSanitizer: %s", what())
        where = <pc_function>dlsym(RTLD_DEFAULT, b"__asan_get_report_pc")
        pc = <uintptr_t>where()
        where = <pc_function>dlsym(RTLD_DEFAULT, b"__asan_get_report_address")
        control.death.address = <uint64_t>where()
    control.death.image_pc = pc if in_image(pc) else image_address_on_stack(stack_pointer(), NULL)
    flush_output()
    tell_death()


cdef void mark_memory(void *start, size_t size, bint access) noexcept nogil:
    """Tell libasan of memory that regions may access, or may not."""
    cdef mark_function mark = <mark_function>dlsym(
        RTLD_DEFAULT, b"__asan_unpoison_memory_region" if access else b"__asan_poison_memory_region")
    mark(start, size)


cdef void watch_death_callback(void *library) noexcept nogil:
    """Hear of the end that the sanitizer in a library brings, if there is one."""
    cdef set_callback set_death_callback = <set_callback>dlsym(library, b"__sanitizer_set_death_callback")
    if set_death_callback != NULL:
        set_death_callback(on_finding)


cdef void watch_sanitizers() noexcept nogil:
    """Hear of the end that a sanitizer brings; again when an image was loaded, which may have brought one."""
    cdef void *library = loaded_library(b"libubsan.so.1")
    if sanitized:
        watch_death_callback(RTLD_DEFAULT)
    if library != NULL:
        watch_death_callback(library)
        dlclose(library)
