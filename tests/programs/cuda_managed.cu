/* __managed__ variables: beginnings, host and device in turns, all calls that take their addresses.  */
#include <cstdio>

__device__ __managed__ int counter = 5;
__managed__ float table[4] = { 1, 2 };
namespace ns
{
static __managed__ double d = 2.5;
__managed__ int big[1000];
}
struct S
{
  char c;
  double x;
  const char *p;
};
__managed__ S s = { 1, 2.5, nullptr };

__device__ void
bump (int *p)
{
  atomicAdd (p, 1);
}

__global__ void
k ()
{
  bump (&counter);
  table[threadIdx.x & 3] += threadIdx.x;
  if (threadIdx.x == 0)
    {
      ns::d += 1;
      ns::big[3] = ns::big[2] + 1;
      s.x++;
    }
}

int
main ()
{
  printf ("%d %g %g %g\n", counter, table[1], ns::d, s.x);
  table[0] = 3, ns::d = 7, ns::big[2] = 41, s.x = 7;
  k<<<1, 4>>> ();
  cudaDeviceSynchronize ();
  printf ("%d %g %g %g %d %g\n", counter, table[0], table[3], ns::d, ns::big[3], s.x);
  int *p, v = 100;
  size_t size;
  cudaGetSymbolAddress ((void **) &p, counter);
  cudaGetSymbolSize (&size, ns::big);
  printf ("%d %zu\n", p == &counter, size);
  cudaMemcpyToSymbol (counter, &v, 4);
  printf ("%d\n", counter);
  k<<<1, 64>>> ();
  cudaMemcpyFromSymbol (&v, counter, 4);
  printf ("%d %d\n", counter, v);
  cudaPointerAttributes a;
  cudaPointerGetAttributes (&a, &counter);
  printf ("%d %d\n", a.type == cudaMemoryTypeManaged, a.devicePointer == &counter);
  cudaMemset (table, 0, 8);
  printf ("%g %d %d\n", table[1], table[2] != 0, cudaMemPrefetchAsync (table, 16, 0));
  cudaDeviceReset ();
  counter = 0;
  k<<<1, 32>>> ();
  cudaDeviceSynchronize ();
  printf ("%d %s\n", counter, cudaGetErrorName (cudaGetLastError ()));
}
