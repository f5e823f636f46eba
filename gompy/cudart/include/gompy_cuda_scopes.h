/* What libcu++'s headers share: scopes, orders, sizes that say what memory is aligned to, fences of a scope.

   Names and meanings: NVIDIA's libcu++ documentation, "Thread Scopes", "Shapes".  */
#ifndef GOMPY_CUDA_SCOPES_H
#define GOMPY_CUDA_SCOPES_H

#include "cuda_runtime.h"

#include <cstddef>
#include <cstdint>

#define GOMPY_EITHER __inline__ __attribute__ ((host, device, always_inline, nodebug))

namespace cuda
{

enum thread_scope
{
  thread_scope_system,
  thread_scope_device,
  thread_scope_block,
  thread_scope_thread
};

namespace std
{
enum class memory_order
{
  relaxed,
  consume,
  acquire,
  release,
  acq_rel,
  seq_cst
};
constexpr memory_order memory_order_relaxed = memory_order::relaxed, memory_order_consume = memory_order::consume,
                       memory_order_acquire = memory_order::acquire, memory_order_release = memory_order::release,
                       memory_order_acq_rel = memory_order::acq_rel, memory_order_seq_cst = memory_order::seq_cst;
}
using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_consume;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

/* Bytes at addresses that are multiples of a number.  */
template <::std::size_t Alignment>
struct aligned_size_t
{
  static constexpr ::std::size_t align = Alignment;
  ::std::size_t value;
  GOMPY_EITHER constexpr explicit aligned_size_t (::std::size_t size) : value (size) {}
  GOMPY_EITHER constexpr operator ::std::size_t () const { return value; }
};

template <thread_scope Scope>
GOMPY_EITHER void
gompy_fence ()
{
#ifdef __CUDA_ARCH__
  if constexpr (Scope == thread_scope_block)
    __threadfence_block ();
  else if constexpr (Scope == thread_scope_device)
    __threadfence ();
  else if constexpr (Scope == thread_scope_system)
    __threadfence_system ();
#else
  __atomic_thread_fence (__ATOMIC_SEQ_CST);
#endif
}

constexpr GOMPY_EITHER bool
gompy_acquires (memory_order order)
{
  return order != memory_order_relaxed && order != memory_order_release;
}

constexpr GOMPY_EITHER bool
gompy_releases (memory_order order)
{
  return order == memory_order_release || order == memory_order_acq_rel || order == memory_order_seq_cst;
}

GOMPY_EITHER void
atomic_thread_fence (memory_order order, thread_scope scope = thread_scope_system)
{
  if (order == memory_order_relaxed || scope == thread_scope_thread)
    return;
  if (scope == thread_scope_block)
    gompy_fence<thread_scope_block> ();
  else if (scope == thread_scope_device)
    gompy_fence<thread_scope_device> ();
  else
    gompy_fence<thread_scope_system> ();
}

}

#endif
