/* c = a + b: a thread for each element.  */
#include "vector_add.h"
#include "common.cuh"

__global__ void
add_one (const float *a, const float *b, float *c, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] = a[i] + b[i];
}

static void
add (const float *a, const float *b, float *c, int n)
{
  float *da, *db, *dc;
  CHECK (cudaMalloc (&da, n * sizeof *da));
  CHECK (cudaMalloc (&db, n * sizeof *db));
  CHECK (cudaMalloc (&dc, n * sizeof *dc));
  CHECK (cudaMemcpy (da, a, n * sizeof *da, cudaMemcpyHostToDevice));
  CHECK (cudaMemcpy (db, b, n * sizeof *db, cudaMemcpyHostToDevice));
  kernels_begin ();
  add_one<<<(n + 255) / 256, 256>>> (da, db, dc, n);
  CHECK (cudaGetLastError ());
  CHECK (cudaDeviceSynchronize ());
  kernels_end ();
  CHECK (cudaMemcpy (c, dc, n * sizeof *dc, cudaMemcpyDeviceToHost));
  CHECK (cudaFree (da));
  CHECK (cudaFree (db));
  CHECK (cudaFree (dc));
}
