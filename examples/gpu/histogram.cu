/* How often each byte occurs: a histogram for each block by atomic additions in shared memory, then one for all.  */
#include "check.h"
#include <cstring>

__global__ void
count (const unsigned char *text, int n, unsigned *bins)
{
  extern __shared__ unsigned mine[];
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    mine[i] = 0;
  __syncthreads ();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd (&mine[text[i]], 1u);
  __syncthreads ();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (mine[i])
      atomicAdd (&bins[i], mine[i]);
}

int
main ()
{
  const int n = 70000;
  unsigned char *text; /* pinned: kernels read it where it is */
  unsigned *bins, want[256] = {};
  CHECK (cudaMallocHost (&text, n));
  CHECK (cudaMallocManaged (&bins, 256 * sizeof *bins));
  for (int i = 0; i < n; i++)
    want[text[i] = (unsigned char) (i * i % 251)]++;
  std::memset (bins, 0, 256 * sizeof *bins);
  count<<<8, 128, 256 * sizeof (unsigned)>>> (text, n, bins);
  CHECK (cudaDeviceSynchronize ());
  for (int i = 0; i < 256; i++)
    if (bins[i] != want[i])
      {
        std::printf ("wrong: %u of byte %d, not %u\n", bins[i], i, want[i]);
        return 1;
      }
  CHECK (cudaFreeHost (text));
  CHECK (cudaFree (bins));
  std::printf ("histogram: %d bytes in 256 bins are right\n", n);
}
