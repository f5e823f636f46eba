/* What the executor needs of C that Cython has no words for: the warp that compiled code sees
   (gompy/abi/ptx.py), the switch of stacks, accesses of one lane, atomic and rounded operations, signals.  Included
   once, by executor.pyx.  */
#ifndef GOMPY_PTX_WARP_H
#define GOMPY_PTX_WARP_H

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

#define GOMPY_HANDING_MODEL "initial-exec"
#include "gompy/native/handing_on.h"
#include "gompy/native/package_root.h"
#include "gompy/native/ptx.h"
#include "cpu.h"
#include "executor.h"
#include "hash.h"
#include "start.h"
#include "warp_fields.h"

#ifndef GOMPY_PTX_IDENTITY              /* hash of the compiler's sources: setup.py */
#define GOMPY_PTX_IDENTITY "00000000000000000000000000000000"
#endif

#include "atomics.h"
#include "matrix.h"
#include "texture.h"

/* --- stacks ----------------------------------------------------------------------------------------------------- */

/* Leave this stack (*SAVE remembers it) and go on where LOAD was left.  Here, not in a function: a return that leads to
   another stack than its call is never foretold by the processor.  The warps' code has the usual rounding (gompy_usual
   below), so that no mode changes from one stack to the other.  */
static inline __attribute__ ((always_inline)) void
gompy_switch (void **save, void *load)
{
  __asm__ volatile (
    "leaq -128(%%rsp), %%rsp\n\t"       /* beyond the red zone */
    "leaq 1f(%%rip), %%rax\n\t"
    "pushq %%rbp\n\tpushq %%rbx\n\tpushq %%rax\n\t"
    "movq %%rsp, (%0)\n\t"
    "movq %1, %%rsp\n\t"
    "popq %%rax\n\tpopq %%rbx\n\tpopq %%rbp\n\t"
    "jmp *%%rax\n"
    "1:\tleaq 128(%%rsp), %%rsp\n\t"
    : "+D" (save), "+S" (load)
    :
    : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3",
      "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc",
      "memory");
}

/* bar.sync and bar.arrive: what compiled code calls, with a C function's arguments.  gompy_meet (barriers.pxi) has them
   and the stack as it is left here, and says on which to go on.  The way back to compiled code from another stack is a
   jump, too: a warp that waits at another barrier than the warp before it came to would not be where the processor
   expects.  It is a return where the stack is the same: a call without one spoils what the processor foretells of all
   returns behind it, as far as the program's own.  */
void gompy_barrier (struct gompy_warp *w, uint32_t mask, int kind, uint32_t number, uint32_t threads, void *unit,
                    uint32_t line) __attribute__ ((visibility ("hidden")));
__attribute__ ((visibility ("hidden")))
void *(*gompy_meet) (struct gompy_warp *w, uint32_t mask, int kind, uint32_t number, uint32_t threads, void *unit,
                     uint32_t line, void *sp);

/* Go on where LOAD was left; this stack is given up.  */
void gompy_resume (void *load) __attribute__ ((visibility ("hidden"), noreturn));
void gompy_begin (void) __attribute__ ((visibility ("hidden")));

__asm__ (
  ".pushsection .text\n"
  ".hidden gompy_resume, gompy_begin, gompy_barrier\n"
  ".globl gompy_resume, gompy_begin, gompy_barrier\n"
  ".type gompy_barrier, @function\n"
  "gompy_barrier:\n"
  "  pushq %r15\n  pushq %r14\n  pushq %r13\n  pushq %r12\n"
  "  leaq 1f(%rip), %rax\n"
  "  pushq %rbp\n  pushq %rbx\n  pushq %rax\n"
  "  movq %rsp, %r10\n"
  "  movl 64(%rsp), %eax\n"            /* the line: of four bytes, as it was stored; else the load waits for it */
  "  pushq %r10\n  pushq %rax\n"
  "  callq *gompy_meet(%rip)\n"
  "  leaq 16(%rsp), %rcx\n"
  "  cmpq %rcx, %rax\n"
  "  je 2f\n"
  "  movq %rax, %rsp\n"
  "  popq %rax\n  popq %rbx\n  popq %rbp\n"
  "  jmp *%rax\n"
  "1:\n"
  "  popq %r12\n  popq %r13\n  popq %r14\n  popq %r15\n"
  "  popq %rcx\n"
  "  jmp *%rcx\n"
  "2:\n"                                /* this stack: no register has changed, and a return is foretold */
  "  addq $72, %rsp\n"
  "  retq\n"
  ".type gompy_resume, @function\n"
  "gompy_resume:\n"
  "  movq %rdi, %rsp\n"
  "  popq %rax\n  popq %rbx\n  popq %rbp\n"
  "  jmp *%rax\n"
  ".type gompy_begin, @function\n"
  "gompy_begin:\n"
  ".cfi_startproc\n"
  /* For a debugger's backtrace: who has switched to this stack is the caller.  The stack's first word says where
     gompy_switch has left that one's stack pointer; there are 1f, rbx and rbp, 128 bytes below what it was before:
     DW_CFA_def_cfa_expression of 7 bytes: DW_OP_breg7 0, DW_OP_deref, DW_OP_deref, DW_OP_plus_uconst 152.  */
  ".cfi_escape 0x0f, 7, 0x77, 0, 0x06, 0x06, 0x23, 0x98, 0x01\n"
  ".cfi_offset %rip, -152\n"
  ".cfi_offset %rbx, -144\n"
  ".cfi_offset %rbp, -136\n"
  "  movq %rbx, %rdi\n"
  "  movq %rbp, %rax\n"
  "  xorl %ebp, %ebp\n"
  "  callq *%rax\n"                    /* the function says which stack to go on with */
  ".cfi_endproc\n"
  "  movq %rax, %rsp\n"
  "  popq %rax\n  popq %rbx\n  popq %rbp\n"
  "  jmp *%rax\n"
  ".popsection\n");

