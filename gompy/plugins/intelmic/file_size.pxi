# The size of a device's memfd.

cdef extern from *:
    """
    /* ftruncate that fails with EFBIG above a limit on file sizes (ulimit -f), where the kernel sends SIGXFSZ, too.  */
    static int
    mic_resize (int fd, off_t size)
    {
      sigset_t one, old;
      struct timespec now = { 0, 0 };
      int result, error;
      sigemptyset (&one);
      sigaddset (&one, SIGXFSZ);
      pthread_sigmask (SIG_BLOCK, &one, &old);
      result = ftruncate (fd, size);
      error = errno;
      if (result != 0 && error == EFBIG)
        sigtimedwait (&one, NULL, &now);
      pthread_sigmask (SIG_SETMASK, &old, NULL);
      errno = error;
      return result;
    }
    """
    int mic_resize(int fd, off_t size) nogil
