/* wrong: the grid meets once a turn; who goes on reads what its neighbour has still to write, or has written. */
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void smooth (int *a, int n, int turns)
{
  cg::grid_group grid = cg::this_grid ();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int t = 0; t < turns; t++)
    {
      int sum = a[(i + n - 1) % n] + a[i] + a[(i + 1) % n];
      grid.sync ();
      a[i] = sum / 3;
    }
}
int main ()
{
  int *a, n = 8 * 96, turns = 5;
  cudaMallocManaged (&a, n * sizeof (int));
  for (int i = 0; i < n; i++)
    a[i] = 7 * i % 1000;
  void *arguments[] = { &a, &n, &turns };
  cudaLaunchCooperativeKernel ((void *) smooth, dim3 (8), dim3 (96), arguments, 0, 0);
  return cudaDeviceSynchronize () != cudaSuccess;
}
