/* What contents hash to: only for telling that they are as they were, within a process.  Included by check_log.h.  */
#ifndef GOMPY_CHECK_HASH_H
#define GOMPY_CHECK_HASH_H

#include "gompy/native/cpu_features.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GOMPY_HASH_LANES 8u
#define GOMPY_HASH_ROWS 4u     /* of as many lanes, where the processor has AVX-512 */
#define GOMPY_HASH_PART 65536u
#define GOMPY_HASH_FACTOR 0xff51afd7ed558ccdull
#ifndef GOMPY_HASH_LARGE
#define GOMPY_HASH_LARGE 4096u /* there those make up for their ends */
#endif

typedef uint64_t gompy_hash_row __attribute__ ((vector_size (8 * GOMPY_HASH_LANES)));

static inline uint64_t
gompy_hash_word (uint64_t h, uint64_t word)
{
  h = (h ^ word) * GOMPY_HASH_FACTOR;
  return h ^ h >> 32;
}

/* The first N bytes, a multiple of a row's.  The lanes are independent, as a multiplication waits for the one before
   it.  */
static __attribute__ ((optimize ("O3"))) uint64_t
gompy_hash_by_row (const unsigned char *at, size_t n, uint64_t h)
{
  uint64_t lanes[GOMPY_HASH_LANES], words[GOMPY_HASH_LANES];
  for (unsigned i = 0; i < GOMPY_HASH_LANES; i++)
    lanes[i] = h + i;
  for (; n > 0; n -= sizeof words, at += sizeof words)
    {
      memcpy (words, at, sizeof words);
      for (unsigned i = 0; i < GOMPY_HASH_LANES; i++)
        lanes[i] = gompy_hash_word (lanes[i], words[i]);
    }
  for (unsigned i = 0; i < GOMPY_HASH_LANES; i++)
    h = gompy_hash_word (h, lanes[i]);
  return h;
}

/* N: a multiple of GOMPY_HASH_ROWS rows' bytes.  */
static __attribute__ ((target ("avx512f,avx512dq"), optimize ("O3"))) uint64_t
gompy_hash_by_rows (const unsigned char *at, size_t n, uint64_t h)
{
  gompy_hash_row rows[GOMPY_HASH_ROWS], words;
  for (unsigned r = 0; r < GOMPY_HASH_ROWS; r++)
    for (unsigned i = 0; i < GOMPY_HASH_LANES; i++)
      rows[r][i] = h + r * GOMPY_HASH_LANES + i;
  for (; n > 0; n -= sizeof rows, at += sizeof rows)
    for (unsigned r = 0; r < GOMPY_HASH_ROWS; r++)
      {
        memcpy (&words, at + r * sizeof words, sizeof words);
        rows[r] = (rows[r] ^ words) * GOMPY_HASH_FACTOR;
        rows[r] ^= rows[r] >> 32;
      }
  for (unsigned r = 0; r < GOMPY_HASH_ROWS; r++)
    for (unsigned i = 0; i < GOMPY_HASH_LANES; i++)
      h = gompy_hash_word (h, rows[r][i]);
  return h;
}

/* At most GOMPY_HASH_PART bytes.  */
static uint64_t
gompy_hash_part (const void *p, size_t n)
{
  const unsigned char *at = p;
  uint64_t h = 0x9E3779B97F4A7C15ull ^ n, word;
  size_t rows = n & -(sizeof (gompy_hash_row) * GOMPY_HASH_ROWS), row;
  if (n >= GOMPY_HASH_LARGE && gompy_has_avx512 ())
    {
      h = gompy_hash_by_rows (at, rows, h);
      at += rows;
      n -= rows;
    }
  row = n & -sizeof (gompy_hash_row);
  if (row > 0)
    h = gompy_hash_by_row (at, row, h);
  at += row;
  n -= row;
  for (; n >= 8; n -= 8, at += 8)
    {
      memcpy (&word, at, 8);
      h = gompy_hash_word (h, word);
    }
  for (; n; n--, at++)
    h = (h ^ *at) * GOMPY_HASH_FACTOR;
  return h ^ h >> 29;
}

/* How many parts N bytes have.  */
static inline size_t
gompy_count_parts (size_t n)
{
  return (n + GOMPY_HASH_PART - 1) / GOMPY_HASH_PART;
}

/* What N bytes hash to, more than GOMPY_HASH_PART, whose parts hash to PARTS.  */
static inline uint64_t
gompy_hash_of_parts (size_t n, const uint64_t *parts)
{
  uint64_t h = n;
  for (size_t i = 0; i < gompy_count_parts (n); i++)
    h = gompy_hash_word (h, parts[i]);
  return h;
}

/* More are hashed part by part; PARTS, or NULL: what each of them hashes to.  */
static uint64_t
gompy_hash_parts (const void *p, size_t n, uint64_t *parts)
{
  const unsigned char *at = p;
  uint64_t h = n, part;
  if (n <= GOMPY_HASH_PART)
    {
      h = gompy_hash_part (p, n);
      if (parts != NULL)
        *parts = h;
      return h;
    }
  for (size_t left = n, size; left > 0; left -= size, at += size)
    {
      size = left < GOMPY_HASH_PART ? left : GOMPY_HASH_PART;
      part = gompy_hash_part (at, size);
      if (parts != NULL)
        *parts++ = part;
      h = gompy_hash_word (h, part);
    }
  return h;
}

static uint64_t
gompy_hash (const void *p, size_t n)
{
  return gompy_hash_parts (p, n, NULL);
}

#endif
