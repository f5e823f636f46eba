/* What CUDA C++ has besides kernels: each line that it prints is compared by the test.  */
#include <cassert>
#include <cmath>
#include <cstdio>

struct shape
{
  __device__ virtual ~shape () {}
  __device__ virtual int corners () const = 0;
};
struct square : shape
{
  __device__ int corners () const override { return 4; }
};
struct triangle : shape
{
  __device__ int corners () const override { return 3; }
};

__device__ int counter;
__device__ __noinline__ short narrow (short a, bool b) { return b ? a : -a; }
__host__ __device__ constexpr int twice (int x) { return 2 * x; }

template <typename F>
__global__ void
apply (F f, int *out)
{
  out[threadIdx.x] = f (threadIdx.x);
}

__global__ void
objects (int *out)
{
  shape *s = threadIdx.x % 2 ? static_cast<shape *> (new triangle) : new square;
  out[threadIdx.x] = s->corners ();
  delete s;
}

__global__ void
warps (int *out)
{
  int t = threadIdx.x;
  unsigned odd = __ballot_sync (0xffffffff, t & 1);
  out[0] = __popc (odd);
  out[1] = __any_sync (0xffffffff, t == 5);
  out[2] = __all_sync (0xffffffff, t < 31);
  int got = __shfl_xor_sync (0xffffffff, t, 1), up = __shfl_up_sync (0xffffffff, t, 2);
  if (t == 6)
    {
      out[3] = got;
      out[4] = up;
      out[5] = __ffs (odd) + __clz (1);
      out[6] = __brev (1u) == 0x80000000u;
      out[7] = narrow (7, false) + narrow (1, true);
    }
  atomicMax (&out[8], t);
  atomicCAS (&out[9], 0, 17);
  out[10 + (t == 3)] = __syncthreads_count (t < 9);
  atomicInc ((unsigned *) &counter, 7);
  if (t == 0)
    {
      dim3 b = blockDim;
      out[12] = b.x + twice (gridDim.x);
      float4 q = make_float4 (1, 2, 3, 4);
      out[13] = (int) (q.x + q.w);
      out[14] = max (3, min (9, 5));
      out[15] = (int) std::sqrt (81.0f) + (int) fabsf (-2.5f);
    }
}

__global__ void
say (int n)
{
  printf ("from the device: %d %s %.2f %c\n", n, "text", 2.5, 'x');
}

int
main ()
{
  int *out, host[32] = {};
  cudaMalloc (&out, sizeof host);
  int base = 100;
  apply<<<1, 4>>> ([base] __device__ (int i) { return base + i * i; }, out);
  cudaMemcpy (host, out, sizeof host, cudaMemcpyDeviceToHost);
  std::printf ("lambda %d %d\n", host[0], host[3]);
  objects<<<1, 32>>> (out);
  cudaMemcpy (host, out, sizeof host, cudaMemcpyDeviceToHost);
  std::printf ("virtual %d %d\n", host[0], host[31]);
  cudaMemset (out, 0, sizeof host);
  warps<<<1, 32>>> (out);
  cudaMemcpy (host, out, sizeof host, cudaMemcpyDeviceToHost);
  std::printf ("warps");
  for (int i = 0; i < 16; i++)
    std::printf (" %d", host[i]);
  int count = -1;
  cudaMemcpyFromSymbol (&count, counter, sizeof count);
  std::printf ("\ncounter %d\n", count);
  say<<<1, 1>>> (42);
  cudaDeviceSynchronize ();
  int grid = 0, block = 0;
  cudaOccupancyMaxPotentialBlockSize (&grid, &block, say);
  std::printf ("occupancy %d\n", grid > 0 && block > 0 && block % 32 == 0);
  say<<<1, 4096>>> (1);
  std::printf ("%s\n", cudaGetErrorString (cudaGetLastError ()));
}
