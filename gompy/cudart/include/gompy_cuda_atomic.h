/* cuda::atomic and cuda::atomic_ref (libcu++ documentation, "Extended API"), for host and device.

   On the device an order is fences around a relaxed operation.  Every operation is of the whole device, or of the
   system: a narrower scope allows that.  */
#ifndef GOMPY_CUDA_ATOMIC_H
#define GOMPY_CUDA_ATOMIC_H

#include "gompy_cuda_scopes.h"

#include <type_traits>

namespace cuda
{

template <::std::size_t Size> struct gompy_word;
template <> struct gompy_word<1> { typedef unsigned char type; };
template <> struct gompy_word<2> { typedef unsigned short type; };
template <> struct gompy_word<4> { typedef unsigned type; };
template <> struct gompy_word<8> { typedef unsigned long long type; };

/* The type that the device's minimum and maximum take for T, if they know it.  */
template <typename T> struct gompy_number { typedef T type; static constexpr bool known = false; };
#define GOMPY_NUMBER(T, taken) \
  template <> struct gompy_number<T> { typedef taken type; static constexpr bool known = true; };
GOMPY_NUMBER (int, int)
GOMPY_NUMBER (unsigned, unsigned)
GOMPY_NUMBER (long, long long)
GOMPY_NUMBER (unsigned long, unsigned long long)
GOMPY_NUMBER (long long, long long)
GOMPY_NUMBER (unsigned long long, unsigned long long)
#undef GOMPY_NUMBER

/* Compare and swap of a word; what was there.  */
template <typename W>
GOMPY_EITHER W
gompy_swap (W *at, W old, W value)
{
#ifdef __CUDA_ARCH__
  if constexpr (sizeof (W) >= 4)
    return atomicCAS (at, old, value);
  else
    {
      unsigned long long address = (unsigned long long) at;
      unsigned *word = (unsigned *) (address & ~3ull), shift = (unsigned) (address & 3) * 8;
      unsigned mask = (unsigned) (W) ~(W) 0 << shift, before = *(volatile unsigned *) word;
      while ((W) (before >> shift) == old)
        {
          unsigned found = atomicCAS (word, before, (before & ~mask) | (unsigned) value << shift);
          if (found == before)
            return old;
          before = found;
        }
      return (W) (before >> shift);
    }
#else
  __atomic_compare_exchange_n (at, &old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return old;
#endif
}

/* The operations on an object of T, whoever it belongs to.  */
template <typename T, thread_scope Scope, typename Self>
class gompy_atomic
{
  typedef typename gompy_word<sizeof (T)>::type word;
  static GOMPY_EITHER T value_of (word bits) { return __builtin_bit_cast (T, bits); }
  static GOMPY_EITHER word bits_of (T value) { return __builtin_bit_cast (word, value); }
  GOMPY_EITHER word *place () const { return (word *) static_cast<const Self *> (this)->gompy_place (); }
  static GOMPY_EITHER void before (memory_order order)
  {
    if (gompy_releases (order))
      gompy_fence<Scope> ();
  }
  static GOMPY_EITHER void behind (memory_order order)
  {
    if (gompy_acquires (order))
      gompy_fence<Scope> ();
  }

public:
  typedef T value_type;
  static constexpr bool is_always_lock_free = true;
  static constexpr memory_order gompy_relaxed = memory_order_relaxed;
  GOMPY_EITHER bool is_lock_free () const { return true; }

  GOMPY_EITHER T load (memory_order order = memory_order_seq_cst) const
  {
    if (order == memory_order_seq_cst)
      gompy_fence<Scope> ();
#ifdef __CUDA_ARCH__
    T found = value_of (*(volatile word *) place ());
#else
    T found = value_of (__atomic_load_n (place (), __ATOMIC_SEQ_CST));
#endif
    behind (order);
    return found;
  }
  GOMPY_EITHER void store (T value, memory_order order = memory_order_seq_cst) const
  {
    before (order);
#ifdef __CUDA_ARCH__
    *(volatile word *) place () = bits_of (value);
#else
    __atomic_store_n (place (), bits_of (value), __ATOMIC_SEQ_CST);
#endif
    if (order == memory_order_seq_cst)
      gompy_fence<Scope> ();
  }
  GOMPY_EITHER operator T () const { return load (); }

  /* The value becomes what a function makes of it; what was there.  */
  template <typename Function>
  GOMPY_EITHER T gompy_update (Function function, memory_order order = memory_order_seq_cst) const
  {
    before (order);
#ifdef __CUDA_ARCH__
    word old = *(volatile word *) place ();
#else
    word old = __atomic_load_n (place (), __ATOMIC_RELAXED);
#endif
    for (;;)
      {
        word found = gompy_swap (place (), old, bits_of (function (value_of (old))));
        if (found == old)
          break;
        old = found;
      }
    behind (order);
    return value_of (old);
  }

  GOMPY_EITHER T exchange (T value, memory_order order = memory_order_seq_cst) const
  {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof (T) >= 4)
      {
        before (order);
        T old = value_of (atomicExch (place (), bits_of (value)));
        behind (order);
        return old;
      }
#endif
    return gompy_update ([=] (T) { return value; }, order);
  }
  GOMPY_EITHER bool compare_exchange_strong (T &expected, T value, memory_order order = memory_order_seq_cst) const
  {
    before (order);
    word old = bits_of (expected), found = gompy_swap (place (), old, bits_of (value));
    behind (order);
    expected = value_of (found);
    return found == old;
  }
  GOMPY_EITHER bool compare_exchange_strong (T &expected, T value, memory_order good, memory_order) const
  {
    return compare_exchange_strong (expected, value, good);
  }
  GOMPY_EITHER bool compare_exchange_weak (T &expected, T value, memory_order order = memory_order_seq_cst) const
  {
    return compare_exchange_strong (expected, value, order);
  }
  GOMPY_EITHER bool compare_exchange_weak (T &expected, T value, memory_order good, memory_order) const
  {
    return compare_exchange_strong (expected, value, good);
  }

  template <typename By> GOMPY_EITHER T fetch_add (By by, memory_order order = memory_order_seq_cst) const
  {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof (T) >= 4 && ::std::is_integral<T>::value)
      {
        before (order);
        T old = (T) atomicAdd (place (), (word) (T) by);
        behind (order);
        return old;
      }
    else if constexpr (::std::is_same<T, float>::value || ::std::is_same<T, double>::value)
      {
        before (order);
        T old = atomicAdd ((T *) place (), (T) by);
        behind (order);
        return old;
      }
#endif
    return gompy_update ([=] (T old) { return (T) (old + by); }, order);
  }
  template <typename By> GOMPY_EITHER T fetch_sub (By by, memory_order order = memory_order_seq_cst) const
  {
    if constexpr (::std::is_pointer<T>::value)
      return fetch_add (-(::std::ptrdiff_t) by, order);
    else
      return fetch_add (static_cast<T> (T {} - static_cast<T> (by)), order);
  }
#ifdef __CUDA_ARCH__
#define GOMPY_FETCH(name, device, kind, condition, expression) \
  GOMPY_EITHER T name (T by, memory_order order = memory_order_seq_cst) const \
  { \
    if constexpr (condition) \
      { \
        before (order); \
        T old = (T) device ((kind *) place (), (kind) by); \
        behind (order); \
        return old; \
      } \
    else \
      return gompy_update ([=] (T old) { return (T) (expression); }, order); \
  }
#else
#define GOMPY_FETCH(name, device, kind, condition, expression) \
  GOMPY_EITHER T name (T by, memory_order order = memory_order_seq_cst) const \
  { \
    return gompy_update ([=] (T old) { return (T) (expression); }, order); \
  }
#endif
  typedef typename gompy_number<T>::type number;
  GOMPY_FETCH (fetch_max, atomicMax, number, gompy_number<T>::known, old < by ? by : old)
  GOMPY_FETCH (fetch_min, atomicMin, number, gompy_number<T>::known, by < old ? by : old)
  GOMPY_FETCH (fetch_and, atomicAnd, word, sizeof (T) >= 4, old & by)
  GOMPY_FETCH (fetch_or, atomicOr, word, sizeof (T) >= 4, old | by)
  GOMPY_FETCH (fetch_xor, atomicXor, word, sizeof (T) >= 4, old ^ by)
#undef GOMPY_FETCH

