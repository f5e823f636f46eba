/* What the executor needs of C that Cython has no words for: the warp that compiled code sees
   (gompy/abi/ptx.py), the switch of stacks, accesses of one lane, atomic and rounded operations, signals.  Included
   once, by executor.pyx.  */
#ifndef GOMPY_PTX_WARP_H
#define GOMPY_PTX_WARP_H

#include <cpuid.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <xmmintrin.h>

#include "gompy/native/ptx.h"
#include "executor.h"
#include "hash.h"
#include "start.h"

#ifndef GOMPY_PTX_IDENTITY              /* hash of the compiler's sources: setup.py */
#define GOMPY_PTX_IDENTITY "00000000000000000000000000000000"
#endif

struct __attribute__ ((aligned (64))) gompy_warp
{
  GOMPY_WARP_FIELDS
  /* Only the executor knows what follows.  */
  void *sp;                             /* where the warp's stack was left */
  void *runner, *launch, *module;
  uint32_t state, barrier, mask, place;
  char *stack;
  void *wait_unit;                      /* checked code: where the warp waits */
  uint32_t wait_line;
  uint32_t votes, voters;               /* bar.red: what the barrier was left with */
};

GOMPY_CHECK_WARP (struct gompy_warp)

/* --- stacks ----------------------------------------------------------------------------------------------------- */

/* Leave this stack (*SAVE remembers it) and go on where LOAD was left.  */
void gompy_switch (void **save, void *load) __attribute__ ((visibility ("hidden")));
/* Go on where LOAD was left; this stack is given up.  */
void gompy_resume (void *load) __attribute__ ((visibility ("hidden"), noreturn));
void gompy_begin (void) __attribute__ ((visibility ("hidden")));

__asm__ (
  ".pushsection .text\n"
  ".hidden gompy_switch, gompy_resume, gompy_begin\n"
  ".globl gompy_switch, gompy_resume, gompy_begin\n"
  ".type gompy_switch, @function\n"
  "gompy_switch:\n"
  "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
  "  subq $8, %rsp\n  stmxcsr (%rsp)\n  fnstcw 4(%rsp)\n"
  "  movq %rsp, (%rdi)\n"
  "  movq %rsi, %rdi\n"
  ".type gompy_resume, @function\n"
  "gompy_resume:\n"
  "  movq %rdi, %rsp\n"
  "  ldmxcsr (%rsp)\n  fldcw 4(%rsp)\n  addq $8, %rsp\n"
  "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
  "  ret\n"
  ".type gompy_begin, @function\n"
  "gompy_begin:\n"
  "  movq %r12, %rdi\n"
  "  callq *%r13\n"
  "  ud2\n"
  ".popsection\n");

/* A stack on which FUNCTION (WARP) begins when it is switched to.  */
static void *
gompy_new_stack (char *stack, size_t size, void *function, void *argument)
{
  uint64_t *sp = (uint64_t *) (((uintptr_t) stack + size) & ~(uintptr_t) 63);
  *--sp = 0;
  *--sp = 0;
  *--sp = (uint64_t) (uintptr_t) gompy_begin;
  *--sp = 0;                                    /* rbp */
  *--sp = 0;                                    /* rbx */
  *--sp = (uint64_t) (uintptr_t) argument;      /* r12 */
  *--sp = (uint64_t) (uintptr_t) function;      /* r13 */
  *--sp = 0;
  *--sp = 0;
  *--sp = 0x1f80ull | 0x37full << 32;           /* mxcsr, x87 control word: defaults */
  return sp;
}

/* --- one lane's memory ------------------------------------------------------------------------------------------ */

static inline char *
gompy_place (const struct gompy_warp *w, uint64_t address, uint64_t size, int lane)
{
  uint64_t offset = address - w->base;
  if (offset <= w->size - size)
    return (char *) (uintptr_t) address;
  offset = address - GOMPY_SHARED_BASE;
  if (offset <= w->shared_size - size && w->shared_size >= size)
    return w->shared + offset;
  offset = address - GOMPY_LOCAL_BASE;
  if (offset <= w->local_size - size && (offset & 7) + size <= 8)
    return w->local + (offset & ~7ull) * GOMPY_LANES + lane * 8 + (offset & 7);
  return NULL;
}

/* --- the processor --------------------------------------------------------------------------------------------- */

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

/* --- atomics ---------------------------------------------------------------------------------------------------- */

#define GOMPY_LOOP(T, EXPRESSION)                                                                                      \
  {                                                                                                                    \
    T old = __atomic_load_n ((T *) place, __ATOMIC_RELAXED), new;                                                      \
    do                                                                                                                 \
      new = (EXPRESSION);                                                                                              \
    while (!__atomic_compare_exchange_n ((T *) place, &old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));              \
    return (uint64_t) old;                                                                                             \
  }

