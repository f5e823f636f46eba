/* Points sorted into clusters: centers in constant memory; blocks add up in shared memory, then for all.  */
#include "kmeans.h"
#include "common.cuh"

constexpr int numbers = clusters * dimensions;

struct sums
{
  int sum[numbers], count[clusters];
};

__constant__ int now[numbers];

__global__ void
sort_points (const int *points, int n, int *cluster_of, sums *all)
{
  __shared__ sums own;
  for (int i = threadIdx.x; i < numbers; i += blockDim.x)
    own.sum[i] = own.count[i / dimensions] = 0;
  __syncthreads ();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    {
      int c = cluster_of[i] = nearest (points, n, i, now);
      atomicAdd (&own.count[c], 1);
      for (int d = 0; d < dimensions; d++)
        atomicAdd (&own.sum[c * dimensions + d], points[d * n + i]);
    }
  __syncthreads ();
  for (int i = threadIdx.x; i < numbers; i += blockDim.x)
    atomicAdd (&all->sum[i], own.sum[i]);
  for (int i = threadIdx.x; i < clusters; i += blockDim.x)
    atomicAdd (&all->count[i], own.count[i]);
}

__global__ void
take_means (const sums *all, int *centers)
{
  int i = threadIdx.x, count = all->count[i / dimensions];
  if (count)
    centers[i] = all->sum[i] / count;
}

static void
group (const int *points, int n, int *centers, int *cluster_of)
{
  int *device = to_device (points, n * dimensions), *chosen = device_array<int> (n);
  int *means = to_device (centers, numbers);
  sums *all = device_array<sums> (1);
  kernels_begin ();
  for (int turn = 0; turn < turns; turn++)
    {
      CHECK (cudaMemcpyToSymbol (now, means, sizeof now, 0, cudaMemcpyDeviceToDevice));
      CHECK (cudaMemset (all, 0, sizeof *all));
      sort_points<<<8, 128>>> (device, n, chosen, all);
      take_means<<<1, numbers>>> (all, means);
    }
  WAIT_FOR_KERNELS ();
  kernels_end ();
  to_host (centers, means, numbers);
  to_host (cluster_of, chosen, n);
  device_free ({ device, chosen, means, all });
}