/* A stack on which FUNCTION (WARP) begins when it is switched to, from a stack that is remembered at HOME.  */
static inline void *
gompy_new_stack (char *stack, size_t size, void *function, void *argument, void **home)
{
  uint64_t *sp = (uint64_t *) (((uintptr_t) stack + size) & ~(uintptr_t) 63);
  *--sp = 0;
  *--sp = (uint64_t) (uintptr_t) home;
  *--sp = (uint64_t) (uintptr_t) function;      /* rbp */
  *--sp = (uint64_t) (uintptr_t) argument;      /* rbx */
  *--sp = (uint64_t) (uintptr_t) gompy_begin;
  return sp;
}

/* The modes of a thread's floating-point units: rounding and exceptions.  */
struct gompy_modes { uint32_t mxcsr; uint16_t x87; };

enum { GOMPY_USUAL_MXCSR = 0x1f80, GOMPY_USUAL_X87 = 0x37f };

/* From here on as on a GPU, whatever the program has set; *WAS remembers that.  */
static inline void
gompy_usual (struct gompy_modes *was)
{
  const struct gompy_modes usual = { GOMPY_USUAL_MXCSR, GOMPY_USUAL_X87 };
  __asm__ volatile ("stmxcsr %0\n\tfnstcw %1" : "=m" (was->mxcsr), "=m" (was->x87));
  if (was->mxcsr != usual.mxcsr)
    __asm__ volatile ("ldmxcsr %0" : : "m" (usual.mxcsr));
  if (was->x87 != usual.x87)
    __asm__ volatile ("fldcw %0" : : "m" (usual.x87));
}

/* As it was, also what exceptions there have been.  */
static inline void
gompy_as_before (const struct gompy_modes *was)
{
  uint32_t now;
  __asm__ volatile ("stmxcsr %0" : "=m" (now));
  if (now != was->mxcsr)
    __asm__ volatile ("ldmxcsr %0" : : "m" (was->mxcsr));
  if (was->x87 != GOMPY_USUAL_X87)
    __asm__ volatile ("fldcw %0" : : "m" (was->x87));
}

/* --- one lane's memory ------------------------------------------------------------------------------------------ */

/* The program's memory (executor.h).  */
static __attribute__ ((noinline)) char *
gompy_host_place (const ptx_host_ranges *hosts, uint64_t address, uint64_t size)
{
  uint32_t count = hosts ? __atomic_load_n (&hosts->count, __ATOMIC_ACQUIRE) : 0;
  for (uint32_t i = 0; i < count; i++)
    {
      uint64_t room = __atomic_load_n (&hosts->range[i].size, __ATOMIC_ACQUIRE);
      if (room >= size && address - hosts->range[i].start <= room - size)
        return (char *) (uintptr_t) address;
    }
  return NULL;
}

/* And other devices'.  */
static __attribute__ ((noinline)) char *
gompy_far_place (const struct gompy_warp *w, uint64_t address, uint64_t size)
{
  struct gompy_warp *own = (struct gompy_warp *) w;
  char *place = (char *) (uintptr_t) address, *host;
  if (size <= w->far_size && address - w->far_start <= w->far_size - size)
    return place;
  host = gompy_host_place (w->memory->hosts, address, size);
  if (host || !w->memory->reach)
    return host;
  if (!w->memory->reach (w->memory, address, &own->far_start, &own->far_size))
    own->far_size = 0;
  return size <= w->far_size && address - w->far_start <= w->far_size - size ? place : NULL;
}

