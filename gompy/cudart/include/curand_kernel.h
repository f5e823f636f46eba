/* Random numbers in kernels (cuRAND's device API): XORWOW and Philox 4x32-10, with uniform, normal, log-normal and
   Poisson numbers.  Bits and uniform numbers follow cuRAND; MRG32k3a, MTGP32 and Sobol are not there.

   XORWOW: Marsaglia, "Xorshift RNGs", 2003.  Philox: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers", 2011.  */
#ifndef GOMPY_CURAND_KERNEL_H
#define GOMPY_CURAND_KERNEL_H

#include "cuda_runtime.h"

#ifdef __CUDA__

#define GOMPY_JUMPS __attribute__ ((device))
#include "gompy_curand_jumps.h"
#undef GOMPY_JUMPS

/* The second of two normal numbers that were made together.  */
struct gompy_curand_second { int there, there_double; float kept; double kept_double; };

struct curandStateXORWOW : gompy_curand_second { unsigned d, v[5]; };
struct curandStatePhilox4_32_10 : gompy_curand_second { uint4 ctr, output; uint2 key; unsigned STATE; };
typedef struct curandStateXORWOW curandStateXORWOW_t, curandState_t, curandState;
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

/* --- XORWOW.  --- */
GOMPY_DEVICE unsigned
curand (curandStateXORWOW *state)
{
  unsigned t = state->v[0] ^ state->v[0] >> 2;
  state->v[0] = state->v[1];
  state->v[1] = state->v[2];
  state->v[2] = state->v[3];
  state->v[3] = state->v[4];
  state->v[4] = state->v[4] ^ state->v[4] << 4 ^ t ^ t << 1;
  state->d += 362437;
  return state->v[4] + state->d;
}

/* So many times 2^FIRST steps of the register; the counter stays.  */
static __inline__ __attribute__ ((device, noinline)) void
gompy_curand_jump (curandStateXORWOW *state, unsigned long long times, int first)
{
  for (int row = first; times; times >>= 1, row++)
    if (times & 1)
      {
        curandStateXORWOW at = *state;
        unsigned sum[5] = { 0, 0, 0, 0, 0 };
        for (int bit = 0; bit < 160; bit++)
          {
            if (gompy_jumps[row][bit / 32] >> bit % 32 & 1)
              for (int i = 0; i < 5; i++)
                sum[i] ^= at.v[i];
            curand (&at);
          }
        for (int i = 0; i < 5; i++)
          state->v[i] = sum[i];
      }
}

GOMPY_DEVICE void
skipahead (unsigned long long steps, curandStateXORWOW *state)
{
  gompy_curand_jump (state, steps, 0);
  state->d += 362437u * (unsigned) steps;
}

/* A sequence has 2^67 numbers.  */
GOMPY_DEVICE void
skipahead_sequence (unsigned long long sequences, curandStateXORWOW *state)
{
  gompy_curand_jump (state, sequences, 67);
}

GOMPY_DEVICE void
curand_init (unsigned long long seed, unsigned long long sequence, unsigned long long offset, curandStateXORWOW *state)
{
  unsigned low = 1099087573u * ((unsigned) seed ^ 0xaad26b49u);
  unsigned high = 2591861531u * ((unsigned) (seed >> 32) ^ 0xf7dcefddu);
  state->d = 6615241u + high + low;
  state->v[0] = 123456789u + low;
  state->v[1] = 362436069u ^ low;
  state->v[2] = 521288629u + high;
  state->v[3] = 88675123u ^ high;
  state->v[4] = 5783321u + low;
  skipahead_sequence (sequence, state);
  skipahead (offset, state);
  state->there = state->there_double = 0;
}

