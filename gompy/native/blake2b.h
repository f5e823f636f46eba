/* BLAKE2b-256 (RFC 7693), with and without a key.  For names that are made of contents, and for proofs that a secret is
   known.  */
#ifndef GOMPY_NATIVE_BLAKE2B_H
#define GOMPY_NATIVE_BLAKE2B_H

#include <stdint.h>
#include <string.h>

#define GOMPY_DIGEST 32                 /* bytes */
#define GOMPY_BLAKE_KEY 64              /* bytes that a key has at most */

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

/* Of a key of KEY_SIZE bytes, 0: without one, and of less than 2^64 bytes of data.  */
static void
gompy_keyed_blake (const void *key, size_t key_size, const void *data, size_t size, uint8_t out[GOMPY_DIGEST])
{
  const char *text = data;
  uint64_t h[8], m[16];
  size_t before = key_size ? 128 : 0;   /* the key, filled up with zeros, is the first block */
  size_t at = 0, left = before + size;
  memcpy (h, gompy_blake_start, sizeof h);
  h[0] ^= 0x01010000 ^ key_size << 8 ^ GOMPY_DIGEST;
  do
    {
      size_t n = left < 128 ? left : 128;
      memset (m, 0, sizeof m);
      if (at < before)
        memcpy (m, key, key_size);
      else
        memcpy (m, text + at - before, n);
      at += n;
      left -= n;
      GOMPY_COMPRESS (uint64_t, h, m, at, left ? 0ull : ~0ull);
    }
  while (left);
  memcpy (out, h, GOMPY_DIGEST);
}

/* Without a key.  */
static void
gompy_blake (const void *data, size_t size, uint8_t out[GOMPY_DIGEST])
{
  gompy_keyed_blake (NULL, 0, data, size, out);
}

/* Whether two codes are equal, in a time that does not tell where they differ.  */
static int
gompy_codes_equal (const unsigned char *a, const unsigned char *b, size_t size)
{
  unsigned char found = 0;
  while (size--)
    found |= *a++ ^ *b++;
  return found == 0;
}

#endif
