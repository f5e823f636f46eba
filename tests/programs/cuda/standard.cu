/* libcu++: atomics of all sizes and orders, barriers, semaphores, pipelines, and what the host's headers lend.  */
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda/std/array>
#include <cuda/std/atomic>
#include <cuda/std/complex>
#include <cuda/std/cstdint>
#include <cuda/std/limits>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda_pipeline.h>
#include "check.h"
namespace cg = cooperative_groups;

struct pair { short x, y; };
struct words
{
  cuda::std::atomic<int> sum;
  cuda::atomic<unsigned char, cuda::thread_scope_device> bytes[4];
  cuda::atomic<unsigned short, cuda::thread_scope_device> halves[2];
  cuda::atomic<double, cuda::thread_scope_device> real;
  cuda::atomic<long long, cuda::thread_scope_system> most, least, bits;
  cuda::atomic<pair, cuda::thread_scope_device> both;
  int plain, swapped, together;
  cuda::atomic_flag<cuda::thread_scope_device> taken;
};

__global__ void
add (words *w)
{
  int me = threadIdx.x + blockIdx.x * blockDim.x;
  w->sum++;
  w->bytes[me % 4].fetch_add (1, cuda::memory_order_relaxed);
  w->halves[me % 2] += 3;
  w->real.fetch_add (0.5);
  w->most.fetch_max (me * 10ll - 100);
  w->least.fetch_min (-me, cuda::std::memory_order_acq_rel);
  w->bits.fetch_or (1ll << me % 64);
  w->both.gompy_update ([] (pair p) { return pair { (short) (p.x + 1), (short) (p.y - 1) }; });
  cuda::atomic_ref<int, cuda::thread_scope_device> plain (w->plain);
  plain.fetch_sub (2);
  int old = plain.load ();
  while (!plain.compare_exchange_weak (old, old + 1))
    ;
  if (!w->taken.test_and_set ())
    cuda::atomic_ref<int> (w->swapped).exchange (me + 1);
}

struct count_up
{
  int *at;
  __device__ void operator() () const { ++*at; }
};

__global__ void
phases (int *out, const int *in, int *phases_seen)
{
  typedef cuda::barrier<cuda::thread_scope_block> barrier;
  typedef cuda::barrier<cuda::thread_scope_block, count_up> counting;
  __shared__ barrier bar;
  __shared__ counting told;
  __shared__ int tile[128];
  auto block = cg::this_thread_block ();
  int me = threadIdx.x;
  if (me == 0)
    {
      init (&bar, blockDim.x);
      init (&told, blockDim.x, count_up { phases_seen });
    }
  block.sync ();
  cuda::memcpy_async (block, tile, in, cuda::aligned_size_t<16> (sizeof tile), bar);
  barrier::arrival_token token = bar.arrive ();
  bar.wait (std::move (token));
  int other = tile[127 - me];
  bar.arrive_and_wait ();
  tile[me] = other * 2;
  told.arrive_and_wait ();
  told.arrive_and_wait ();
  if (me < 32)
    {
      bar.arrive_and_drop ();
      told.arrive ();
      out[me] = tile[me];
    }
  else
    {
      bar.arrive_and_wait ();
      bar.arrive_and_wait ();
      out[me] = tile[127 - me + 32] + tile[me] - tile[127 - me + 32];
      told.arrive_and_wait ();
    }
}

template <int stages>
__global__ void
stream (int *out, const int *in, int rounds)
{
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  __shared__ int tiles[stages][64];
  auto block = cg::this_thread_block ();
  auto role = threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto pipe = cuda::make_pipeline (block, &state, role);
  int lane = threadIdx.x % 32, sum = 0;
  if (role == cuda::pipeline_role::producer)
    for (int round = 0; round < rounds; round++)
      {
        pipe.producer_acquire ();
        for (int half = 0; half < 64; half += 32)
          cuda::memcpy_async (&tiles[round % stages][half + lane], in + round * 64 + half + lane, sizeof (int), pipe);
        pipe.producer_commit ();
      }
  else
    for (int round = 0; round < rounds; round++)
      {
        pipe.consumer_wait ();
        sum += tiles[round % stages][63 - lane] - tiles[round % stages][lane];
        pipe.consumer_release ();
      }
  if (role == cuda::pipeline_role::consumer)
    out[lane] = sum;
}

