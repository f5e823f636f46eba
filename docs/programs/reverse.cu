// The tile is read before all threads have written it.
#include <cstdio>

__global__ void
reverse (int *a)
{
  __shared__ int tile[256];
  tile[threadIdx.x] = a[threadIdx.x];
  a[threadIdx.x] = tile[255 - threadIdx.x];
}

int
main ()
{
  int *a;
  cudaMallocManaged (&a, 256 * sizeof (int));
  for (int i = 0; i < 256; i++)
    a[i] = i;
  reverse<<<1, 256>>> (a);
  cudaDeviceSynchronize ();
  std::printf ("%d %d\n", a[0], a[255]);
}