#define GOMPY_INTEGER(T, S)                                                                                            \
  switch (operation)                                                                                                   \
    {                                                                                                                  \
    case GOMPY_ATOM_ADD: return __atomic_fetch_add ((T *) place, (T) b, __ATOMIC_SEQ_CST);                             \
    case GOMPY_ATOM_AND: return __atomic_fetch_and ((T *) place, (T) b, __ATOMIC_SEQ_CST);                             \
    case GOMPY_ATOM_OR: return __atomic_fetch_or ((T *) place, (T) b, __ATOMIC_SEQ_CST);                               \
    case GOMPY_ATOM_XOR: return __atomic_fetch_xor ((T *) place, (T) b, __ATOMIC_SEQ_CST);                             \
    case GOMPY_ATOM_EXCH: return __atomic_exchange_n ((T *) place, (T) b, __ATOMIC_SEQ_CST);                           \
    case GOMPY_ATOM_INC: GOMPY_LOOP (T, old >= (T) b ? 0 : old + 1)                                                    \
    case GOMPY_ATOM_DEC: GOMPY_LOOP (T, old == 0 || old > (T) b ? (T) b : old - 1)                                     \
    case GOMPY_ATOM_MIN: if (is_signed) GOMPY_LOOP (T, (S) old < (S) b ? old : (T) b) else GOMPY_LOOP (T, old < (T) b  \
            ? old : (T) b)                                                                                             \
    case GOMPY_ATOM_MAX: if (is_signed) GOMPY_LOOP (T, (S) old > (S) b ? old : (T) b) else GOMPY_LOOP (T, old > (T) b  \
            ? old : (T) b)                                                                                             \
    default:                                                                                                           \
      {                                                                                                                \
        T expected = (T) b;                                                                                            \
        __atomic_compare_exchange_n ((T *) place, &expected, (T) c, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);            \
        return expected;                                                                                               \
      }                                                                                                                \
    }

static inline float gompy_f32 (uint32_t bits) { float f; memcpy (&f, &bits, 4); return f; }
static inline uint32_t gompy_u32 (float f) { uint32_t bits; memcpy (&bits, &f, 4); return bits; }
static inline double gompy_f64 (uint64_t bits) { double f; memcpy (&f, &bits, 8); return f; }
static inline uint64_t gompy_u64 (double f) { uint64_t bits; memcpy (&bits, &f, 8); return bits; }

/* 16 bits of a float (.f16; BRAIN: .bf16) as a double, exactly.  */
static double
gompy_half (uint16_t bits, int brain)
{
  if (brain)
    return gompy_f32 ((uint32_t) bits << 16);
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                : exponent ? ldexp (1024 + fraction, exponent - 25) : ldexp (fraction, -24);
  return bits >> 15 ? -size : size;
}

