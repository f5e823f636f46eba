/* What clang 14 compiles wrongly by itself: sums of a warp in 64 bits, a flag in shared memory, a lane without a value. */
#include <cstdio>

__device__ unsigned ticket;

__global__ void
whole (unsigned long long *sum)
{
  unsigned long long mine = threadIdx.x + (1ull << 40);
  for (int step = 16; step; step /= 2)
    mine += __shfl_down_sync (0xffffffff, mine, step);
  if (threadIdx.x == 0)
    *sum = mine + __shfl_xor_sync (1, 1ull << 50, 0);
}

__global__ void
last (const int *parts, int *out)
{
  __shared__ bool is_last, any;
  int i = threadIdx.x;
  if (i == 0)
    {
      __threadfence ();
      is_last = atomicAdd (&ticket, 1) == gridDim.x - 1;
    }
  __syncthreads ();
  if (is_last)
    atomicAdd (out, parts[i]);
  if (i == 40)
    any = is_last;
  int counted = __syncthreads_count (i % 3 == 0), all = __syncthreads_and (i < 64), some = __syncthreads_or (i > 64);
  if (any && i == 0)
    atomicAdd (out, 1000 * counted + 100000 * all + 1000000 * some);
}

__global__ void
count (int *sum, int *places)
{
  unsigned lanes = __activemask ();
  int lane = threadIdx.x % 32, place;
  if (lane == 0)
    place = atomicAdd (sum, __popc (lanes));
  places[threadIdx.x] = __shfl_sync (lanes, place, 0) + lane;
}

int
main ()
{
  unsigned long long *sum;
  int *parts, *out, *places;
  cudaMallocManaged (&sum, sizeof *sum);
  cudaMallocManaged (&parts, 64 * sizeof (int));
  cudaMallocManaged (&out, 2 * sizeof (int));
  cudaMallocManaged (&places, 64 * sizeof (int));
  for (int i = 0; i < 64; i++)
    parts[i] = i;
  out[0] = out[1] = 0;
  whole<<<1, 32>>> (sum);
  last<<<16, 64>>> (parts, out);
  count<<<1, 32>>> (out + 1, places);
  if (cudaDeviceSynchronize () != cudaSuccess)
    return 1;
  printf ("%llu %d %d %d\n", *sum - (1ull << 50) - (32ull << 40), out[0], out[1], places[31]);
}
