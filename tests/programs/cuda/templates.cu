/* Class templates, functors, lambdas, virtual functions and operators in kernels, as C++ libraries of kernels have
 * them.  */
#include "check.h"
#include <algorithm>
#include <array>
#include <cuda_runtime.h>
#include <functional>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

template <class T, int N> struct vec
{
  T at[N];
  __host__ __device__ constexpr T &
  operator[] (int i)
  {
    return at[i];
  }
  __host__ __device__ constexpr const T &
  operator[] (int i) const
  {
    return at[i];
  }
  template <class U>
  friend __host__ __device__ vec
  operator+ (vec a, const vec<U, N> &b)
  {
    for (int i = 0; i < N; i++)
      a.at[i] += b.at[i];
    return a;
  }
  __host__ __device__ T
  dot (const vec &b) const
  {
    T sum{};
#pragma unroll
    for (int i = 0; i < N; i++)
      sum += at[i] * b.at[i];
    return sum;
  }
};

struct shape
{
  __device__ virtual ~shape () {}
  __device__ virtual double area () const = 0;
};
struct square : shape
{
  double a;
  __device__ explicit square (double a) : a (a) {}
  __device__ double
  area () const override
  {
    return a * a;
  }
};
struct circle final : shape
{
  double r;
  __device__ explicit circle (double r) : r (r) {}
  __device__ double
  area () const override
  {
    return 3 * r * r;
  }
};

__global__ void
areas (double *to, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  shape *s = i % 3 ? static_cast<shape *> (new square (i)) : new circle (i);
  to[i] = s->area ();
  delete s;
}

template <class T> struct plus_of
{
  static constexpr T zero = T (0);
  __host__ __device__ T
  operator() (T a, T b) const
  {
    return a + b;
  }
};
template <class T> struct max_of
{
  static constexpr T zero = std::numeric_limits<T>::lowest ();
  __host__ __device__ T
  operator() (T a, T b) const
  {
    return a < b ? b : a;
  }
};

template <int THREADS, class T, class Op>
__global__ void
__launch_bounds__ (THREADS) reduce (const T *__restrict__ from, T *to, int n, Op op)
{
  __shared__ T part[THREADS];
  T mine = Op::zero;
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
    mine = op (mine, from[i]);
  part[threadIdx.x] = mine;
  __syncthreads ();
  for (int step = THREADS / 2; step; step /= 2)
    {
      if (threadIdx.x < step)
        part[threadIdx.x] = op (part[threadIdx.x], part[threadIdx.x + step]);
      __syncthreads ();
    }
  if (threadIdx.x == 0)
    to[blockIdx.x] = part[0];
}

template <class T, template <class> class Op>
void
try_reduce (int n)
{
  std::vector<T> a (n), parts (7);
  for (int i = 0; i < n; i++)
    a[i] = T ((i * 7919) % 1013 - 500);
  T *d, *p;
  CHECK (cudaMalloc (&d, n * sizeof (T)));
  CHECK (cudaMalloc (&p, 7 * sizeof (T)));
  CHECK (cudaMemcpy (d, a.data (), n * sizeof (T), cudaMemcpyHostToDevice));
  reduce<128><<<7, 128>>> (d, p, n, Op<T> ());
  CHECK (cudaGetLastError ());
  CHECK (cudaMemcpy (parts.data (), p, 7 * sizeof (T), cudaMemcpyDeviceToHost));
  Op<T> op;
  SAME (std::accumulate (parts.begin (), parts.end (), Op<T>::zero, op),
        std::accumulate (a.begin (), a.end (), Op<T>::zero, op));
  CHECK (cudaFree (d));
  CHECK (cudaFree (p));
}

template <class F>
__global__ void
each (int n, F f)
{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    f (i);
}

template <class... Fs>
__global__ void
all_of (double *to, Fs... fs)
{
  double x = threadIdx.x;
  ((x = fs (x)), ...);
  to[threadIdx.x] = x;
}

enum class kind : unsigned char
{
  even,
  odd
};
template <kind K>
__device__ int
pick (int i)
{
  if constexpr (K == kind::even)
    return 2 * i;
  else
    return 2 * i + 1;
}

template <class T> __device__ T table_of[4];
template <class T>
__global__ void
fill_table ()
{
  table_of<T>[threadIdx.x] = T (threadIdx.x) / 2;
}
template <class T>
__global__ void
read_table (T *to)
{
  to[threadIdx.x] = table_of<T>[threadIdx.x];
}

int
main ()
{
  double *d;
  const int n = 300;
  CHECK (cudaMalloc (&d, n * sizeof *d));
  areas<<<3, 128>>> (d, n);
  std::vector<double> got (n);
  CHECK (cudaMemcpy (got.data (), d, n * sizeof *d, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i++)
    SAME (got[i], (i % 3 ? 1. : 3.) * i * i);
  try_reduce<int, plus_of> (10007);
  try_reduce<long long, max_of> (999);
  try_reduce<double, plus_of> (5000);
  try_reduce<float, max_of> (5000);
  try_reduce<unsigned short, max_of> (500);
  try_reduce<signed char, plus_of> (33);
  double factor = 3;
  each<<<2, 64>>> (n, [=] __device__ (int i) { d[i] = factor * pick<kind::odd> (i) + pick<kind::even> (i); });
  CHECK (cudaMemcpy (got.data (), d, n * sizeof *d, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i++)
    SAME (got[i], factor * (2 * i + 1) + 2 * i);
  vec<float, 3> base{ { 1, 2, 3 } };
  each<<<2, 64>>> (n,
                   [=] __host__ __device__ (int i)
                     {
                       vec<float, 3> v{ { float (i), 1, 2 } };
                       vec<double, 3> w{ { 1, 1, 1 } };
                       d[i] = (base + v + w).dot (base);
                     });
  CHECK (cudaMemcpy (got.data (), d, n * sizeof *d, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i++)
    SAME (got[i], double ((2 + i) + 2 * 4 + 3 * 6));
  all_of<<<1, 32>>> (d, [] __device__ (double x) { return x + 1; }, [] __device__ (double x) { return x * x; });
  CHECK (cudaMemcpy (got.data (), d, 32 * sizeof *d, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; i++)
    SAME (got[i], double ((i + 1) * (i + 1)));
  fill_table<double><<<1, 4>>> ();
  fill_table<int><<<1, 4>>> ();
  read_table<<<1, 4>>> (d);
  CHECK (cudaMemcpy (got.data (), d, 4 * sizeof *d, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 4; i++)
    SAME (got[i], i / 2.);
  std::puts ("templates: right");
}