  GOMPY_EITHER T operator++ () const { return fetch_add (1) + 1; }
  GOMPY_EITHER T operator++ (int) const { return fetch_add (1); }
  GOMPY_EITHER T operator-- () const { return fetch_sub (1) - 1; }
  GOMPY_EITHER T operator-- (int) const { return fetch_sub (1); }
  template <typename By> GOMPY_EITHER T operator+= (By by) const { return fetch_add (by) + by; }
  template <typename By> GOMPY_EITHER T operator-= (By by) const { return fetch_sub (by) - by; }
  GOMPY_EITHER T operator&= (T by) const { return fetch_and (by) & by; }
  GOMPY_EITHER T operator|= (T by) const { return fetch_or (by) | by; }
  GOMPY_EITHER T operator^= (T by) const { return fetch_xor (by) ^ by; }

  /* Until the value is another one; whoever changes it need not tell.  */
  GOMPY_EITHER void wait (T old, memory_order order = memory_order_seq_cst) const
  {
    while (bits_of (load (memory_order_relaxed)) == bits_of (old))
      ;
    behind (order);
  }
  GOMPY_EITHER void notify_one () const {}
  GOMPY_EITHER void notify_all () const {}
};

template <typename T, thread_scope Scope = thread_scope_system>
class alignas (sizeof (T)) atomic : public gompy_atomic<T, Scope, atomic<T, Scope>>
{
  T value;

public:
  atomic () = default;
  GOMPY_EITHER constexpr atomic (T first) : value (first) {}
  atomic (const atomic &) = delete;
  atomic &operator= (const atomic &) = delete;
  GOMPY_EITHER T operator= (T other) { return this->store (other), other; }
  GOMPY_EITHER const T *gompy_place () const { return &value; }
};

