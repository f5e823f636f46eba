/* Functions, variables, kernels and classes of another file: gompy cuda cc -rdc=true.  */
#include <cstdio>
#include "parts.h"

static __device__ int calls = 100; /* another variable than that of parts.cu */
__device__ step table[2] = { nullptr, twice };

__global__ void work (int *to, step given)
{
  int i = threadIdx.x;
  box b;
  if (i == 0)
    counter () = 7;
  b.side = i;
  __syncthreads ();
  to[i] = given (i) + table[1] (i) + larger (offset, i) + weights[i % 4] + b.area () + counter () + chosen (i) + calls;
}

int main ()
{
  const int n = 64;
  int *to, wrong = 0, offset_now = 9, sum = 0, seen;
  step given;
  if (cudaMallocManaged (&to, (n + 1) * sizeof (int)) || cudaMemcpyToSymbol (offset, &offset_now, sizeof offset_now)
      || cudaMemcpyFromSymbol (&given, table, sizeof given, sizeof given) || cudaMemcpyFromSymbol (&seen, calls, sizeof seen))
    return 1;
  to[n] = 0;
  work<<<1, n>>> (to, given);
  add_calls<<<1, 1>>> (to + n);
  if (cudaDeviceSynchronize ())
    return 2;
  for (int i = 0; i < n; i++)
    {
      int expected = 2 * i + 2 * i + (9 > i ? 9 : i) + i % 4 + 1 + i * i + 7 - i + 100;
      wrong += to[i] != expected;
      sum += to[i];
    }
  printf ("%d wrong, sum %d, %d calls, %d before\n", wrong, sum, to[n], seen);
}