/* --- Philox: four numbers are what ten rounds make of a counter.  --- */
GOMPY_DEVICE uint4
curand_Philox4x32_10 (uint4 c, uint2 k)
{
#pragma unroll
  for (int round = 0; round < 10; round++)
    {
      unsigned long long a = 0xd2511f53ull * c.x, b = 0xcd9e8d57ull * c.z;
      c = make_uint4 ((unsigned) (b >> 32) ^ c.y ^ k.x, (unsigned) b, (unsigned) (a >> 32) ^ c.w ^ k.y, (unsigned) a);
      k.x += 0x9e3779b9u;
      k.y += 0xbb67ae85u;
    }
  return c;
}

/* The counter's lower or upper half, and what it carries.  */
GOMPY_DEVICE void
gompy_curand_count (uint4 *c, unsigned long long by)
{
  unsigned long long low = ((unsigned long long) c->y << 32 | c->x) + by;
  if (low < by && ++c->z == 0)
    c->w++;
  c->x = (unsigned) low;
  c->y = (unsigned) (low >> 32);
}

GOMPY_DEVICE void
skipahead (unsigned long long steps, curandStatePhilox4_32_10_t *state)
{
  state->STATE += (unsigned) (steps & 3);
  gompy_curand_count (&state->ctr, steps / 4 + state->STATE / 4);
  state->STATE %= 4;
  state->output = curand_Philox4x32_10 (state->ctr, state->key);
}

GOMPY_DEVICE void
skipahead_sequence (unsigned long long sequences, curandStatePhilox4_32_10_t *state)
{
  unsigned long long high = ((unsigned long long) state->ctr.w << 32 | state->ctr.z) + sequences;
  state->ctr.z = (unsigned) high;
  state->ctr.w = (unsigned) (high >> 32);
  state->output = curand_Philox4x32_10 (state->ctr, state->key);
}

GOMPY_DEVICE void
curand_init (unsigned long long seed, unsigned long long sequence, unsigned long long offset,
             curandStatePhilox4_32_10_t *state)
{
  state->ctr = make_uint4 (0, 0, 0, 0);
  state->key = make_uint2 ((unsigned) seed, (unsigned) (seed >> 32));
  state->STATE = 0;
  state->there = state->there_double = 0;
  skipahead_sequence (sequence, state);
  skipahead (offset, state);
}

GOMPY_DEVICE unsigned
curand (curandStatePhilox4_32_10_t *state)
{
  uint4 o = state->output;
  unsigned number = state->STATE == 0 ? o.x : state->STATE == 1 ? o.y : state->STATE == 2 ? o.z : o.w;
  if (++state->STATE == 4)
    {
      state->STATE = 0;
      gompy_curand_count (&state->ctr, 1);
      state->output = curand_Philox4x32_10 (state->ctr, state->key);
    }
  return number;
}

GOMPY_DEVICE uint4
curand4 (curandStatePhilox4_32_10_t *state)
{
  uint4 found;
  found.x = curand (state);
  found.y = curand (state);
  found.z = curand (state);
  found.w = curand (state);
  return found;
}

/* --- Numbers of some distribution, by either.  Uniform ones are above 0, and 1 at most.  --- */
#define GOMPY_CURAND_FLOAT 2.3283064365386963e-10f   /* 2^-32 */
#define GOMPY_CURAND_DOUBLE 1.1102230246251565e-16   /* 2^-53 */

GOMPY_DEVICE float
gompy_curand_uniform (unsigned x)
{
  return x * GOMPY_CURAND_FLOAT + GOMPY_CURAND_FLOAT / 2;
}

GOMPY_DEVICE double
gompy_curand_uniform (unsigned x, unsigned y)
{
  unsigned long long bits = (unsigned long long) x ^ (unsigned long long) y << 21;
  return bits * GOMPY_CURAND_DOUBLE + GOMPY_CURAND_DOUBLE / 2;
}

