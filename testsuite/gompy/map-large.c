/* More than four gigabytes in one piece: offsets and sizes do not fit 32 bits, nor a single write of the system.  The host's
   memory is not touched where it need not be, so the device's is what it costs: 2.1 GiB, if there are 6 to be had.  */
/* { dg-do run { target lp64 } } */
/* { gompy-launches 2 } */

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define GIB ((size_t) 1 << 30)

static char *
reserve (size_t size)
{
  char *p = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    abort ();
  return p;
}

int
main (void)
{
  size_t size = 5 * GIB;
  char *big = reserve (size);
  big[size - 1] = 3;
#pragma omp target enter data map(alloc: big[:size])
#pragma omp target update to(big[size - 4096:4096])
  int sum = 0;
#pragma omp target map(tofrom: sum)
  {
    big[4 * GIB + 7] = 4;
    sum = big[size - 1] + big[4 * GIB + 7];
    big[size - 1] = 9;
  }
#pragma omp target update from(big[4 * GIB:4096], big[size - 1:1])
  if (sum != 7 || big[4 * GIB + 7] != 4 || big[size - 1] != 9)
    abort ();
#pragma omp target exit data map(delete: big[:size])

  if ((size_t) sysconf (_SC_AVPHYS_PAGES) * sysconf (_SC_PAGESIZE) > 6 * GIB)
    {
      size = 2 * GIB + GIB / 16;
      big[0] = 1;
      big[2 * GIB] = 2;
      big[size - 1] = 4;
#pragma omp target enter data map(to: big[:size])
#pragma omp target map(from: sum)
      sum = big[0] + big[2 * GIB] + big[size - 1] + big[GIB];
#pragma omp target exit data map(delete: big[:size])
      if (sum != 7)
	abort ();
    }
  munmap (big, 5 * GIB);
#pragma omp target map(from: sum)
  sum = 8;
  return sum != 8;
}
