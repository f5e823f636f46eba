# Small things about files that both sides need.

cdef extern from *:
    """
    /* Delete a folder and the files in it.  */
    static void
    mic_remove_directory (const char *path)
    {
      DIR *dir = gompy_opendir (path);
      struct dirent *entry;
      char name[600];
      while (dir && (entry = readdir (dir)))
        if (entry->d_name[0] != '.')
          {
            snprintf (name, sizeof name, "%s/%s", path, entry->d_name);
            unlink (name);
          }
      if (dir)
        closedir (dir);
      rmdir (path);
    }
    """
    void remove_directory "mic_remove_directory"(const char *path) nogil
