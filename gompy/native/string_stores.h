/* What a repeated string instruction is about to write: rep stos and rep movs, forwards, as in memset and memcpy.  */
#ifndef GOMPY_NATIVE_STRING_STORES_H
#define GOMPY_NATIVE_STRING_STORES_H

#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#define GOMPY_DIRECTION_FLAG 0x400

struct gompy_string
{
  uintptr_t to, from;  /* FROM: 0, if nothing is read */
  size_t size;         /* in bytes, a multiple of UNIT */
  unsigned unit;
};

/* Whether the instruction at P is one that writes at ADDRESS next.  What it reads does not lie in what it writes.  */
static int
gompy_is_string_store (const unsigned char *p, const greg_t *registers, uintptr_t address, struct gompy_string *s)
{
  int repeated = 0, narrow = 0, wide = 0;
  size_t count = (size_t) registers[REG_RCX];
  for (; *p == 0x66 || *p == 0xf3; p++)
    {
      repeated |= *p == 0xf3;
      narrow |= *p == 0x66;
    }
  if ((*p & 0xf0) == 0x40)
    wide = *p++ & 8;
  if (!repeated || registers[REG_EFL] & GOMPY_DIRECTION_FLAG
      || (*p != 0xaa && *p != 0xab && *p != 0xa4 && *p != 0xa5))
    return 0;
  s->unit = !(*p & 1) ? 1 : wide ? 8 : narrow ? 2 : 4;
  s->to = (uintptr_t) registers[REG_RDI];
  s->from = *p < 0xa8 ? (uintptr_t) registers[REG_RSI] : 0;
  if (count == 0 || count > (UINTPTR_MAX - s->to) / s->unit || address - s->to >= s->unit)
    return 0;
  s->size = count * s->unit;
  return s->from == 0 || s->from + s->size <= s->to || s->to + s->size <= s->from;
}

#endif
