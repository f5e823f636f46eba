/* c = a + b: a thread for each element.  */
#include "check.h"
#include <vector>

__global__ void
add (const float *a, const float *b, float *c, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] = a[i] + b[i];
}

int
main ()
{
  const int n = 100003;
  std::vector<float> a (n), b (n), c (n);
  for (int i = 0; i < n; i++)
    a[i] = i, b[i] = 2 * i;
  float *da, *db, *dc;
  CHECK (cudaMalloc (&da, n * sizeof *da));
  CHECK (cudaMalloc (&db, n * sizeof *db));
  CHECK (cudaMalloc (&dc, n * sizeof *dc));
  CHECK (cudaMemcpy (da, a.data (), n * sizeof *da, cudaMemcpyHostToDevice));
  CHECK (cudaMemcpy (db, b.data (), n * sizeof *db, cudaMemcpyHostToDevice));
  add<<<(n + 255) / 256, 256>>> (da, db, dc, n);
  CHECK (cudaGetLastError ());
  CHECK (cudaMemcpy (c.data (), dc, n * sizeof *dc, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i++)
    if (c[i] != 3.0f * i)
      {
        std::printf ("wrong: c[%d] is %g, not %g\n", i, c[i], 3.0f * i);
        return 1;
      }
  CHECK (cudaFree (da));
  CHECK (cudaFree (db));
  CHECK (cudaFree (dc));
  std::printf ("vector add: %d sums are right\n", n);
}
