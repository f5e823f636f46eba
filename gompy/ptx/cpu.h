/* The processor that code is compiled for, in words: for the executor and for the compiler.  */
#ifndef GOMPY_PTX_CPU_H
#define GOMPY_PTX_CPU_H

#include <cpuid.h>
#include <stdio.h>

/* Which instructions this CPU has, as text: part of the cache folder's name.  */
static void
gompy_cpu (char *text, size_t size)
{
  unsigned a = 0, b = 0, c = 0, d = 0, a7 = 0, b7 = 0, c7 = 0, d7 = 0, model = 0, x = 0, y = 0, xcr = 0, hi = 0;
  __get_cpuid (1, &model, &b, &c, &d);
  __get_cpuid_count (7, 0, &a7, &b7, &c7, &d7);
  __get_cpuid (0x80000001, &a, &b, &x, &y);
  if (c & (1u << 27))
    __asm__ volatile ("xgetbv" : "=a" (xcr), "=d" (hi) : "c" (0));
  snprintf (text, size, "%08x-%08x-%08x-%08x-%08x-%02x", model, c, b7, c7, x, xcr & 0xff);
}

#endif