/* Box, Muller, "A Note on the Generation of Random Normal Deviates", 1958.  */
GOMPY_DEVICE float2
gompy_curand_normal (unsigned x, unsigned y)
{
  float turn = y * (GOMPY_CURAND_FLOAT * 6.2831855f) + GOMPY_CURAND_FLOAT * 6.2831855f / 2, sine, cosine;
  float size = sqrtf (-2 * logf (gompy_curand_uniform (x)));
  sincosf (turn, &sine, &cosine);
  return make_float2 (size * sine, size * cosine);
}

template <typename State>
GOMPY_DEVICE double
curand_uniform_double (State *state)
{
  unsigned x = curand (state), y = curand (state);
  return gompy_curand_uniform (x, y);
}

template <typename State>
GOMPY_DEVICE float
curand_uniform (State *state)
{
  return gompy_curand_uniform (curand (state));
}

template <typename State>
GOMPY_DEVICE float2
curand_normal2 (State *state)
{
  unsigned x = curand (state), y = curand (state);
  return gompy_curand_normal (x, y);
}

template <typename State>
GOMPY_DEVICE double2
curand_normal2_double (State *state)
{
  double u = curand_uniform_double (state), v = curand_uniform_double (state), sine, cosine;
  double size = sqrt (-2 * log (u));
  sincospi (2 * v, &sine, &cosine);
  return make_double2 (size * sine, size * cosine);
}

template <typename State>
GOMPY_DEVICE float
curand_normal (State *state)
{
  if (state->there)
    {
      state->there = 0;
      return state->kept;
    }
  float2 both = curand_normal2 (state);
  state->kept = both.y;
  state->there = 1;
  return both.x;
}

template <typename State>
GOMPY_DEVICE double
curand_normal_double (State *state)
{
  if (state->there_double)
    {
      state->there_double = 0;
      return state->kept_double;
    }
  double2 both = curand_normal2_double (state);
  state->kept_double = both.y;
  state->there_double = 1;
  return both.x;
}

template <typename State>
GOMPY_DEVICE float
curand_log_normal (State *state, float mean, float deviation)
{
  return expf (mean + deviation * curand_normal (state));
}

template <typename State>
GOMPY_DEVICE double
curand_log_normal_double (State *state, double mean, double deviation)
{
  return exp (mean + deviation * curand_normal_double (state));
}

/* Four at a time.  */
GOMPY_DEVICE float4
curand_uniform4 (curandStatePhilox4_32_10_t *state)
{
  uint4 x = curand4 (state);
  return make_float4 (gompy_curand_uniform (x.x), gompy_curand_uniform (x.y), gompy_curand_uniform (x.z),
                      gompy_curand_uniform (x.w));
}

GOMPY_DEVICE double2
curand_uniform2_double (curandStatePhilox4_32_10_t *state)
{
  uint4 x = curand4 (state);
  return make_double2 (gompy_curand_uniform (x.x, x.y), gompy_curand_uniform (x.z, x.w));
}

GOMPY_DEVICE float4
curand_normal4 (curandStatePhilox4_32_10_t *state)
{
  uint4 x = curand4 (state);
  float2 a = gompy_curand_normal (x.x, x.y), b = gompy_curand_normal (x.z, x.w);
  return make_float4 (a.x, a.y, b.x, b.y);
}

/* Poisson: products of uniform numbers (Knuth), in parts of 500, as e^-lambda has to be a number.  */
template <typename State>
GOMPY_DEVICE unsigned
curand_poisson (State *state, double lambda)
{
  unsigned count = 0;
  double product = 1;
  while (lambda > 0)
    {
      double part = lambda < 500 ? lambda : 500;
      lambda -= part;
      product *= exp (part);
      for (;;)
        {
          double next = product * curand_uniform_double (state);
          if (next <= 1 && lambda <= 0)
            return count;
          if (next <= 1)
            break;
          product = next;
          count++;
        }
    }
  return count;
}

#undef GOMPY_CURAND_FLOAT
#undef GOMPY_CURAND_DOUBLE

#endif
#endif
