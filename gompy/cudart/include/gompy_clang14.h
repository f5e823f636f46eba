/* Barriers and fences of clang 14, as its headers call them.

   Its optimizer (LLVM's GlobalsModRef) takes an intrinsic function for one that leaves a shared variable alone whose
   address nobody has: a read behind a barrier was moved before it.  15 and later have it right.  An asm statement is
   taken for what may change any memory.  Included by cuda_runtime.h before clang's headers.  */
#ifndef GOMPY_CLANG14_H
#define GOMPY_CLANG14_H

#define GOMPY_SYNC static __inline__ __attribute__ ((always_inline, device))
#define GOMPY_SYNC_OF(name, text) \
  GOMPY_SYNC void name () { __asm__ volatile (text ::: "memory"); }
#define GOMPY_SYNC_RESULT(name, operation) \
  GOMPY_SYNC int name (int what) \
  { \
    int result; \
    __asm__ volatile ("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; bar.red." operation ".pred q, 0, p; " \
                      "selp.s32 %0, 1, 0, q; }" : "=r" (result) : "r" (what) : "memory"); \
    return result; \
  }

GOMPY_SYNC_OF (gompy_sync_threads, "bar.sync 0;")
GOMPY_SYNC_OF (gompy_fence_block, "membar.cta;")
GOMPY_SYNC_OF (gompy_fence_device, "membar.gl;")
GOMPY_SYNC_OF (gompy_fence_system, "membar.sys;")
GOMPY_SYNC_RESULT (gompy_sync_and, "and")
GOMPY_SYNC_RESULT (gompy_sync_or, "or")
GOMPY_SYNC int
gompy_sync_count (int what)
{
  int result;
  __asm__ volatile ("{ .reg .pred p; setp.ne.s32 p, %1, 0; bar.red.popc.u32 %0, 0, p; }"
                    : "=r" (result) : "r" (what) : "memory");
  return result;
}
GOMPY_SYNC void
gompy_sync_warp (unsigned mask)
{
  __asm__ volatile ("bar.warp.sync %0;" : : "r" (mask) : "memory");
}
GOMPY_SYNC void
gompy_sync_barrier (unsigned id)
{
  __asm__ volatile ("barrier.sync %0;" : : "r" (id) : "memory");
}
GOMPY_SYNC void
gompy_sync_barrier_of (unsigned id, unsigned count)
{
  __asm__ volatile ("barrier.sync %0, %1;" : : "r" (id), "r" (count) : "memory");
}

#undef GOMPY_SYNC
#undef GOMPY_SYNC_OF
#undef GOMPY_SYNC_RESULT

#define __syncthreads() gompy_sync_threads ()
#define __nvvm_bar0_and(what) gompy_sync_and (what)
#define __nvvm_bar0_or(what) gompy_sync_or (what)
#define __nvvm_bar0_popc(what) gompy_sync_count (what)
#define __nvvm_bar_warp_sync(mask) gompy_sync_warp (mask)
#define __nvvm_barrier_sync(id) gompy_sync_barrier (id)
#define __nvvm_barrier_sync_cnt(id, count) gompy_sync_barrier_of (id, count)
#define __nvvm_membar_cta() gompy_fence_block ()
#define __nvvm_membar_gl() gompy_fence_device ()
#define __nvvm_membar_sys() gompy_fence_system ()

#endif
