/* Reads of shared memory are put off (races.h): where nothing has been written there since the last barrier of all,
   only a write can make a race of them, and behind the next such barrier they are over.  Tiles are mostly read so.  */
#ifndef GOMPY_PTX_RACE_LATER_H
#define GOMPY_PTX_RACE_LATER_H

#include "race_accesses.h"

enum { GOMPY_LATER = 512, GOMPY_EVERY_LANE = 64 /* one address: of all active lanes, `its` says which */ };

/* A read: its lanes' addresses, or one address.  */
struct gompy_later
{
  struct gompy_access access;
  uint32_t mask, its;                   /* its: GOMPY_EVERY_LANE and gompy_race_one's lane, or 0 */
  uint64_t a[GOMPY_LANES];
};

/* The chunks of shared memory that aligned lanes touch; 0: some of them touch other memory.  *ANY: some are in it.
   COPY, if any: the addresses, again.  */
static inline uint64_t
gompy_shared_chunks_usual (const uint64_t *a, uint32_t mask, uint64_t last, uint32_t size, uint32_t shift, int *any,
                           uint64_t *copy)
{
  uint64_t chunks = 0, offset;
  int odd = 0;
  *any = 0;
  if (copy)
    memcpy (copy, a, GOMPY_LANES * sizeof *a);
  for (; mask; mask &= mask - 1)
    {
      offset = a[__builtin_ctz (mask)] - GOMPY_SHARED_BASE;
      if (offset <= last)
        {
          *any = 1;
          chunks |= 1ull << (offset >> shift);
          odd |= (offset & (size - 1)) != 0;
        }
      else
        odd = 1;
    }
  return odd ? 0 : chunks;
}

static __attribute__ ((noinline, target ("avx512f"))) uint64_t
gompy_shared_chunks_avx512 (const uint64_t *a, uint32_t mask, uint64_t last, uint32_t size, uint32_t shift, int *any,
                            uint64_t *copy)
{
  __m512i chunks = _mm512_setzero_si512 (), base = _mm512_set1_epi64 ((long long) GOMPY_SHARED_BASE);
  __m512i end = _mm512_set1_epi64 ((long long) last), low = _mm512_set1_epi64 (size - 1), one = _mm512_set1_epi64 (1);
  __m128i by = _mm_cvtsi32_si128 ((int) shift);
  uint32_t in = 0, odd = 0;
#pragma GCC unroll 4
  for (int i = 0; i < GOMPY_LANES; i += 8)
    {
      __mmask8 lanes = (__mmask8) (mask >> i);
      __m512i its = _mm512_loadu_si512 (a + i), offset = _mm512_sub_epi64 (its, base);
      __mmask8 inside = _mm512_mask_cmple_epu64_mask (lanes, offset, end);
      in |= inside;
      odd |= (uint32_t) (lanes & ~inside) | _mm512_mask_test_epi64_mask (inside, offset, low);
      if (copy)
        _mm512_storeu_si512 (copy + i, its);
      chunks = _mm512_or_si512 (chunks, _mm512_maskz_sllv_epi64 (inside, one, _mm512_srl_epi64 (offset, by)));
    }
  *any = in != 0;
  return odd ? 0 : (uint64_t) _mm512_reduce_or_epi64 (chunks);
}

/* Whether an access is put off: a read, of addresses of lanes (ITS 0) or of one address.  1: it is; 0: look at it; -1:
   look at those that were put off before.  */
static inline int
gompy_race_later (struct gompy_races *r, const struct gompy_access *access, uint32_t mask, const uint64_t *a,
                  uint32_t its, uint64_t shared_size)
{
  uint64_t last = shared_size - access->size, chunks;
  int any, looks = access->writes || access->who & GOMPY_WHO_STRONG;
  struct gompy_later *later = NULL;
  if (shared_size < access->size || !r->puts_off)
    return 0;
  if (!looks)
    {
      if (a[its ? 0 : __builtin_ctz (mask)] - GOMPY_SHARED_BASE > last)
        return 0;
      if (!r->later && !(r->later = malloc (GOMPY_LATER * sizeof *r->later)))
        return 0;
      if (r->nlater == GOMPY_LATER)
        return -1;
      later = &r->later[r->nlater];
    }
  if (!its && __builtin_cpu_supports ("avx512f"))
    chunks = gompy_shared_chunks_avx512 (a, mask, last, access->size, r->chunk_shift, &any, later ? later->a : NULL);
  else if (!its)
    chunks = gompy_shared_chunks_usual (a, mask, last, access->size, r->chunk_shift, &any, later ? later->a : NULL);
  else
    {
      chunks = gompy_shared_chunks_usual (a, 1, last, access->size, r->chunk_shift, &any, NULL);
      if (later)
        later->a[0] = *a;
    }
  if (!any)
    return 0;
  if (!chunks || access->size & (access->size - 1) || access->size > 16)
    chunks = ~0ull; /* an odd access */
  if (looks)
    {
      r->written_chunks |= chunks;
      return r->read_chunks & chunks ? -1 : 0;
    }
  if (r->written_chunks & chunks || chunks == ~0ull)
    return 0;
  r->read_chunks |= chunks;
  r->nlater++;
  later->access = *access;
  later->mask = mask;
  later->its = its;
  return 1;
}

/* Those that were put off are taken out to be looked at.  How many.  */
static inline uint32_t
gompy_race_take_later (struct gompy_races *r)
{
  uint32_t count = r->nlater;
  r->nlater = 0;
  r->read_chunks = 0;
  r->gain = r->gain > 4 * (int32_t) count - GOMPY_GAIN ? r->gain - 4 * (int32_t) count : -GOMPY_GAIN;
  return count;
}

#endif
