/* Bodies that attract each other: a block reads as many as it has threads into shared memory, where all see them.  */
#include "nbody.h"
#include "common.cuh"
#include <utility>

constexpr int threads = 128;

__global__ void
one_step (const body *from, body *to, vector *speeds, int n)
{
  __shared__ body some[threads];
  int i = blockIdx.x * threads + threadIdx.x;
  body own = from[min (i, n - 1)];
  vector push = {};
  for (int at = 0; at < n; at += threads)
    {
      some[threadIdx.x] = from[min (at + (int) threadIdx.x, n - 1)];
      __syncthreads ();
      for (int k = 0; k < min (threads, n - at); k++)
        attract (&own, &some[k], &push);
      __syncthreads ();
    }
  if (i >= n)
    return;
  move (&own, &speeds[i], push);
  to[i] = own;
}

static void
fly (body *bodies, vector *speeds, int n)
{
  body *from = to_device (bodies, n), *to = device_array<body> (n);
  vector *speed = to_device (speeds, n);
  kernels_begin ();
  for (int step = 0; step < steps; step++, std::swap (from, to))
    one_step<<<(n + threads - 1) / threads, threads>>> (from, to, speed, n);
  WAIT_FOR_KERNELS ();
  kernels_end ();
  to_host (bodies, from, n);
  device_free ({ from, to, speed });
}
