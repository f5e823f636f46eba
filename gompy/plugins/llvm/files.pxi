# The files into which LLVM's plugin for x86_64 writes images before it loads them (generic-elf-64bit/src/rtl.cpp).
#
# It names them /tmp/tmpfile_XXXXXX, or tmpfile-XXXXXX.so, and leaves them: one for each run and image.  What is loaded
# no longer needs its file.  A library of the program's may begin like them: names of that form alone count, of files
# that are the user's and nobody else's.

cdef extern from *:
    """
    #include <link.h>
    #include <sys/stat.h>
    #include <unistd.h>
    static int
    rtl_wrote (const char *path)
    {
      const char *slash = strrchr (path, '/'), *name = slash != NULL ? slash + 1 : path;
      struct stat status;
      int older = strncmp (name, "tmpfile_", 8) == 0 && strlen (name) == 14;
      int newer = strncmp (name, "tmpfile-", 8) == 0 && strlen (name) == 17 && strcmp (name + 14, ".so") == 0;
      return ((older || newer) && stat (path, &status) == 0 && (status.st_mode & 077) == 0
              && status.st_uid == geteuid ());
    }
    static int
    rtl_remove_file (struct dl_phdr_info *info, size_t size, void *unused)
    {
      if (rtl_wrote (info->dlpi_name))
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
