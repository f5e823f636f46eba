/* How often each byte occurs: a histogram for each block by atomic additions in shared memory, then one for all.  */
#include "histogram.h"
#include "common.cuh"

__global__ void
count_bytes (const unsigned char *text, int n, unsigned *bins)
{
  extern __shared__ unsigned mine[];
  for (int i = threadIdx.x; i < kinds; i += blockDim.x)
    mine[i] = 0;
  __syncthreads ();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd (&mine[text[i]], 1u);
  __syncthreads ();
  for (int i = threadIdx.x; i < kinds; i += blockDim.x)
    if (mine[i])
      atomicAdd (&bins[i], mine[i]);
}

/* Pinned memory: kernels read it where it is.  */
static unsigned char *
new_text (int n)
{
  unsigned char *text;
  CHECK (cudaMallocHost (&text, n));
  return text;
}

static void
free_text (unsigned char *text)
{
  CHECK (cudaFreeHost (text));
}

static void
count (const unsigned char *text, int n, unsigned *bins)
{
  unsigned *managed; /* memory of both sides */
  CHECK (cudaMallocManaged (&managed, kinds * sizeof *managed));
  memset (managed, 0, kinds * sizeof *managed);
  kernels_begin ();
  count_bytes<<<8, 128, kinds * sizeof (unsigned)>>> (text, n, managed);
  WAIT_FOR_KERNELS ();
  kernels_end ();
  memcpy (bins, managed, kinds * sizeof *bins);
  CHECK (cudaFree (managed));
}
