/* Hashes of the code cache: BLAKE2b (RFC 7693) for what a file is named by and bound to, a fast one for what is in it.
   Included by the executor and by native.pyx, so that the program and the compiler agree.  */
#ifndef GOMPY_PTX_HASH_H
#define GOMPY_PTX_HASH_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define GOMPY_DIGEST 32                 /* bytes */

/* Four hashes side by side: a vector of the compiler's, of whatever registers the processor has.  */
typedef uint64_t gompy_four __attribute__ ((vector_size (32)));

static const uint64_t gompy_blake_start[8] = {
  0x6a09e667f3bcc908ull, 0xbb67ae8584caa73bull, 0x3c6ef372fe94f82bull, 0xa54ff53a5f1d36f1ull,
  0x510e527fade682d1ull, 0x9b05688c2b3e6c1full, 0x1f83d9abfb41bd6bull, 0x5be0cd19137e2179ull };

static const uint8_t gompy_blake_order[12][16] = {
  { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 }, { 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3 },
  { 11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4 }, { 7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8 },
  { 9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13 }, { 2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9 },
  { 12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11 }, { 13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10 },
  { 6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5 }, { 10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0 },
  { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 }, { 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3 } };

#define GOMPY_TURN(X, N) ((X) >> (N) | (X) << (64 - (N)))
#define GOMPY_MIX(A, B, C, D, X, Y)                                                                                    \
  do {                                                                                                                 \
    A = A + B + (X); D = GOMPY_TURN (D ^ A, 32); C = C + D; B = GOMPY_TURN (B ^ C, 24);                                \
    A = A + B + (Y); D = GOMPY_TURN (D ^ A, 16); C = C + D; B = GOMPY_TURN (B ^ C, 63);                                \
  } while (0)

/* One block of 128 bytes into the state H; T: bytes so far, LAST: all ones in the last block.  */
#define GOMPY_COMPRESS(T_, H, M, COUNT, LAST)                                                                          \
  do {                                                                                                                 \
    T_ v[16];                                                                                                          \
    for (int i_ = 0; i_ < 8; i_++)                                                                                     \
      { v[i_] = H[i_]; v[i_ + 8] = (T_) { 0 } + gompy_blake_start[i_]; }                                               \
    v[12] ^= (T_) { 0 } + (COUNT);                                                                                     \
    v[14] ^= (T_) { 0 } + (LAST);                                                                                      \
    _Pragma ("GCC unroll 12")                                                                                          \
    for (int r_ = 0; r_ < 12; r_++)                                                                                    \
      {                                                                                                                \
        const uint8_t *s_ = gompy_blake_order[r_];                                                                     \
        GOMPY_MIX (v[0], v[4], v[8], v[12], M[s_[0]], M[s_[1]]);                                                       \
        GOMPY_MIX (v[1], v[5], v[9], v[13], M[s_[2]], M[s_[3]]);                                                       \
        GOMPY_MIX (v[2], v[6], v[10], v[14], M[s_[4]], M[s_[5]]);                                                      \
        GOMPY_MIX (v[3], v[7], v[11], v[15], M[s_[6]], M[s_[7]]);                                                      \
        GOMPY_MIX (v[0], v[5], v[10], v[15], M[s_[8]], M[s_[9]]);                                                      \
        GOMPY_MIX (v[1], v[6], v[11], v[12], M[s_[10]], M[s_[11]]);                                                    \
        GOMPY_MIX (v[2], v[7], v[8], v[13], M[s_[12]], M[s_[13]]);                                                     \
        GOMPY_MIX (v[3], v[4], v[9], v[14], M[s_[14]], M[s_[15]]);                                                     \
      }                                                                                                                \
    for (int i_ = 0; i_ < 8; i_++)                                                                                     \
      H[i_] ^= v[i_] ^ v[i_ + 8];                                                                                      \
  } while (0)

/* BLAKE2b-256 without a key, of less than 2^64 bytes.  */
static void
gompy_blake (const void *data, size_t size, uint8_t out[GOMPY_DIGEST])
{
  const char *text = data;
  uint64_t h[8], m[16];
  memcpy (h, gompy_blake_start, sizeof h);
  h[0] ^= 0x01010000 ^ GOMPY_DIGEST;
  size_t at = 0;
  for (; size - at > 128; at += 128)
    {
      memcpy (m, text + at, 128);
      GOMPY_COMPRESS (uint64_t, h, m, at + 128, 0ull);
    }
  memset (m, 0, sizeof m);
  memcpy (m, text + at, size - at);
  GOMPY_COMPRESS (uint64_t, h, m, size, ~0ull);
  memcpy (out, h, GOMPY_DIGEST);
}

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
