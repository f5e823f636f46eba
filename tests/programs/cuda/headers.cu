/* Headers that programs include by name, beside or in place of cuda_runtime.h.  */
#include <cuComplex.h>
#include <cuda_profiler_api.h>
#include <device_functions.h>
#include <device_launch_parameters.h>
#include <driver_types.h>
#include <math_constants.h>
#include <surface_functions.h>
#include <vector_functions.h>
#include <vector_types.h>
#include "check.h"
#include <complex>
__global__ void
complexes (cuDoubleComplex *z, cuFloatComplex *f, float *c)
{
  z[1] = cuCdiv (cuCmul (z[0], make_cuDoubleComplex (2, -1)), cuCadd (z[0], cuConj (z[0])));
  z[2] = cuCfma (z[0], z[0], cuCsub (z[0], make_cuDoubleComplex (1, 1)));
  f[1] = cuCdivf (f[0], make_cuComplex (3e20f, 4e20f));
  c[0] = cuCabsf (make_cuFloatComplex (3e20f, 4e20f));
  c[1] = CUDART_PI_F;
  c[2] = fminf (CUDART_INF_F, CUDART_MAX_NORMAL_F);
  c[3] = CUDART_NAN_F;
}
int
main ()
{
  cuDoubleComplex *z;
  cuFloatComplex *f;
  float *c;
  CHECK (cudaProfilerStart ());
  CHECK (cudaMallocManaged (&z, 3 * sizeof *z));
  CHECK (cudaMallocManaged (&f, 2 * sizeof *f));
  CHECK (cudaMallocManaged (&c, 4 * sizeof *c));
  z[0] = make_cuDoubleComplex (3, 4);
  f[0] = make_cuFloatComplex (1e20f, 2e20f);
  assert (z != nullptr); /* of no header of its own */
  complexes<<<1, 1>>> (z, f, c);
  CHECK (cudaDeviceSynchronize ());
  std::complex<double> a (3, 4), quotient = a * std::complex<double> (2, -1) / (a + std::conj (a));
  SAME (std::abs (cuCreal (z[1]) - quotient.real ()) < 1e-15, true);
  SAME (std::abs (cuCimag (z[1]) - quotient.imag ()) < 1e-15, true);
  std::complex<double> sum = a * a + (a - std::complex<double> (1, 1));
  SAME (z[2].x, sum.real ());
  SAME (z[2].y, sum.imag ());
  SAME (std::abs (f[1].x - 0.44f) < 1e-6f && std::abs (f[1].y - 0.08f) < 1e-6f, true);
  SAME (std::abs (c[0] / 5e20f - 1) < 1e-6f, true);
  SAME (c[1], 3.14159274f);
  SAME (c[2], 3.402823466e38f);
  SAME (c[3] != c[3], true);
  SAME (CUDART_SQRT_TWO, std::sqrt (2.0));
  SAME (cuComplexDoubleToFloat (cuComplexFloatToDouble (f[0])).y, 2e20f);
  CHECK (cudaProfilerStop ());
  std::printf ("headers: right\n");
  return 0;
}
