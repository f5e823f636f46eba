/* Hashes of the code cache: of BLAKE2b what a file is named by and bound to, a fast one for what is in it.
   Included by the executor and by native.pyx, so that the program and the compiler agree.  */
#ifndef GOMPY_PTX_HASH_H
#define GOMPY_PTX_HASH_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "gompy/native/blake2b.h"

/* Four hashes side by side: a vector of the compiler's, of whatever registers the processor has.  */
typedef uint64_t gompy_four __attribute__ ((vector_size (32)));

/* Blocks of four texts of equal size, AT to END, into four states.  */
static inline __attribute__ ((always_inline)) void
gompy_four_blocks (const char *text, size_t quarter, gompy_four h[8])
{
  for (size_t at = 0; at + 128 <= quarter; at += 128)
    {
      gompy_four m[16];
      for (int i = 0; i < 16; i++)
        for (int lane = 0; lane < 4; lane++)
          {
            uint64_t word;
            memcpy (&word, text + lane * quarter + at + 8 * i, 8);
            m[i][lane] = word;
          }
      GOMPY_COMPRESS (gompy_four, h, m, at + 128, 0ull);
    }
}

static __attribute__ ((noinline, target ("avx2"))) void
gompy_four_wide (const char *text, size_t quarter, gompy_four h[8])
{
  gompy_four_blocks (text, quarter, h);
}

static __attribute__ ((noinline)) void
gompy_four_plain (const char *text, size_t quarter, gompy_four h[8])
{
  gompy_four_blocks (text, quarter, h);
}

/* The key of a PTX text, in 64 letters: BLAKE2b-256 of the states of four BLAKE2b hashes, each of a quarter in whole
   blocks, of what is left behind them, and of the size.  Four at a time, for every start of a program needs it.  */
static void
gompy_text_key (const char *text, size_t size, char key[2 * GOMPY_DIGEST + 1])
{
  struct { uint64_t state[8][4]; uint64_t size; char rest[512]; } end;
  gompy_four h[8];
  uint8_t digest[GOMPY_DIGEST];
  size_t quarter = size / 512 * 128;
  memset (&end, 0, sizeof end);
  for (int i = 0; i < 8; i++)
    for (int lane = 0; lane < 4; lane++)
      h[i][lane] = gompy_blake_start[i] ^ (i == 0 ? 0x01010040u + (uint64_t) lane : 0);
  if (__builtin_cpu_supports ("avx2"))
    gompy_four_wide (text, quarter, h);
  else
    gompy_four_plain (text, quarter, h);
  for (int i = 0; i < 8; i++)
    for (int lane = 0; lane < 4; lane++)
      end.state[i][lane] = h[i][lane];
  end.size = size;
  memcpy (end.rest, text + 4 * quarter, size - 4 * quarter);
  gompy_blake (&end, sizeof end, digest);
  for (int i = 0; i < GOMPY_DIGEST; i++)
    snprintf (key + 2 * i, 3, "%02x", digest[i]);
}

static inline uint64_t
gompy_fold (uint64_t a, uint64_t b)
{
  unsigned __int128 p = (unsigned __int128) a * b;
  return (uint64_t) p ^ (uint64_t) (p >> 64);
}

/* Tells a cache file from one that was damaged: 128 bits, at the speed of memory.  */
static void
gompy_content (const char *text, size_t size, uint64_t out[2])
{
  uint64_t a = 0x9e3779b97f4a7c15ull ^ size, b = 0xd6e8feb86659fd93ull + size, x, y;
  size_t at = 0;
  for (; at + 16 <= size; at += 16)
    {
      memcpy (&x, text + at, 8);
      memcpy (&y, text + at + 8, 8);
      a = gompy_fold (a ^ x, 0xa0761d6478bd642full ^ y) + y;
      b = gompy_fold (b ^ y, 0xe7037ed1a0b428dbull ^ x) + a;
    }
  char tail[16] = { 0 };
  memcpy (tail, text + at, size - at);
  memcpy (&x, tail, 8);
  memcpy (&y, tail + 8, 8);
  a = gompy_fold (a ^ x, 0xa0761d6478bd642full ^ y);
  b = gompy_fold (b ^ y, 0xe7037ed1a0b428dbull ^ x);
  out[0] = gompy_fold (a ^ b, 0x8ebc6af09c88c6e3ull);
  out[1] = gompy_fold (b + a, 0x589965cc75374cc3ull);
}

#endif
