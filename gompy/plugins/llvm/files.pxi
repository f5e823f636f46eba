# The files into which LLVM's plugin for x86_64 writes images before it loads them (generic-elf-64bit/src/rtl.cpp).
#
# It names them /tmp/tmpfile_XXXXXX, or tmpfile-XXXXXX.so, and leaves them: one for each run and image.  What is loaded
# no longer needs its file.

cdef extern from *:
    """
    #include <link.h>
    #include <unistd.h>
    static int
    rtl_remove_file (struct dl_phdr_info *info, size_t size, void *unused)
    {
      const char *name = strrchr (info->dlpi_name, '/');
      if (name != NULL && (strncmp (name, "/tmpfile_", 9) == 0 || strncmp (name, "/tmpfile-", 9) == 0))
        unlink (info->dlpi_name);
      return 0;
    }
    static void
    rtl_remove_files (void)
    {
      dl_iterate_phdr (rtl_remove_file, NULL);
    }
    """
    void remove_files "rtl_remove_files"() nogil
