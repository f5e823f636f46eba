/* How many bytes an instruction reads where it faults, for what is known of single bytes: a float whose lowest bytes
   are as they were is another one all the same.

   Of vectors it is the first element's least size, as the rest may not be meant; of instructions that are not known
   here one byte.  */
#ifndef GOMPY_NATIVE_ACCESS_SIZE_H
#define GOMPY_NATIVE_ACCESS_SIZE_H

#define GOMPY_VECTOR_PART 4
#define GOMPY_LARGEST_STORE 64u

/* Of opcodes 0F xx.  PREFIX: 0, 0x66, 0xf2, 0xf3.  */
static unsigned
gompy_access_0f (unsigned char op, int prefix, unsigned whole)
{
  if (op == 0xb6 || op == 0xbe)
    return 1;
  if (op == 0xb7 || op == 0xbf)
    return 2;
  if ((op & 0xf0) == 0x40 || op == 0xaf)  /* cmov, imul */
    return whole;
  if (op == 0x6e || op == 0x2a)
    return whole == 8 ? 8 : 4;
  if (op == 0x7e && prefix == 0xf3)
    return 8;
  if (op == 0x2e || op == 0x2f)
    return prefix == 0x66 ? 8 : 4;
  if (op == 0x12 || op == 0x13 || op == 0x16)
    return 8;
  if (prefix == 0x66 && (op == 0x10 || op == 0x28 || (op >= 0x54 && op <= 0x5f && op != 0x5b)))  /* of doubles */
    return 8;
  if (op == 0x10 || op == 0x51 || (op >= 0x58 && op <= 0x5f) || op == 0x2c || op == 0x2d)
    return prefix == 0xf3 ? 4 : prefix == 0xf2 ? 8 : GOMPY_VECTOR_PART;
  if (op == 0x28 || op == 0x6f || (op >= 0x54 && op <= 0x57) || op == 0xf0 || op >= 0xd0)
    return GOMPY_VECTOR_PART;
  return 1;
}

static unsigned
gompy_access_size (const unsigned char *p)
{
  static const unsigned char x87[8] = { 4, 4, 4, 4, 8, 8, 2, 8 };
  static const int implied[4] = { 0, 0x66, 0xf3, 0xf2 };
  int prefix = 0, wide = 0, narrow = 0;
  unsigned whole;
  for (;; p++)
    {
      if (*p == 0x66)
        narrow = 1;
      if (*p == 0x66 || *p == 0xf2 || *p == 0xf3)
        prefix = *p;
      else if (*p != 0x2e && *p != 0x3e && *p != 0x64 && *p != 0x65)
        break;
    }
  if (*p == 0xc5)
    return gompy_access_0f (p[2], implied[p[1] & 3], 4);
  if (*p == 0xc4)
    return (p[1] & 31) == 1 ? gompy_access_0f (p[3], implied[p[2] & 3], p[2] & 0x80 ? 8 : 4) : 1;
  if ((*p & 0xf0) == 0x40)
    wide = *p++ & 8;
  whole = wide ? 8 : narrow ? 2 : 4;
  if (*p == 0x0f)
    return gompy_access_0f (p[1], prefix, whole);
  if (*p == 0x63)
    return 4;
  if (*p >= 0xd8 && *p <= 0xdf)
    return *p == 0xdb && (p[1] >> 3 & 7) == 5 ? 10 : x87[*p - 0xd8];
  if ((*p < 0x40 && (*p & 4) == 0) || (*p >= 0x80 && *p <= 0x8b) || (*p >= 0xa4 && *p <= 0xa7) || *p >= 0xf6)
    return *p == 0x83 || *p & 1 ? whole : 1;
  return *p == 0x69 || *p == 0x6b ? whole : 1;
}

/* The most bytes that an instruction of opcode 0F xx writes.  */
static unsigned
gompy_write_0f (unsigned char op, int prefix)
{
  if (op == 0x11 && (prefix == 0xf2 || prefix == 0xf3))
    return prefix == 0xf3 ? 4 : 8;
  if (op == 0x13 || op == 0x17 || op == 0xd6 || (op == 0x7e && prefix == 0x66))
    return 8;
  if (op == 0x11 || op == 0x29 || op == 0x2b || op == 0x7f || op == 0xe7)
    return 16;
  return (op & 0xf0) == 0x90 ? 1 : GOMPY_LARGEST_STORE;
}

/* The most bytes that an instruction writes where it faults.  */
static unsigned
gompy_write_size (const unsigned char *p)
{
  int prefix = 0;
  unsigned whole = 4;
  for (; *p == 0x66 || *p == 0xf2 || *p == 0xf3; p++)
    prefix = *p;
  if (prefix == 0x66)
    whole = 2;
  if ((*p & 0xf0) == 0x40 && *p++ & 8)
    whole = 8;
  if (*p == 0x0f)
    return gompy_write_0f (p[1], prefix);
  if (*p == 0xc5 || *p == 0xc4)
    return 32;
  if ((*p & 0xf8) == 0x50 || *p == 0xe8 || *p == 0x68 || *p == 0x6a)  /* push, call */
    return 8;
  if (*p == 0x88 || *p == 0xc6 || *p == 0x80 || *p == 0xfe)
    return 1;
  if (*p == 0xff)
    return 8;
  if (*p == 0x89 || *p == 0xc7 || *p == 0x81 || *p == 0x83 || (*p < 0x38 && (*p & 7) == 1))
    return whole;
  return GOMPY_LARGEST_STORE;
}

/* Whether an instruction saves registers: xsave, xsaveopt, xsavec, xsaves, fxsave.  */
static int
gompy_saves_registers (const unsigned char *p)
{
  if ((*p & 0xf0) == 0x40)
    p++;
  if (*p != 0x0f || (p[1] != 0xae && p[1] != 0xc7) || p[2] >= 0xc0)
    return 0;
  int which = p[2] >> 3 & 7;
  return which == 4 || (p[1] == 0xae ? which == 0 || which == 6 : which == 5);
}

/* The same where it faults at ADDRESS.  What registers are saved in begins and ends where lines do, and is larger; the
   dynamic linker has it on the stack, right below the caller's frame.  */
static unsigned
gompy_write_size_at (const unsigned char *p, unsigned long address)
{
  return gompy_saves_registers (p) ? 64 - (unsigned) (address % 64) : gompy_write_size (p);
}

#endif
