/* The device's functions against the host's in higher precision: the largest error in units of the last place.  */
#include <cmath>
#include <cstdio>
#include <vector>

/* Name, range, the limits for double and float.  */
#define FUNCTIONS(F) \
  F (sin, -50, 50, 1, 0.501) F (cos, -50, 50, 1, 0.501) F (tan, -10, 10, 2.5, 0.501) F (exp, -700, 700, 1, 0.501) \
  F (exp2, -1000, 1000, 1.2, 0.501) F (expm1, -5, 5, 2, 0.501) F (log, 1e-10, 1e10, 0.6, 0.501) \
  F (log2, 0.5, 2, 1.1, 0.501) F (log10, 1e-3, 1e3, 1.1, 0.501) F (log1p, -0.9, 5, 1, 0.501) \
  F (asin, -1, 1, 1.2, 0.501) F (acos, -1, 1, 1, 0.501) F (atan, -10, 10, 1, 0.501) F (sinh, -20, 20, 2, 0.501) \
  F (cosh, -20, 20, 1.5, 0.501) F (tanh, -3, 3, 2.6, 0.501) F (asinh, -100, 100, 1.8, 0.501) \
  F (acosh, 1, 100, 1.8, 0.501) F (atanh, -0.99, 0.99, 1.8, 0.501) F (cbrt, -1e3, 1e3, 1, 0.501) \
  F (erf, -4, 4, 2, 0.501) F (erfc, -4, 20, 5, 0.501) F (tgamma, -5, 30, 40, 0.501) F (lgamma, 0.01, 50, 6, 0.501) \
  F (round, -9, 9, 0, 0) F (rint, -9, 9, 0, 0) F (sqrt, 0, 100, 0.5, 0.5) F (logb, 0.1, 1e3, 0, 0) \
  F (ceil, -9, 9, 0, 0) F (floor, -9, 9, 0, 0) F (trunc, -9, 9, 0, 0)

#define KERNEL(name, a, b, c, d) \
  __global__ void of_##name (const double *x, double *y, const float *u, float *v) \
  { \
    int i = blockIdx.x * blockDim.x + threadIdx.x; \
    y[i] = name (x[i]); \
    v[i] = name##f (u[i]); \
  }
FUNCTIONS (KERNEL)

__global__ void
of_two (const double *x, const double *z, double *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  y[i] = pow (x[i], z[i]);
  y[n + i] = atan2 (x[i] - 2, z[i]);
  y[2 * n + i] = hypot (x[i], z[i]);
  y[3 * n + i] = fmod (x[i] * 1e30, z[i]);
  y[4 * n + i] = remainder (x[i], z[i]);
  y[5 * n + i] = sin (ldexp (x[i], i % 1000));
  y[6 * n + i] = nextafter (x[i], z[i]);
  y[7 * n + i] = erfinv (x[i] / 50 - 1) * 0 + erf (erfinv (x[i] / 50 - 1));
}

static double
error_of (double got, long double want, double next)
{
  if (got == (double) want || (std::isnan (got) && std::isnan ((double) want)))
    return 0;
  return (double) (fabsl (got - want) / (next - std::fabs ((double) want)));
}

static double
of_double (double got, long double want)
{
  return error_of (got, want, std::nextafter (std::fabs ((double) want), INFINITY));
}

static double
of_float (float got, double want)
{
  float near = (float) want;
  if (got == near || (std::isnan (got) && std::isnan (want)))
    return 0;
  return std::fabs (got - want) / (std::nextafterf (std::fabs (near), INFINITY) - std::fabs (near));
}

static int failures;

static void
tell (const char *name, double most, double limit, double at)
{
  if (most <= limit)
    return;
  failures++;
  std::printf ("%s: %g units at %.17g, not %g\n", name, most, at, limit);
}

int
main ()
{
  const int n = 2048;
  std::vector<double> x (n), y (8 * n), z (n);
  std::vector<float> u (n), v (n);
  double *dx, *dy, *dz;
  float *du, *dv;
  cudaMalloc (&dx, n * sizeof *dx);
  cudaMalloc (&dy, 8 * n * sizeof *dy);
  cudaMalloc (&dz, n * sizeof *dz);
  cudaMalloc (&du, n * sizeof *du);
  cudaMalloc (&dv, n * sizeof *dv);
#define COMPARE(name, a, b, limit, limit_f) \
  { \
    for (int i = 0; i < n; i++) \
      x[i] = a + (b - (a)) * ((i + 0.618) / n), u[i] = (float) x[i]; \
    cudaMemcpy (dx, x.data (), n * sizeof *dx, cudaMemcpyHostToDevice); \
    cudaMemcpy (du, u.data (), n * sizeof *du, cudaMemcpyHostToDevice); \
    of_##name<<<n / 256, 256>>> (dx, dy, du, dv); \
    cudaMemcpy (y.data (), dy, n * sizeof *dy, cudaMemcpyDeviceToHost); \
    cudaError_t error = cudaMemcpy (v.data (), dv, n * sizeof *dv, cudaMemcpyDeviceToHost); \
    double most = error, most_f = error, at = 0, at_f = 0; \
    for (int i = 0; i < n; i++) \
      { \
        double e = of_double (y[i], name##l ((long double) x[i])), f = of_float (v[i], std::name ((double) u[i])); \
        if (!(e <= most)) \
          most = e, at = x[i]; \
        if (!(f <= most_f)) \
          most_f = f, at_f = u[i]; \
      } \
    tell (#name, most, limit, at); \
    tell (#name "f", most_f, limit_f, at_f); \
  }
  FUNCTIONS (COMPARE)
  for (int i = 0; i < n; i++)
    x[i] = 0.01 + 99.9 * i / n, z[i] = (i * 37 % n - n / 2) * 0.1 + 0.05;
  cudaMemcpy (dx, x.data (), n * sizeof *dx, cudaMemcpyHostToDevice);
  cudaMemcpy (dz, z.data (), n * sizeof *dz, cudaMemcpyHostToDevice);
  of_two<<<n / 256, 256>>> (dx, dz, dy);
  if (cudaError_t error = cudaMemcpy (y.data (), dy, 8 * n * sizeof *dy, cudaMemcpyDeviceToHost))
    return std::puts (cudaGetErrorString (error)), 1;
  for (int i = 0; i < n; i++)
    {
      tell ("pow", of_double (y[i], powl (x[i], z[i])), 1, x[i]);
      tell ("atan2", of_double (y[n + i], atan2l ((long double) (x[i] - 2), z[i])), 1.5, x[i]);
      tell ("hypot", of_double (y[2 * n + i], hypotl (x[i], z[i])), 1, x[i]);
      tell ("fmod", of_double (y[3 * n + i], std::fmod (x[i] * 1e30, z[i])), 0, x[i]);
      tell ("remainder", of_double (y[4 * n + i], std::remainder (x[i], z[i])), 0, x[i]);
      tell ("large sin", of_double (y[5 * n + i], sinl (std::ldexp (x[i], i % 1000))), 1.1, x[i]);
      tell ("nextafter", of_double (y[6 * n + i], std::nextafter (x[i], z[i])), 0, x[i]);
      double p = x[i] / 50 - 1;
      tell ("erfinv", p > -1 && p < 1 ? std::fabs (y[7 * n + i] - p) / 1.2e-16 : 0, 8, p);
    }
  if (!failures)
    std::puts ("all functions are as exact as they should be");
  return failures != 0;
}