/* Whether an address has a place in the shadow.  */
static inline int
gompy_in_shadow (const struct gompy_warp *w, uint64_t address)
{
  return address - w->base < w->size || address - w->memory->whole < w->memory->whole_size;
}

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
  return gompy_far_place (w, address, size);
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

enum { GOMPY_SIGNAL_STACK = 65536 };

/* --- faults ----------------------------------------------------------------------------------------------------- */

/* the warp whose code this thread runs; read by a signal handler */
static __thread struct gompy_warp *volatile gompy_running __attribute__ ((tls_model ("initial-exec")));
static struct gompy_old_actions
{
  struct sigaction first, last;  /* when kernels ran first, and when this handler was set last */
  int found;
} gompy_old_segv, gompy_old_bus;
static void gompy_fault (struct gompy_warp *, uint64_t address, uint64_t pc);   /* executor.pyx; notes it */
static void *gompy_home (struct gompy_warp *);          /* the scheduler's stack */

static void
gompy_on_signal (int number, siginfo_t *info, void *context)
{
  struct gompy_warp *warp = gompy_running;
  ucontext_t *uc = context;
  if (warp && info->si_code > 0)        /* else somebody has sent it */
    {
      gompy_running = NULL;
      gompy_fault (warp, (uint64_t) (uintptr_t) info->si_addr, uc->uc_mcontext.gregs[REG_RIP]);
      /* RSP too: another signal may come before gompy_resume's first instruction.  */
      uc->uc_mcontext.gregs[REG_RSP] = (greg_t) (uintptr_t) gompy_home (warp);
      uc->uc_mcontext.gregs[REG_RDI] = (greg_t) (uintptr_t) gompy_home (warp);
      uc->uc_mcontext.gregs[REG_RIP] = (greg_t) (uintptr_t) gompy_resume;
      return;
    }
  struct gompy_old_actions *before = number == SIGSEGV ? &gompy_old_segv : &gompy_old_bus;
  int again = gompy_comes_back (context);
  struct sigaction *old = again ? &before->first : &before->last;
  if (!again)
    gompy_begin_handing (context);
  gompy_running = NULL;                 /* what the handler does is its own */
  if (old->sa_flags & SA_SIGINFO)
    old->sa_sigaction (number, info, context);
  else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN)
    old->sa_handler (number);
  else if (old->sa_handler == SIG_DFL || info->si_code > 0)  /* a fault cannot be ignored */
    {
      signal (number, SIG_DFL);         /* the instruction is tried again, and ends the program */
      if (info->si_code <= 0)           /* who sends a signal sends it once */
        syscall (SYS_rt_tgsigqueueinfo, getpid (), (pid_t) syscall (SYS_gettid), number, info);
    }
  gompy_running = warp;
  if (!again)
    gompy_end_handing ();
}

static void
gompy_catch_one (int number, struct gompy_old_actions *old)
{
  struct sigaction now, want = { 0 };
  want.sa_sigaction = gompy_on_signal;
  want.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction (number, NULL, &now);
  if (now.sa_sigaction != gompy_on_signal)
    {
      old->last = now;
      if (!old->found)
        old->first = now;
      old->found = 1;
      sigaction (number, &want, NULL);
    }
}

static inline uint64_t gompy_ticks (void) { return __builtin_ia32_rdtsc (); }

/* Have faults of warps come here, although the program may have set other handlers since.  To look takes longer than
   an empty kernel: launches in close succession look once in GOMPY_LOOK ticks of the processor's clock (some tenths
   of a millisecond), but always if it is a kernel's FIRST.  */
enum { GOMPY_LOOK = 1 << 20 };

static void
gompy_catch_signals (int first)
{
  static uint64_t looked;
  uint64_t now = __builtin_ia32_rdtsc (), last = __atomic_load_n (&looked, __ATOMIC_RELAXED);
  if (!first && last && now - last < GOMPY_LOOK)
    return;
  gompy_catch_one (SIGSEGV, &gompy_old_segv);
  gompy_catch_one (SIGBUS, &gompy_old_bus);
  __atomic_store_n (&looked, now, __ATOMIC_RELAXED);
}

/* Where a signal's handler runs when a warp's own stack has come to its end: a stack that the thread keeps as long as
   it lives.  The handler hardly needs any (lanes.pxi, gompy_fault), so one that the program has set is as good.  */
