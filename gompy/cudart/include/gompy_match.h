/* __match_any_sync and __match_all_sync for all types: clang has them for the bits.  */
#ifndef GOMPY_MATCH_H
#define GOMPY_MATCH_H
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 700

template <typename T>
static __inline__ __attribute__ ((device)) unsigned
__match_any_sync (unsigned mask, T value)
{
  static_assert (sizeof (T) == 4 || sizeof (T) == 8, "__match_any_sync takes values of 4 or 8 bytes");
  if constexpr (sizeof (T) == 4)
    return __nvvm_match_any_sync_i32 (mask, __builtin_bit_cast (unsigned, value));
  else
    return __nvvm_match_any_sync_i64 (mask, __builtin_bit_cast (unsigned long long, value));
}

template <typename T>
static __inline__ __attribute__ ((device)) unsigned
__match_all_sync (unsigned mask, T value, int *all)
{
  static_assert (sizeof (T) == 4 || sizeof (T) == 8, "__match_all_sync takes values of 4 or 8 bytes");
  if constexpr (sizeof (T) == 4)
    return __nvvm_match_all_sync_i32p (mask, __builtin_bit_cast (unsigned, value), all);
  else
    return __nvvm_match_all_sync_i64p (mask, __builtin_bit_cast (unsigned long long, value), all);
}

#endif
#endif
