/* Atomic operations of 16 bytes, as libatomic has them on processors with cmpxchg16b, which all but the first x86-64
   ones have: its locks would order threads in a way that is not seen, and programs may be linked without it.

   Where there is AVX an aligned load of 16 bytes is atomic (Intel SDM 3A 9.1.1; AMD's manual has the same), and what
   is read may stand in memory that cannot be written.  Included once, by hooks.c.  */
#ifndef GOMPY_ACCESS_ATOMIC128_H
#define GOMPY_ACCESS_ATOMIC128_H

#include <emmintrin.h>

typedef unsigned __int128 uint128_t;

/* What was there; if it was OLD, V is now.  */
static __attribute__ ((noinline, target ("cx16"))) uint128_t
swap128 (volatile uint128_t *p, uint128_t old, uint128_t v)
{
  return __sync_val_compare_and_swap (p, old, v);
}

static uint128_t
load128 (const volatile uint128_t *p)
{
  uint128_t v;
  if (!__builtin_cpu_supports ("avx"))
    return swap128 ((volatile uint128_t *) p, 0, 0);
  _mm_store_si128 ((__m128i *) &v, *(const volatile __m128i *) p);
  __atomic_signal_fence (__ATOMIC_SEQ_CST);
  return v;
}

#define UPDATE128(name, result)                                                                                        \
  static uint128_t set128_##name (volatile uint128_t *p, uint128_t v)                                                  \
  {                                                                                                                    \
    uint128_t old = load128 (p), there;                                                                                \
    for (; (there = swap128 (p, old, (result))) != old; old = there)                                                   \
      ;                                                                                                                \
    return old;                                                                                                        \
  }
UPDATE128 (exchange, v)
UPDATE128 (add, old + v)
UPDATE128 (sub, old - v)
UPDATE128 (and, old & v)
UPDATE128 (or, old | v)
UPDATE128 (xor, old ^ v)
UPDATE128 (nand, ~(old & v))

/* Whether *OLD was there, which is what was.  */
static bool
compare128 (volatile uint128_t *p, uint128_t *old, uint128_t v)
{
  uint128_t wanted = *old;
  *old = swap128 (p, wanted, v);
  return *old == wanted;
}

#define DO128_LOAD(p) load128 (p)
#define DO128_STORE(p, v) ((void) set128_exchange (p, v))
#define DO128_EXCHANGE(p, v) set128_exchange (p, v)
#define DO128_FETCH(name, p, v) set128_##name (p, v)
#define DO128_COMPARE(p, old, v, weak) compare128 (p, old, v)

#endif
