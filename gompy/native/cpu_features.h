/* What the processor can, asked when it is first needed.

   __builtin_cpu_supports asks in a constructor, by some ten CPUID instructions.  In a virtual machine each of them is
   answered by its monitor, in microseconds: a program that never needs to know pays them at its start, and its device
   once more.  */
#ifndef GOMPY_NATIVE_CPU_FEATURES_H
#define GOMPY_NATIVE_CPU_FEATURES_H

#include <cpuid.h>

#define GOMPY_OS_KEEPS_YMM 6u           /* XCR0: SSE's and AVX's states (Intel SDM 1, 13.3) */
#define GOMPY_OS_KEEPS_ZMM 0xe6u        /* and AVX-512's */
#define GOMPY_HAS_AVX2 bit_AVX2
#define GOMPY_HAS_AVX512 (bit_AVX512F | bit_AVX512DQ)

/* Whether instructions may be used: the processor has WHICH (leaf 7's EBX), and the system keeps their registers.
   Source: Intel SDM 1, 14.3, 14.7.1 and 15.2.  */
static int
gompy_ask_avx (unsigned which, unsigned keeps)
{
  unsigned a, b, c, d, kept, high;
  if (!__get_cpuid (1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_AVX))
    return 0;
  __asm__ ("xgetbv" : "=a" (kept), "=d" (high) : "c" (0));
  if ((kept & keeps) != keeps)
    return 0;
  return __get_cpuid_count (7, 0, &a, &b, &c, &d) && (b & which) == which;
}

/* The same, remembered in KNOWN: 0: not yet, 1: no, 2: yes.  */
static inline int
gompy_has_avx (int *known, unsigned which, unsigned keeps)
{
  int answer = __atomic_load_n (known, __ATOMIC_RELAXED);
  if (__builtin_expect (answer == 0, 0))
    {
      answer = gompy_ask_avx (which, keeps) ? 2 : 1;
      __atomic_store_n (known, answer, __ATOMIC_RELAXED);
    }
  return answer == 2;
}

static inline int
gompy_has_avx2 (void)
{
  static int known;
  return gompy_has_avx (&known, GOMPY_HAS_AVX2, GOMPY_OS_KEEPS_YMM);
}

static inline int
gompy_has_avx512 (void)
{
  static int known;
  return gompy_has_avx (&known, GOMPY_HAS_AVX512, GOMPY_OS_KEEPS_ZMM);
}

#endif