static __thread int gompy_has_signal_stack __attribute__ ((tls_model ("initial-exec")));
static pthread_key_t gompy_signal_stack_key;
static int gompy_signal_stack_status;

static void
gompy_drop_signal_stack (void *own)
{
  stack_t now;
  if (sigaltstack (NULL, &now) == 0 && now.ss_sp == own)
    {
      stack_t none = { .ss_flags = SS_DISABLE };
      if (sigaltstack (&none, NULL) != 0)
        return;
    }
  gompy_has_signal_stack = 0;
  munmap (own, GOMPY_SIGNAL_STACK);
}

static void
gompy_make_signal_key (void)
{
  gompy_signal_stack_status = pthread_key_create (&gompy_signal_stack_key, gompy_drop_signal_stack);
}

static void
gompy_new_signal_stack (void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  stack_t now = { 0 }, want = { .ss_size = GOMPY_SIGNAL_STACK };
  if (sigaltstack (NULL, &now) != 0)
    return;
  if (now.ss_flags & SS_DISABLE)
    {
      pthread_once (&once, gompy_make_signal_key);
      want.ss_sp = mmap (NULL, want.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (want.ss_sp == MAP_FAILED)
        return;
      if (gompy_signal_stack_status || pthread_setspecific (gompy_signal_stack_key, want.ss_sp)
          || sigaltstack (&want, NULL) != 0)
        {
          if (!gompy_signal_stack_status)
            pthread_setspecific (gompy_signal_stack_key, NULL);
          munmap (want.ss_sp, want.ss_size);
          return;
        }
    }
  gompy_has_signal_stack = 1;
}

static inline void
gompy_need_signal_stack (void)
{
  if (!gompy_has_signal_stack)
    gompy_new_signal_stack ();
}

/* Which of the 32 lanes have the value.  By vectors: gcc 12 makes none of a loop that reduces.  */
static inline uint32_t
gompy_lanes_with (const uint64_t *values, uint64_t value)
{
  const __m128i *row = (const __m128i *) values, wanted = _mm_set1_epi64x ((int64_t) value);
  __m128i differ = _mm_setzero_si128 ();
  for (int i = 0; i < GOMPY_LANES / 2; i += 4)
    {
      __m128i a = _mm_xor_si128 (_mm_loadu_si128 (row + i), wanted);
      __m128i b = _mm_xor_si128 (_mm_loadu_si128 (row + i + 1), wanted);
      __m128i c = _mm_xor_si128 (_mm_loadu_si128 (row + i + 2), wanted);
      __m128i d = _mm_xor_si128 (_mm_loadu_si128 (row + i + 3), wanted);
      differ = _mm_or_si128 (differ, _mm_or_si128 (_mm_or_si128 (a, b), _mm_or_si128 (c, d)));
    }
  if (_mm_movemask_epi8 (_mm_cmpeq_epi8 (differ, _mm_setzero_si128 ())) == 0xffff)
    return ~(uint32_t) 0;
  uint32_t mask = 0;
  for (int i = 0; i < GOMPY_LANES; i++)
    mask |= (uint32_t) (values[i] == value) << i;
  return mask;
}

/* --- the process ----------------------------------------------------------------------------------------------- */

static int gompy_forks;                 /* how often this process has come of a fork */

static void
gompy_count_fork (void)
{
  gompy_forks++;
}

static void __attribute__ ((constructor))
gompy_watch_forks (void)
{
  pthread_atfork (NULL, NULL, gompy_count_fork);
}

static uint64_t
gompy_clock (int which)
{
  struct timespec now;
  clock_gettime (which ? CLOCK_REALTIME : CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* Where the package is that this library is of; "" if it is of none.  Found when the library is loaded: dladdr waits
   for the loader's lock, which another thread may have whose library's constructor waits for the compiler's lock.  */
static char gompy_root[PATH_MAX];

__attribute__ ((constructor)) static void
gompy_find_root (void)
{
  if (!gompy_package_root (gompy_root))
    gompy_root[0] = 0;
}

/* A place below the package: its path in TEXT; -1 if there is none.  */
static int
gompy_own_path (char *text, size_t size, const char *below)
{
  return gompy_root[0] && snprintf (text, size, "%s/gompy/%s", gompy_root, below) < (int) size ? 0 : -1;
}

/* Where the PTX compiler is.  */
static int
gompy_compiler_path (char *text, size_t size)
{
  return gompy_own_path (text, size, "ptx/__main__.py");
}

#endif
