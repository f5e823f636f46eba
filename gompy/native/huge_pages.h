/* Huge pages in the place of small ones.  */
#ifndef GOMPY_NATIVE_HUGE_PAGES_H
#define GOMPY_NATIVE_HUGE_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif
#define GOMPY_HUGE (2ul << 20)

/* Whether all small pages are there that one at BEGIN would take the place of: then it takes no more memory.  */
static inline int
gompy_has_small_pages (const void *begin)
{
  unsigned char there[GOMPY_HUGE / 4096];
  if (mincore ((void *) (uintptr_t) begin, GOMPY_HUGE, there) != 0)
    return 0;
  for (size_t i = 0; i < sizeof there; i++)
    if (!(there[i] & 1))
      return 0;
  return 1;
}

#endif
