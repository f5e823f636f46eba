/* Large mappings of which little is ever used.  Where a program has all of its memory locked, as real-time ones do
   (mlockall with MCL_FUTURE), the kernel would fill them with pages at once, more than a machine may have: so they
   are mapped without access, unlocked, and opened then.  */
#ifndef GOMPY_NATIVE_SPARSE_MAP_H
#define GOMPY_NATIVE_SPARSE_MAP_H

#include <errno.h>
#include <sys/mman.h>

/* mmap, for reading and writing.  What fails leaves a place that was given (MAP_FIXED) to who gave it.  */
static inline void *
gompy_map_sparse (void *at, size_t size, int flags, int fd, off_t offset)
{
  void *p = mmap (at, size, PROT_NONE, flags | MAP_NORESERVE, fd, offset);
  if (p == MAP_FAILED)
    return p;
  munlock (p, size);
  if (mprotect (p, size, PROT_READ | PROT_WRITE) != 0)
    {
      int error = errno;
      if (!(flags & MAP_FIXED))
        munmap (p, size);
      errno = error;
      return MAP_FAILED;
    }
  return p;
}

#endif
