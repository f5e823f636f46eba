/* When huge pages are made of the device's memory, for both sides: huge_pages.pxi, device_marks.h.  */
#ifndef GOMPY_MIC_HUGE_PAGES_H
#define GOMPY_MIC_HUGE_PAGES_H

#include "gompy/native/huge_pages.h"
#include "gompy/native/sparse_map.h"
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define MIC_HUGE ((uint64_t) GOMPY_HUGE)
#define MIC_HUGE_PART (MIC_HUGE / 4 * 3) /* a block that has less of one goes without: it would be memory for nothing */
#define MIC_HUGE_NS 800000ull /* for one, of the thread's time; as much in small pages takes as long */
#define MIC_HUGE_SHARE 32u    /* of the program's time, for slow ones in the place of small pages that are there */
#define MIC_HUGE_REUSED 4u    /* times that memory was given out again as it was before */
#define MIC_MOST_WAITING 127u /* huge pages that are done without, one after another, where they are slow to come */

/* Whether the device's file has a page, PAGE where it is mapped here.  */
static inline int
mic_has_page (const char *page)
{
  unsigned char there;
  return mincore ((void *) (uintptr_t) page, 4096, &there) != 0 || (there & 1);
}

/* Map a file from OFFSET on at a multiple of MIC_HUGE, as huge pages need.  NULL: impossible.  */
static inline void *
mic_map_aligned (size_t size, int fd, off_t offset)
{
  char *p = mmap (NULL, size + MIC_HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), *start;
  if (p == MAP_FAILED)
    return NULL;
  start = (char *) (((uintptr_t) p + MIC_HUGE - 1) & -MIC_HUGE);
  if (start > p)
    munmap (p, (size_t) (start - p));
  if (start < p + MIC_HUGE)
    munmap (start + size, (size_t) (p + MIC_HUGE - start));
  if (gompy_map_sparse (start, size, MAP_SHARED | MAP_FIXED, fd, offset) == MAP_FAILED)
    {
      munmap (start, size);
      return NULL;
    }
  return start;
}

#endif