/* The sum of two such numbers, rounded to the nearest.  */
static uint16_t
gompy_half_sum (uint16_t a, uint16_t b, int brain)
{
  /* A single has more than twice the bits: rounded to it first, and to 16 bits then, the sum is right.  */
  float sum = (float) gompy_half (a, brain) + (float) gompy_half (b, brain);
  uint32_t bits = gompy_u32 (sum), size = bits & 0x7fffffff;
  uint16_t sign = bits >> 16 & 0x8000;
  if (size > 0x7f800000)
    return 0x7fff;
  if (brain)
    return (uint16_t) (sign | (size + 0x7fff + (size >> 16 & 1)) >> 16);
  if (size >= 0x477ff000)
    return sign | 0x7c00;
  if (size < 0x38800000)
    return (uint16_t) (sign | (uint16_t) (fabsf (sum) * 16777216.0f));  /* a sum of multiples of 2^-24 */
  return (uint16_t) (sign | (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13);
}

/* CODE: gompy/abi/ptx.py, ATOM_OPS and ATOM_TYPES; HALF_ATOMS.  */
static uint64_t
gompy_atom (int code, char *place, uint64_t b, uint64_t c)
{
  if (code & 0x200)
    {
      int brain = code & 1;
      if (code & 0x100)
        GOMPY_LOOP (uint16_t, gompy_half_sum (old, (uint16_t) b, brain))
      GOMPY_LOOP (uint32_t, gompy_half_sum (old & 0xffff, b & 0xffff, brain)
                            | (uint32_t) gompy_half_sum (old >> 16, b >> 16 & 0xffff, brain) << 16)
    }
  int operation = (code & 0xff) >> 3, type = code & 7;
  int is_signed = type == GOMPY_ATOM_TYPE_S32 || type == GOMPY_ATOM_TYPE_S64;
  if (code & 0x100)
    {
      uint16_t expected = (uint16_t) b;
      __atomic_compare_exchange_n ((uint16_t *) place, &expected, (uint16_t) c, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
      return expected;
    }
  if (type == GOMPY_ATOM_TYPE_F32)
    GOMPY_LOOP (uint32_t, gompy_u32 (gompy_f32 (old) + gompy_f32 ((uint32_t) b)))
  if (type == GOMPY_ATOM_TYPE_F64)
    GOMPY_LOOP (uint64_t, gompy_u64 (gompy_f64 (old) + gompy_f64 (b)))
  if (type <= GOMPY_ATOM_TYPE_F32)
    GOMPY_INTEGER (uint32_t, int32_t)
  GOMPY_INTEGER (uint64_t, int64_t)
}

/* --- operations lane by lane (gompy/abi/ptx.py,
   LANE_OPS)---------------------------------------------------------------- */

#define GOMPY_DIVIDE(U, S)                                                                                             \
  {                                                                                                                    \
    const U *x = a, *y = b;                                                                                            \
    U *r = out;                                                                                                        \
    for (int i = 0; i < GOMPY_LANES; i++)                                                                              \
      switch (operation)                                                                                               \
        {                                                                                                              \
        case GOMPY_LANES_UDIV: r[i] = y[i] ? x[i] / y[i] : (U) -1; break;                                              \
        case GOMPY_LANES_SDIV: r[i] = y[i] == 0 ? (U) -1                                                               \
              : y[i] == (U) -1 ? (U) (0 - x[i]) : (U) ((S) x[i] / (S) y[i]); break;                                    \
        case GOMPY_LANES_UREM: r[i] = y[i] ? x[i] % y[i] : x[i]; break;                                                \
        default: r[i] = y[i] == 0 ? x[i] : y[i] == (U) -1 ? 0 : (U) ((S) x[i] % (S) y[i]); break;                      \
        }                                                                                                              \
    return;                                                                                                            \
  }

#define GOMPY_ROUNDED(T, F, SQRT, FMA, FROM, TO)                                                                       \
  for (int i = 0; i < GOMPY_LANES; i++)                                                                                \
    {                                                                                                                  \
      volatile F x = FROM (((const T *) a)[i]), y = FROM (((const T *) b)[i]), z = FROM (((const T *) c)[i]);          \
      volatile F r = 0;                                                                                                \
      switch (what)                                                                                                    \
        {                                                                                                              \
        case GOMPY_ROUND_ADD: r = x + y; break;                                                                        \
        case GOMPY_ROUND_SUB: r = x - y; break;                                                                        \
        case GOMPY_ROUND_MUL: r = x * y; break;                                                                        \
        case GOMPY_ROUND_DIV: r = x / y; break;                                                                        \
        case GOMPY_ROUND_FMA: r = FMA (x, y, z); break;                                                                \
        case GOMPY_ROUND_SQRT: r = SQRT (x); break;                                                                    \
        default: r = 1 / x; break;                                                                                     \
        }                                                                                                              \
      ((T *) out)[i] = TO (r);                                                                                         \
    }

static void
gompy_lanes (int word, const void *a, const void *b, const void *c, void *out)
{
  int operation = word & 0xff, size = word >> 8 & 15;
  if (operation <= GOMPY_LANES_SREM)
    {
      if (size == 2)
        GOMPY_DIVIDE (uint16_t, int16_t)
      if (size == 4)
        GOMPY_DIVIDE (uint32_t, int32_t)
      GOMPY_DIVIDE (uint64_t, int64_t)
    }
  if (operation <= GOMPY_LANES_SMULHI)
    {
      for (int i = 0; i < GOMPY_LANES; i++)
        if (operation == GOMPY_LANES_UMULHI)
          ((uint64_t *) out)[i]
            = (uint64_t) (((unsigned __int128) ((const uint64_t *) a)[i] * ((const uint64_t *) b)[i]) >> 64);
        else
          ((uint64_t *) out)[i] = (uint64_t) (((__int128) ((const int64_t *) a)[i] * ((const int64_t *) b)[i]) >> 64);
      return;
    }
  int what = word >> 16 & 0xff, mode = word >> 24 & 3, wide = word >> 26 & 1;
  static const int modes[4] = { FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD };
  int old = fegetround ();
  fesetround (modes[mode]);
  if (what == GOMPY_ROUND_CVT_S64 || what == GOMPY_ROUND_CVT_U64)
    for (int i = 0; i < GOMPY_LANES; i++)
      {
        volatile int64_t s = ((const int64_t *) a)[i];
        volatile uint64_t u = (uint64_t) s;
        if (wide)
          ((uint64_t *) out)[i] = gompy_u64 (what == GOMPY_ROUND_CVT_S64 ? (double) s : (double) u);
        else
          ((uint32_t *) out)[i] = gompy_u32 (what == GOMPY_ROUND_CVT_S64 ? (float) s : (float) u);
      }
  else if (what == GOMPY_ROUND_CVT_F64)
    for (int i = 0; i < GOMPY_LANES; i++)
      {
        volatile double x = gompy_f64 (((const uint64_t *) a)[i]);
        ((uint32_t *) out)[i] = gompy_u32 ((float) x);
      }
  else if (size == 4)
    GOMPY_ROUNDED (uint32_t, float, sqrtf, fmaf, gompy_f32, gompy_u32)
  else
    GOMPY_ROUNDED (uint64_t, double, sqrt, fma, gompy_f64, gompy_u64)
  fesetround (old);
}

/* --- shuffle (PTX ISA 9.7.9.6) ----------------------------------------------------------------------------------- */

static void
gompy_shuffle (int mode, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t *out, uint32_t *ok)
{
  for (int lane = 0; lane < GOMPY_LANES; lane++)
    {
      int value = b[lane] & 31, clamp = c[lane] & 31, segment = c[lane] >> 8 & 31;
      int most = (lane & segment) | (clamp & ~segment), least = lane & segment, from, good;
      switch (mode)
        {
        case GOMPY_SHUFFLE_UP: from = lane - value; good = from >= most; break;
        case GOMPY_SHUFFLE_DOWN: from = lane + value; good = from <= most; break;
        case GOMPY_SHUFFLE_BFLY: from = lane ^ value; good = from <= most; break;
        default: from = least | (value & ~segment); good = from <= most; break;
        }
      if (!good)
        from = lane;
      out[lane] = a[from & 31];
      ok[lane] = good;
    }
}

/* --- faults ----------------------------------------------------------------------------------------------------- */

/* the warp whose code this thread runs; read by a signal handler */
static __thread struct gompy_warp *volatile gompy_running __attribute__ ((tls_model ("initial-exec")));
static struct sigaction gompy_old_segv, gompy_old_bus;
static void gompy_fault (struct gompy_warp *, uint64_t address, uint64_t pc);   /* executor.pyx; returns */
static void *gompy_home (struct gompy_warp *);          /* the scheduler's stack */

static void
gompy_on_signal (int number, siginfo_t *info, void *context)
{
  struct gompy_warp *warp = gompy_running;
  ucontext_t *uc = context;
  if (warp)
    {
      gompy_running = NULL;
      gompy_fault (warp, (uint64_t) (uintptr_t) info->si_addr, uc->uc_mcontext.gregs[REG_RIP]);
      /* RSP too: another signal may come before gompy_resume's first instruction.  */
      uc->uc_mcontext.gregs[REG_RSP] = (greg_t) (uintptr_t) gompy_home (warp);
      uc->uc_mcontext.gregs[REG_RDI] = (greg_t) (uintptr_t) gompy_home (warp);
      uc->uc_mcontext.gregs[REG_RIP] = (greg_t) (uintptr_t) gompy_resume;
      return;
    }
  struct sigaction *old = number == SIGSEGV ? &gompy_old_segv : &gompy_old_bus;
  if (old->sa_flags & SA_SIGINFO)
    old->sa_sigaction (number, info, context);
  else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN)
    old->sa_handler (number);
  else
    signal (number, SIG_DFL);           /* the instruction is tried again, and ends the program */
}

static void
gompy_catch_signals (void)
{
  struct sigaction now, want = { 0 };
  want.sa_sigaction = gompy_on_signal;
  want.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction (SIGSEGV, NULL, &now);
  if (now.sa_sigaction != gompy_on_signal)
    {
      gompy_old_segv = now;
      sigaction (SIGSEGV, &want, NULL);
    }
  sigaction (SIGBUS, NULL, &now);
  if (now.sa_sigaction != gompy_on_signal)
    {
      gompy_old_bus = now;
      sigaction (SIGBUS, &want, NULL);
    }
}

static void
gompy_alternate_stack (void *stack, size_t size, stack_t *old)
{
  stack_t want = { .ss_sp = stack, .ss_size = size };
  sigaltstack (&want, old);
}

static uint64_t
gompy_clock (int which)
{
  struct timespec now;
  clock_gettime (which ? CLOCK_REALTIME : CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* Where the PTX compiler is: beside this library's package.  */
static int
gompy_compiler_path (char *text, size_t size)
{
  Dl_info info;
  char real[PATH_MAX];
  if (!dladdr ((void *) ptx_link, &info) || !info.dli_fname || !realpath (info.dli_fname, real))
    return -1;
  char *tail = strstr (real, "/gompy/_native/");
  if (!tail)
    return -1;
  *tail = 0;
  return snprintf (text, size, "%s/gompy/ptx/__main__.py", real) < (int) size ? 0 : -1;
}

#endif
