/* A layer of a neural network: products are added up by a tree in shared memory, their sums likewise; then weights.  */
#include "layer.h"
#include "common.cuh"

constexpr int rows = 16; /* of a block; a column is a unit */

/* Adds a block's numbers up, column by column; the first row of threads gets the sums.  */
__device__ float
sum_of_column (float number)
{
  __shared__ float numbers[rows][units];
  int x = threadIdx.x, y = threadIdx.y;
  numbers[y][x] = number;
  for (int half = rows / 2; half; half /= 2)
    {
      __syncthreads ();
      if (y < half)
        numbers[y][x] += numbers[y + half][x];
    }
  return numbers[y][x];
}

__global__ void
multiply (const float *inputs, int n, const float *weights, float *sums)
{
  int i = blockIdx.x * rows + threadIdx.y;
  float sum = sum_of_column (i < n ? inputs[i] * weights[i * units + threadIdx.x] : 0);
  if (threadIdx.y == 0)
    sums[blockIdx.x * units + threadIdx.x] = sum;
}

__global__ void
give (const float *sums, int count, float *outputs)
{
  float sum = 0;
  for (int i = threadIdx.y; i < count; i += rows)
    sum += sums[i * units + threadIdx.x];
  sum = sum_of_column (sum);
  if (threadIdx.y == 0)
    outputs[threadIdx.x] = squash (sum);
}

__global__ void
adjust_all (const float *inputs, int n, const float *outputs, const float *wanted, float *weights, float *changes)
{
  int j = threadIdx.x, i = blockIdx.x * rows + threadIdx.y, at = i * units + j;
  if (i < n)
    adjust (&weights[at], &changes[at], inputs[i], outputs[j], wanted[j]);
}

static void
learn (const float *inputs, int n, const float *wanted, float *weights, float *changes, float *outputs)
{
  int blocks = (n + rows - 1) / rows;
  float *in = to_device (inputs, n), *want = to_device (wanted, units), *weight = to_device (weights, n * units);
  float *change = to_device (changes, n * units), *out = device_array<float> (units);
  float *sums = device_array<float> (blocks * units);
  dim3 block (units, rows);
  kernels_begin ();
  multiply<<<blocks, block>>> (in, n, weight, sums);
  give<<<1, block>>> (sums, blocks, out);
  adjust_all<<<blocks, block>>> (in, n, out, want, weight, change);
  WAIT_FOR_KERNELS ();
  kernels_end ();
  to_host (weights, weight, n * units);
  to_host (changes, change, n * units);
  to_host (outputs, out, units);
  device_free ({ in, want, weight, change, out, sums });
}
