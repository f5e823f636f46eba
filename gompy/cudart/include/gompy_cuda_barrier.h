/* cuda::barrier, cuda::latch and the semaphores, and cuda::memcpy_async with a barrier (libcu++ documentation).

   A barrier's word has the number of its phase above, the threads that are still to come below.  Copies are done at
   once by the threads that ask for them: each one's arrival tells of them.  */
#ifndef GOMPY_CUDA_BARRIER_H
#define GOMPY_CUDA_BARRIER_H

#include "gompy_cuda_atomic.h"

#include <utility>

namespace cuda
{

namespace std
{
struct __empty_completion
{
  GOMPY_EITHER void operator() () const {}
};
}

template <thread_scope Scope, typename Completion = std::__empty_completion>
class barrier
{
  typedef unsigned long long word;
  atomic<word, Scope> state;
  atomic<unsigned, Scope> expected;
  Completion completion;

  /* So many fewer are to come; the last one begins the next phase.  */
  GOMPY_EITHER unsigned come (unsigned count)
  {
    word before = state.fetch_sub ((word) count, memory_order_acq_rel);
    if ((unsigned) before == count)
      {
        completion ();
        state.store (((before >> 32) + 1) << 32 | expected.load (memory_order_relaxed), memory_order_release);
      }
    return (unsigned) (before >> 32);
  }
  GOMPY_EITHER unsigned phase () const { return (unsigned) (state.load (memory_order_relaxed) >> 32); }

public:
  class arrival_token
  {
    unsigned of;

  public:
    GOMPY_EITHER explicit arrival_token (unsigned number) : of (number) {}
    GOMPY_EITHER unsigned gompy_phase () const { return of; }
  };

  barrier () = default;
  barrier (const barrier &) = delete;
  barrier &operator= (const barrier &) = delete;
  GOMPY_EITHER constexpr barrier (::std::ptrdiff_t count, Completion then = Completion ())
      : state ((word) count), expected ((unsigned) count), completion (then)
  {
  }
  static constexpr ::std::ptrdiff_t max () { return (1 << 20) - 1; }

  GOMPY_EITHER arrival_token arrive (::std::ptrdiff_t count = 1) { return arrival_token (come ((unsigned) count)); }
  GOMPY_EITHER bool gompy_is_over (unsigned number) const
  {
    bool over = phase () != number;
    if (over)
      gompy_fence<Scope> ();
    return over;
  }
  GOMPY_EITHER bool try_wait (arrival_token &&token) const { return gompy_is_over (token.gompy_phase ()); }
  GOMPY_EITHER bool try_wait_parity (bool parity) const
  {
    bool over = (phase () & 1) != parity;
    if (over)
      gompy_fence<Scope> ();
    return over;
  }
  GOMPY_EITHER void wait (arrival_token &&token) const
  {
    while (phase () == token.gompy_phase ())
      ;
    gompy_fence<Scope> ();
  }
  GOMPY_EITHER void wait_parity (bool parity) const
  {
    while ((phase () & 1) == parity)
      ;
    gompy_fence<Scope> ();
  }
  GOMPY_EITHER void arrive_and_wait () { wait (arrive ()); }
  GOMPY_EITHER void arrive_and_drop ()
  {
    expected.fetch_sub (1u, memory_order_relaxed);
    come (1);
  }
};

template <thread_scope Scope, typename Completion>
GOMPY_EITHER void
init (barrier<Scope, Completion> *at, ::std::ptrdiff_t count, Completion then = Completion ())
{
  new (at) barrier<Scope, Completion> (count, then);
}

template <thread_scope Scope>
class latch
{
  atomic<::std::ptrdiff_t, Scope> left;

public:
  GOMPY_EITHER constexpr explicit latch (::std::ptrdiff_t count) : left (count) {}
  GOMPY_EITHER void count_down (::std::ptrdiff_t by = 1) { left.fetch_sub (by, memory_order_release); }
  GOMPY_EITHER bool try_wait () const { return left.load (memory_order_acquire) == 0; }
  GOMPY_EITHER void wait () const
  {
    while (left.load (memory_order_relaxed))
      ;
    gompy_fence<Scope> ();
  }
  GOMPY_EITHER void arrive_and_wait (::std::ptrdiff_t by = 1)
  {
    count_down (by);
    wait ();
  }
};

template <thread_scope Scope, ::std::ptrdiff_t Most = 0x7fffffff>
class counting_semaphore
{
  atomic<::std::ptrdiff_t, Scope> left;

public:
  GOMPY_EITHER constexpr explicit counting_semaphore (::std::ptrdiff_t count) : left (count) {}
  GOMPY_EITHER void release (::std::ptrdiff_t by = 1) { left.fetch_add (by, memory_order_release); }
  GOMPY_EITHER bool try_acquire ()
  {
    ::std::ptrdiff_t found = left.load (memory_order_relaxed);
    return found > 0 && left.compare_exchange_strong (found, found - 1, memory_order_acquire);
  }
  GOMPY_EITHER void acquire ()
  {
    while (!try_acquire ())
      ;
  }
};
template <thread_scope Scope> using binary_semaphore = counting_semaphore<Scope, 1>;

namespace std
{
template <typename Completion = __empty_completion> using barrier = ::cuda::barrier<thread_scope_system, Completion>;
using latch = ::cuda::latch<thread_scope_system>;
}

/* --- Copies: by one thread, or by all of a group.  --- */

GOMPY_EITHER void
gompy_copy (void *to, const void *from, ::std::size_t size, ::std::size_t rank, ::std::size_t threads)
{
  char *target = (char *) to;
  const char *source = (const char *) from;
  ::std::size_t words = ((unsigned long long) to | (unsigned long long) from) % 4 ? 0 : size / 4;
  for (::std::size_t i = rank; i < words; i += threads)
    ((unsigned *) to)[i] = ((const unsigned *) from)[i];
  for (::std::size_t i = words * 4 + rank; i < size; i += threads)
    target[i] = source[i];
}

template <typename T, typename Size, thread_scope Scope, typename Completion>
GOMPY_EITHER void
memcpy_async (T *to, const T *from, Size size, barrier<Scope, Completion> &)
{
  gompy_copy (to, from, size, 0, 1);
}

template <typename Group, typename T, typename Size, thread_scope Scope, typename Completion>
GOMPY_EITHER void
memcpy_async (const Group &group, T *to, const T *from, Size size, barrier<Scope, Completion> &)
{
  gompy_copy (to, from, size, group.thread_rank (), group.size ());
}

}

#endif
