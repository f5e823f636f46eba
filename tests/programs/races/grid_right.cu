/* right: blocks that run together smooth an array in place; the grid's barrier is between reads and writes. */
#include <cooperative_groups.h>
#include <cstdio>
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
      grid.sync ();
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
  if (cudaDeviceSynchronize () != cudaSuccess)
    return 1;
  int *b = new int[2 * n];
  for (int i = 0; i < n; i++)
    b[i] = 7 * i % 1000;
  for (int t = 0; t < turns; t++)
    {
      for (int i = 0; i < n; i++)
        b[n + i] = (b[(i + n - 1) % n] + b[i] + b[(i + 1) % n]) / 3;
      for (int i = 0; i < n; i++)
        b[i] = b[n + i];
    }
  for (int i = 0; i < n; i++)
    if (a[i] != b[i])
      return printf ("%d: %d, not %d\n", i, a[i], b[i]), 1;
}
