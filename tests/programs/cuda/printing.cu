/* printf of kernels, against the host's words for the same numbers.  */
#include "check.h"
#include <cstring>
#include <cuda_runtime.h>
#include <string>
#include <unistd.h>
#define LINES(P, i)                                                                                                  \
  P ("%d %i %u %x %X %o|%5d|%-5d|%05d|%+d\n", i, -i, 3000000000u + i, 255 + i, 255 + i, 8 + i, i, i, i, i);          \
  P ("%ld %lld %lu %llx %hd %hhd\n", -1234567890123L * i, 1LL << (40 + i), ~0UL, 1ULL << 63, (short)-i,              \
     (signed char)(200 + i));                                                                                        \
  P ("%f %.3f %10.2f %-10.1f| %e %.2E %g %G %a\n", i / 3.0, i / 7.0, i * 1e3, i * 1.5, i * 1e-9, i * 1e20, i * 1e-7, \
     i * 1e30, i / 4.0);                                                                                             \
  P ("%c%c %s %10s %-10s| %.3s %%\n", 'a' + i, '0' + i, "word", "right", "left", "truncated");                       \
  P ("%*d %-*d| %.*f\n", 6, i, 6, i, i, 3.14159265);                                                                 \
  P ("%g %g %g %f\n", i * 0.5, (double)INFINITY, -(double)INFINITY, 0.1f * i);                                       \
  P ("no arguments\n");
__global__ void
say (int n)
{
  for (int i = 0; i < n; i++)
    if (threadIdx.x == i)
      {
        LINES (printf, i)
      }
}
__global__ void
many (int n)
{
  int r = printf ("%d\n", (int)threadIdx.x);
  if (r != 1)
    printf ("result %d\n", r);
}
int
main ()
{
  std::string want;
  char line[400];
  for (int i = 0; i < 3; i++)
    {
#define INTO(...)                                                                                                    \
  do                                                                                                                 \
    {                                                                                                                \
      std::snprintf (line, sizeof line, __VA_ARGS__);                                                                \
      want += line;                                                                                                  \
    }                                                                                                                \
  while (0)
      LINES (INTO, i)
    }
  std::fflush (stdout);
  int kept = dup (1);
  FILE *file = std::tmpfile ();
  dup2 (fileno (file), 1);
  say<<<1, 32>>> (3);
  many<<<1, 32>>> (0);
  cudaError_t e = cudaDeviceSynchronize ();
  std::fflush (stdout);
  dup2 (kept, 1);
  CHECK (e);
  for (int i = 0; i < 32; i++)
    want += std::to_string (i) + "\n";
  std::string got;
  std::rewind (file);
  while (std::fgets (line, sizeof line, file))
    got += line;
  if (got != want)
    {
      std::printf ("got:\n%swanted:\n%s", got.c_str (), want.c_str ());
      return 1;
    }
  size_t fifo;
  CHECK (cudaDeviceGetLimit (&fifo, cudaLimitPrintfFifoSize));
  std::puts ("printing: right");
}