template <typename T, thread_scope Scope = thread_scope_system>
class atomic_ref : public gompy_atomic<T, Scope, atomic_ref<T, Scope>>
{
  T *place;

public:
  static constexpr ::std::size_t required_alignment = sizeof (T);
  GOMPY_EITHER explicit atomic_ref (T &of) : place (&of) {}
  atomic_ref (const atomic_ref &) = default;
  GOMPY_EITHER T operator= (T other) const { return this->store (other), other; }
  GOMPY_EITHER T *gompy_place () const { return place; }
};

template <thread_scope Scope = thread_scope_system>
class atomic_flag
{
  atomic<unsigned, Scope> set;

public:
  GOMPY_EITHER constexpr atomic_flag () : set (0) {}
  GOMPY_EITHER bool test_and_set (memory_order order = memory_order_seq_cst) { return set.exchange (1, order); }
  GOMPY_EITHER void clear (memory_order order = memory_order_seq_cst) { set.store (0, order); }
  GOMPY_EITHER bool test (memory_order order = memory_order_seq_cst) const { return set.load (order); }
};

namespace std
{
template <typename T> using atomic = ::cuda::atomic<T, thread_scope_system>;
template <typename T> using atomic_ref = ::cuda::atomic_ref<T, thread_scope_system>;
using atomic_flag = ::cuda::atomic_flag<thread_scope_system>;
using atomic_int = atomic<int>;
using atomic_uint = atomic<unsigned>;
using ::cuda::atomic_thread_fence;
}

}

#endif
