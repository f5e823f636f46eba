/* SHA-256 (FIPS 180-4) and HMAC (RFC 2104), for the handshake and for the names of images.  */
#ifndef GOMPY_REMOTE_SHA256_H
#define GOMPY_REMOTE_SHA256_H

#include <stdint.h>
#include <string.h>

struct gompy_sha256
{
  uint32_t state[8];
  uint64_t length;
  unsigned char block[64];
};

static inline uint32_t
gompy_rotated (uint32_t x, int n)
{
  return x >> n | x << (32 - n);
}

static void
gompy_sha256_block (uint32_t state[8], const unsigned char *p)
{
  static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
    0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
    0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
    0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2,
  };
  uint32_t w[64], s[8], a, b;
  for (int i = 0; i < 16; i++)
    w[i] = (uint32_t) p[4 * i] << 24 | p[4 * i + 1] << 16 | p[4 * i + 2] << 8 | p[4 * i + 3];
  for (int i = 16; i < 64; i++)
    w[i] = w[i - 16] + w[i - 7] + (gompy_rotated (w[i - 15], 7) ^ gompy_rotated (w[i - 15], 18) ^ w[i - 15] >> 3)
           + (gompy_rotated (w[i - 2], 17) ^ gompy_rotated (w[i - 2], 19) ^ w[i - 2] >> 10);
  memcpy (s, state, sizeof s);
  for (int i = 0; i < 64; i++)
    {
      a = s[7] + (gompy_rotated (s[4], 6) ^ gompy_rotated (s[4], 11) ^ gompy_rotated (s[4], 25))
          + ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + w[i];
      b = (gompy_rotated (s[0], 2) ^ gompy_rotated (s[0], 13) ^ gompy_rotated (s[0], 22))
          + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
      memmove (s + 1, s, 7 * sizeof *s);
      s[4] += a;
      s[0] = a + b;
    }
  for (int i = 0; i < 8; i++)
    state[i] += s[i];
}

static void
gompy_sha256_begin (struct gompy_sha256 *h)
{
  static const uint32_t first[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
  memcpy (h->state, first, sizeof first);
  h->length = 0;
}

static void
gompy_sha256_add (struct gompy_sha256 *h, const void *data, uint64_t size)
{
  const unsigned char *p = data;
  while (size)
    {
      uint64_t at = h->length % 64, n = 64 - at < size ? 64 - at : size;
      if (at == 0 && size >= 64)
        gompy_sha256_block (h->state, p), n = 64;
      else
        {
          memcpy (h->block + at, p, n);
          if (at + n == 64)
            gompy_sha256_block (h->state, h->block);
        }
      h->length += n;
      p += n;
      size -= n;
    }
}

static void
gompy_sha256_end (struct gompy_sha256 *h, unsigned char hash[32])
{
  static const unsigned char pad[64] = { 0x80 };
  uint64_t bits = h->length * 8, at = h->length % 64;
  unsigned char length[8];
  for (int i = 0; i < 8; i++)
    length[i] = bits >> (56 - 8 * i);
  gompy_sha256_add (h, pad, at < 56 ? 56 - at : 120 - at);
  gompy_sha256_add (h, length, 8);
  for (int i = 0; i < 32; i++)
    hash[i] = h->state[i / 4] >> (24 - 8 * (i % 4));
}

/* HMAC of a role's name and both nonces.  */
static void
gompy_hmac (const unsigned char *key, uint64_t size, const char *role, const unsigned char *theirs,
            const unsigned char *ours, uint64_t nonce, unsigned char mac[32])
{
  unsigned char block[64] = { 0 }, pad[64];
  struct gompy_sha256 h;
  if (size > 64)
    {
      gompy_sha256_begin (&h);
      gompy_sha256_add (&h, key, size);
      gompy_sha256_end (&h, block);
    }
  else
    memcpy (block, key, size);
  for (int outer = 0; outer < 2; outer++)
    {
      for (int i = 0; i < 64; i++)
        pad[i] = block[i] ^ (outer ? 0x5c : 0x36);
      gompy_sha256_begin (&h);
      gompy_sha256_add (&h, pad, 64);
      if (outer)
        gompy_sha256_add (&h, mac, 32);
      else
        {
          gompy_sha256_add (&h, role, strlen (role));
          gompy_sha256_add (&h, theirs, nonce);
          gompy_sha256_add (&h, ours, nonce);
        }
      gompy_sha256_end (&h, mac);
    }
}

/* Whether two codes are equal, in a time that does not tell where they differ.  */
static int
gompy_codes_equal (const unsigned char *a, const unsigned char *b, uint64_t size)
{
  unsigned char found = 0;
  while (size--)
    found |= *a++ ^ *b++;
  return found == 0;
}

#endif
