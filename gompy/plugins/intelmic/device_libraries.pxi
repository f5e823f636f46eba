# Libraries of this process that are looked for without being loaded.
#
# dlopen with RTLD_NOLOAD opens and reads the file of a library that is not here, and the loader's cache before it: some
# ten system calls a library, at each start of a program.  So names are looked through first.

cdef extern from *:
    """
    #include <link.h>
    static int
    mic_has_name (struct dl_phdr_info *info, size_t size, void *name)
    {
      return strstr (info->dlpi_name, name) != NULL;
    }
    /* Whether the name is part of the path of an object that is loaded.  */
    static int
    mic_may_be_loaded (const char *name)
    {
      return dl_iterate_phdr (mic_has_name, (void *) name);
    }
    """
    bint may_be_loaded "mic_may_be_loaded"(const char *name) nogil


cdef void *loaded_library(const char *soname) noexcept nogil:
    """The library if it is loaded, for dlclose; else NULL."""
    cdef char stem[64]
    cdef char *end
    snprintf(stem, sizeof(stem), b"%s", soname)
    end = strstr(stem, b".so")
    if end != NULL:
        end[3] = 0  # its file may have a longer number than its name
    return dlopen(soname, RTLD_NOW | RTLD_NOLOAD) if may_be_loaded(stem) else NULL
