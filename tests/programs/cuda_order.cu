/* min and max of all types that CUDA's Math API has, on the device and on the host: a line each.  */
#include <algorithm>
#include <cstdio>

constexpr int count = 22;

template <typename T>
__host__ __device__ void
put (double *&to, T least, T greatest)
{
  *to++ = (double) least;
  *to++ = (double) greatest;
}

#define PUT(a, b) put (to, min (a, b), max (a, b))

__host__ __device__ void
fill (double *to, float f, double d, float none, int i, unsigned u, long l, unsigned long ul, long long ll)
{
  PUT (f, 0.25f);
  PUT (d, 0.5);
  PUT (f, d);
  PUT (d, f);
  PUT (none, f);
  PUT (i, 7);
  PUT (u, 3000000000u);
  PUT (i, u); /* -1 as unsigned */
  PUT (l, 1L << 40);
  PUT (ul, -1L);
  PUT (ll, 5LL);
}

__global__ void
kernel (double *to, float f, double d, float none, int i, unsigned u, long l, unsigned long ul, long long ll)
{
  fill (to, f, d, none, i, u, l, ul, ll);
}

int
main ()
{
  double *device, host[count];
  cudaMallocManaged (&device, sizeof host);
  kernel<<<1, 1>>> (device, 1.25f, 0.625, NAN, -1, 9u, -3L, 8ul, -(1LL << 40));
  if (cudaDeviceSynchronize () != cudaSuccess)
    return 1;
  fill (host, 1.25f, 0.625, NAN, -1, 9u, -3L, 8ul, -(1LL << 40));
  for (double *of : { device, host })
    for (int i = 0; i < count; i++)
      std::printf ("%.17g%c", of[i], i == count - 1 ? '\n' : ' ');
  using namespace std;
  std::printf ("%d %d\n", min (3, 4), max (3, 4));
}
