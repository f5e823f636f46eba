/* curand_kernel.h: Philox by the known answers of its authors' Random123, XORWOW by its steps one after the other, and
   the distributions by their moments.  */
#include "check.h"
#include <curand_kernel.h>

__global__ void
philox (uint4 *out)
{
  const unsigned all = 0xffffffff;
  out[0] = curand_Philox4x32_10 (make_uint4 (0, 0, 0, 0), make_uint2 (0, 0));
  out[1] = curand_Philox4x32_10 (make_uint4 (all, all, all, all), make_uint2 (all, all));
  out[2] = curand_Philox4x32_10 (make_uint4 (0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344),
                                 make_uint2 (0xa4093822, 0x299f31d0));
  curandStatePhilox4_32_10_t a, b;
  curand_init (0, 0, 0, &a);
  out[3] = curand4 (&a);
  curand_init (5, 3, 1000003, &a);
  curand_init (5, 3, 0, &b);
  for (int i = 0; i < 1003; i++)
    curand (&b);
  skipahead (999000, &b);
  out[4] = curand4 (&a);
  out[5] = curand4 (&b);
}

__global__ void
xorwow (unsigned *out, unsigned long long seed)
{
  curandState a, b;
  curand_init (seed, 0, 12345, &a);
  curand_init (seed, 0, 0, &b);
  out[0] = curand (&b);
  for (int i = 1; i < 12345; i++)
    curand (&b);
  out[1] = curand (&a);
  out[2] = curand (&b);
  curand_init (seed, 6, 0, &a); /* 6 * 2^67 steps, as 192 times 2^62 */
  curand_init (seed, 0, 0, &b);
  for (int i = 0; i < 192; i++)
    skipahead (1ull << 62, &b);
  for (int i = 0; i < 5; i++)
    out[3 + i] = a.v[i] ^ b.v[i];
}

/* Sums of numbers and of their squares.  */
template <typename State>
__global__ void
moments (double *sums, int each)
{
  State state;
  curand_init (1234ull, threadIdx.x + blockIdx.x * blockDim.x, 0, &state);
  double found[12] = {};
  auto note = [&] (int at, double x) {
    found[2 * at] += x;
    found[2 * at + 1] += x * x;
  };
  for (int i = 0; i < each; i++)
    {
      note (0, curand_uniform (&state));
      note (1, curand_uniform_double (&state));
      note (2, curand_normal (&state));
      note (3, curand_normal_double (&state));
      note (4, curand_log_normal (&state, 0.5f, 0.25f));
      note (5, curand_poisson (&state, i % 2 ? 3.5 : 700));
    }
  for (int i = 0; i < 12; i++)
    atomicAdd (sums + i, found[i]);
}

template <typename State>
static void
look (double *sums)
{
  const int threads = 512, each = 40;
  const double n = threads * each, log_mean = exp (0.5 + 0.25 * 0.25 / 2);
  const double mean[] = { 0.5, 0.5, 0, 0, log_mean, (3.5 + 700) / 2 };
  const double square[] = { 1 / 3.0, 1 / 3.0, 1, 1, exp (2 * 0.5 + 2 * 0.25 * 0.25), (3.5 * 4.5 + 700 * 701.0) / 2 };
  memset (sums, 0, 12 * sizeof *sums);
  moments<State><<<threads / 128, 128>>> (sums, each);
  CHECK (cudaDeviceSynchronize ());
  for (int i = 0; i < 6; i++)
    {
      double spread = sqrt (square[i]), by = 5 / sqrt (n);
      SAME (fabs (sums[2 * i] / n - mean[i]) < spread * by, true);
      SAME (fabs (sums[2 * i + 1] / n - square[i]) < 2.5 * square[i] * by, true);
    }
}

int
main ()
{
  const unsigned known[] = { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8, 0x408f276d, 0x41c83b0e,
                             0xa20bc7c6, 0x6d5451fd, 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 };
  unsigned *out;
  double *sums;
  CHECK (cudaMallocManaged (&out, 64 * sizeof *out));
  CHECK (cudaMallocManaged (&sums, 12 * sizeof *sums));
  philox<<<1, 1>>> ((uint4 *) out);
  CHECK (cudaDeviceSynchronize ());
  for (int i = 0; i < 12; i++)
    SAME (out[i], known[i]);
  for (int i = 0; i < 4; i++)
    {
      SAME (out[12 + i], known[i]);
      SAME (out[16 + i], out[20 + i]);
    }

  const unsigned long long seed = 0x123456789abcdefull;
  unsigned low = 1099087573u * ((unsigned) seed ^ 0xaad26b49u);
  unsigned high = 2591861531u * ((unsigned) (seed >> 32) ^ 0xf7dcefddu);
  unsigned v[] = { 123456789u + low, 362436069u ^ low, 521288629u + high, 88675123u ^ high, 5783321u + low };
  unsigned d = 6615241u + high + low, number = 0, first = 0;
  for (int step = 0; step <= 12345; step++)
    {
      unsigned t = v[0] ^ v[0] >> 2;
      v[0] = v[1], v[1] = v[2], v[2] = v[3], v[3] = v[4];
      v[4] = v[4] ^ v[4] << 4 ^ t ^ t << 1;
      number = v[4] + (d += 362437);
      first = step ? first : number;
    }
  xorwow<<<1, 1>>> (out, seed);
  CHECK (cudaDeviceSynchronize ());
  SAME (out[0], first);
  SAME (out[1], number);
  SAME (out[2], number);
  for (int i = 0; i < 5; i++)
    SAME (out[3 + i], 0u);
  look<curandState> (sums);
  look<curandStatePhilox4_32_10_t> (sums);
  std::printf ("random: right\n");
  return 0;
}