__global__ void
primitives (int4 *out, const int4 *in)
{
  __shared__ int4 tile[32];
  __pipeline_memcpy_async (&tile[threadIdx.x], &in[threadIdx.x], 16, threadIdx.x % 2 ? 8 : 0);
  __pipeline_commit ();
  __pipeline_wait_prior (0);
  __syncthreads ();
  out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void
lent (double *out, cuda::std::array<int, 3> *numbers, cuda::binary_semaphore<cuda::thread_scope_device> *one,
      cuda::latch<cuda::thread_scope_device> *all)
{
  if (threadIdx.x == 0)
    {
      one->acquire ();
      out[0] += 1;
      one->release ();
      all->count_down ();
    }
  if (threadIdx.x || blockIdx.x)
    return;
  auto both = cuda::std::make_tuple (1, 2.5f);
  cuda::std::complex<double> z (3, 4);
  static_assert (cuda::std::is_same_v<decltype (both), cuda::std::tuple<int, float>>, "the host's");
  (*numbers)[2] = cuda::std::numeric_limits<cuda::std::int16_t>::max () + (*numbers)[1];
  out[1] = cuda::std::get<0> (both) + cuda::std::get<1> (both) + (z * z).imag ();
}

int
main ()
{
  words *w;
  CHECK (cudaMallocManaged (&w, sizeof *w));
  memset ((void *) w, 0, sizeof *w);
  add<<<4, 64>>> (w);
  CHECK (cudaDeviceSynchronize ());
  SAME (w->sum.load (), 256);
  for (int i = 0; i < 4; i++)
    SAME (w->bytes[i].load (), 64);
  SAME (w->halves[1].load (), 384);
  SAME (w->real.load (), 128);
  SAME (w->most.load (), 2450);
  SAME (w->least.load (), -255);
  SAME (w->bits.load (), -1);
  SAME (w->both.load ().x * 1000 + w->both.load ().y, 255744);
  SAME (w->plain, -256);
  SAME (w->swapped != 0, true);
  SAME (cuda::atomic_ref<int> (w->plain).fetch_max (9), -256);
  SAME (w->plain, 9);

  int *in, *out;
  CHECK (cudaMallocManaged (&in, 4096 * sizeof *in));
  CHECK (cudaMallocManaged (&out, 4096 * sizeof *out));
  for (int i = 0; i < 4096; i++)
    in[i] = i * i % 1009;
  out[200] = 0;
  phases<<<1, 128>>> (out, in, out + 200);
  CHECK (cudaDeviceSynchronize ());
  for (int i = 0; i < 128; i++)
    SAME (out[i], in[127 - i] * 2);
  SAME (out[200], 3);
  stream<3><<<1, 64>>> (out, in, 20);
  CHECK (cudaDeviceSynchronize ());
  for (int i = 0; i < 32; i++)
    {
      int sum = 0;
      for (int round = 0; round < 20; round++)
        sum += in[round * 64 + 63 - i] - in[round * 64 + i];
      SAME (out[i], sum);
    }
  primitives<<<1, 32>>> ((int4 *) out, (int4 *) in);
  CHECK (cudaDeviceSynchronize ());
  for (int i = 0; i < 128; i++)
    SAME (out[i], i / 4 % 2 && i % 4 > 1 ? 0 : in[i]);

  double *real;
  cuda::std::array<int, 3> *numbers;
  cuda::binary_semaphore<cuda::thread_scope_device> *one;
  cuda::latch<cuda::thread_scope_device> *all;
  CHECK (cudaMallocManaged (&real, 16));
  CHECK (cudaMallocManaged (&numbers, sizeof *numbers));
  CHECK (cudaMallocManaged (&one, sizeof *one));
  CHECK (cudaMallocManaged (&all, sizeof *all));
  real[0] = 0;
  (*numbers)[1] = 1;
  new (one) cuda::binary_semaphore<cuda::thread_scope_device> (1);
  new (all) cuda::latch<cuda::thread_scope_device> (8);
  lent<<<8, 32>>> (real, numbers, one, all);
  CHECK (cudaDeviceSynchronize ());
  SAME (real[0], 8);
  SAME (real[1], 27.5);
  SAME ((*numbers)[2], 32768);
  SAME (all->try_wait (), true);
  std::printf ("standard: right\n");
  return 0;
}
