/* What any check that watches host and device by pages does at least for a round of a program, and nothing else.

   floor_check TO BACK RESULT: bytes of arrays that are copied to the device only, both ways, and from it only.  A round
   is what examples/gpu has: new blocks of the device, copies, launches that read and write them, copies back.

   - The device's pages are opened as they are used, and closed when they are freed.  Two blocks take turns, as one that
     was freed just now is not given out again.
   - New memory that is not copied to is filled, so that what nothing has written is known when it is copied back; that
     is looked for then.
   - What the regions write is closed on the host until it is copied back.
   - Whether the host has changed what it has copied the kernel is asked; what is copied back is hashed the next time.

   Microseconds of the processor, the lowest of rounds.  The log of constructs, and their frames, are not in it.  */

#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/check_hash.h"
#include "gompy/native/mappings.h"

enum { ROUNDS = 200, WP_ASYNC = 1 << 15, NOTE = 1, NOTED = 2, WRITTEN = 2 };

static double
now (void)
{
  struct timespec t;
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double) t.tv_sec * 1e6 + (double) t.tv_nsec / 1e3;
}

static char *
memory (size_t size, int fd, off_t at)
{
  char *p = mmap (NULL, size + 4096, PROT_READ | PROT_WRITE, fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, at);
  if (p == MAP_FAILED)
    exit (1);
  memset (p, 1, size);
  return p;
}

static void
change (char *p, size_t size, int access)
{
  if (size > 0 && mprotect (p, (size + 4095) & -4096ul, access) != 0)
    exit (1);
}

/* Whether the host has changed an array: one question.  */
static void
ask (int pages, char *p, size_t size)
{
  uint64_t found[3];
  struct gompy_page_scan scan
    = { .size = sizeof scan, .flags = NOTE | NOTED, .start = (uintptr_t) p, .found = (uintptr_t) found, .room = 1,
        .end = (uintptr_t) p + ((size + 4095) & -4096ul), .any_of = WRITTEN, .told = WRITTEN };
  if (size > 0)
    ioctl (pages, GOMPY_PAGE_SCAN, &scan);
}

int
main (int argc, char **argv)
{
  size_t to = argc == 4 ? strtoul (argv[1], NULL, 10) : 0, back = argc == 4 ? strtoul (argv[2], NULL, 10) : 0;
  size_t result = argc == 4 ? strtoul (argv[3], NULL, 10) : 0, most = (to + back + result + (4 << 20)) & -4096ul;
  int fd = memfd_create ("floor", MFD_CLOEXEC), pages = open ("/proc/self/pagemap", O_RDONLY);
  int noter = (int) syscall (SYS_userfaultfd, O_CLOEXEC | 1);
  struct uffdio_api api = { UFFD_API, WP_ASYNC, 0 };
  double least = 1e9;
  volatile uint64_t sink = 0;
  if (argc != 4 || fd < 0 || ftruncate (fd, (off_t) (8 * most)) != 0)
    {
      fputs ("usage: floor_check TO BACK RESULT\n", stderr);
      return 2;
    }
  char *here[3], *there[2][3];
  size_t sizes[3] = { to, back, result };
  off_t at = 0;
  for (int i = 0; i < 3; i++)
    {
      here[i] = memory (sizes[i], -1, 0);
      for (int turn = 0; turn < 2; turn++, at += (off_t) ((sizes[i] + (2 << 20)) & -4096ul))
        there[turn][i] = memory (sizes[i], fd, at);
    }
  ioctl (noter, UFFDIO_API, &api);
  struct uffdio_register range = { { (uintptr_t) here[0], (to + 4096) & -4096ul }, UFFDIO_REGISTER_MODE_WP, 0 };
  ioctl (noter, UFFDIO_REGISTER, &range);
  for (int round = 0; round < ROUNDS; round++)
    {
      char **block = there[round % 2];
      double begin = now (), took;
      ask (pages, here[0], to);
      if (back > 0)
        sink += gompy_hash (here[1], back);
      for (int i = 0; i < 3; i++)
        change (block[i], sizes[i], i == 0 ? PROT_READ : PROT_READ | PROT_WRITE);
      memset (block[2], round, result);
      change (here[1], back, PROT_NONE);
      change (here[2], result, PROT_NONE);
      change (here[1], back, PROT_READ | PROT_WRITE);
      change (here[2], result, PROT_READ | PROT_WRITE);
      if (result > 0)
        sink += memchr (block[2], round + 1, result) != NULL;
      ask (pages, here[0], to);
      for (int i = 0; i < 3; i++)
        change (block[i], sizes[i], PROT_NONE);
      took = now () - begin;
      for (int i = 0; i < 3; i++)
        change (block[i], sizes[i], PROT_READ | PROT_WRITE);
      memset (here[1], round, back);  /* the copies, which are the program's own, as far as they move the caches */
      memcpy (block[0], here[0], to);
      for (int i = 0; i < 3; i++)
        change (block[i], sizes[i], PROT_NONE);
      least = took < least ? took : least;
    }
  printf ("%.1f\n", least);
  return 0;
}
