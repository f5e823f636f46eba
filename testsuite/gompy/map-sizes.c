/* Nothing, very little and very much is mapped.  */
/* { dg-do run } */
/* { gompy-launches 5 } */

#include <omp.h>
#include <stdlib.h>

int
main (void)
{
  char empty[1] = { 7 };
  int n = 0, ok = 0;
  int device = omp_get_default_device ();

#pragma omp target map(tofrom: empty[:n]) map(from: ok)
  ok = 1;
  if (!ok || empty[0] != 7)
    abort ();

  /* A zero-length section of what is mapped is its device address.  */
#pragma omp target enter data map(to: empty)
#pragma omp target map(alloc: empty[:0]) map(from: ok)
  ok = empty[0];
  if (ok != 7)
    abort ();
#pragma omp target exit data map(delete: empty)

  size_t size = (size_t) 1 << 28;
  char *big = calloc (size, 1);
  if (!big)
    abort ();
  big[0] = 1;
  big[size - 1] = 2;
#pragma omp target map(tofrom: big[:size])
  {
    big[0]++;
    big[size / 2] = 9;
    big[size - 1]++;
  }
  if (big[0] != 2 || big[size / 2] != 9 || big[size - 1] != 3)
    abort ();
#pragma omp target map(to: big[size - 4096:4096]) map(from: ok)
  ok = big[size - 1];
  if (ok != 3)
    abort ();
#pragma omp target map(from: ok) map(to: device)
  ok = omp_is_initial_device () ? 0 : 1;
  free (big);
  return 0;
}
