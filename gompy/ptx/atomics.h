/* atom and red (gompy/abi/ptx.py, ATOM_OPS and ATOM_TYPES): of one lane, and of a warp.  Included by warp.h.  */
#ifndef GOMPY_PTX_ATOMICS_H
#define GOMPY_PTX_ATOMICS_H

/* --- one lane --------------------------------------------------------------------------------------------------- */

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

/* A single as such a number, to the nearest.  */
static uint16_t
gompy_half_of (float value, int brain)
{
  uint32_t bits = gompy_u32 (value), size = bits & 0x7fffffff;
  uint16_t sign = bits >> 16 & 0x8000;
  if (size > 0x7f800000)
    return 0x7fff;
  if (brain)
    return (uint16_t) (sign | (size + 0x7fff + (size >> 16 & 1)) >> 16);
  if (size >= 0x477ff000)
    return sign | 0x7c00;
  if (size < 0x38800000) /* beside 1/2 a single has steps of 2^-24 */
    return (uint16_t) (sign | (gompy_u32 (fabsf (value) + 0.5f) - 0x3f000000));
  return (uint16_t) (sign | (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13);
}

/* The sum of two such numbers, rounded to the nearest.  */
static uint16_t
gompy_half_sum (uint16_t a, uint16_t b, int brain)
{
  /* A single has more than twice the bits: rounded to it first, and to 16 bits then, the sum is right.  */
  return gompy_half_of ((float) gompy_half (a, brain) + (float) gompy_half (b, brain), brain);
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

/* --- a warp ----------------------------------------------------------------------------------------------------- */

#define GOMPY_STEP(T, S)                                                                                               \
  switch (operation)                                                                                                   \
    {                                                                                                                  \
    case GOMPY_ATOM_ADD: return (T) (old + b);                                                                         \
    case GOMPY_ATOM_AND: return (T) (old & b);                                                                         \
    case GOMPY_ATOM_OR: return (T) (old | b);                                                                          \
    case GOMPY_ATOM_XOR: return (T) (old ^ b);                                                                         \
    case GOMPY_ATOM_EXCH: return (T) b;                                                                                \
    case GOMPY_ATOM_INC: return (T) old >= (T) b ? 0 : (T) (old + 1);                                                  \
    case GOMPY_ATOM_DEC: return (T) old == 0 || (T) old > (T) b ? (T) b : (T) (old - 1);                               \
    case GOMPY_ATOM_MIN: return is_signed ? (T) ((S) old < (S) b ? old : b) : (T) old < (T) b ? (T) old : (T) b;       \
    case GOMPY_ATOM_MAX: return is_signed ? (T) ((S) old > (S) b ? old : b) : (T) old > (T) b ? (T) old : (T) b;       \
    default: return (T) old == (T) b ? (T) c : (T) old;                                                                \
    }

/* What one lane makes of a word of 4 or 8 bytes.  */
static inline __attribute__ ((always_inline)) uint64_t
gompy_atom_step (int operation, int type, uint64_t old, uint64_t b, uint64_t c)
{
  int is_signed = type == GOMPY_ATOM_TYPE_S32 || type == GOMPY_ATOM_TYPE_S64;
  if (type == GOMPY_ATOM_TYPE_F32)
    return gompy_u32 (gompy_f32 ((uint32_t) old) + gompy_f32 ((uint32_t) b));
  if (type == GOMPY_ATOM_TYPE_F64)
    return gompy_u64 (gompy_f64 (old) + gompy_f64 (b));
  if (type <= GOMPY_ATOM_TYPE_F32)
    GOMPY_STEP (uint32_t, int32_t)
  GOMPY_STEP (uint64_t, int64_t)
}

#define GOMPY_EACH(MASK, I)                                                                                            \
  for (uint32_t rest_ = (MASK), I; rest_ && (I = __builtin_ctz (rest_), 1); rest_ &= rest_ - 1)

/* All lanes of MASK on one word, in lane order, seen by others as one operation.  */
#define GOMPY_TOGETHER(T)                                                                                              \
  {                                                                                                                    \
    T old = __atomic_load_n ((T *) place, __ATOMIC_RELAXED), new;                                                      \
    do                                                                                                                 \
      {                                                                                                                \
        new = old;                                                                                                     \
        GOMPY_EACH (mask, i)                                                                                           \
          {                                                                                                            \
            out[i] = new;                                                                                              \
            new = (T) gompy_atom_step (operation, type, new, b[i], c[i]);                                              \
          }                                                                                                            \
      }                                                                                                                \
    while (!__atomic_compare_exchange_n ((T *) place, &old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));              \
  }

static void
gompy_atom_together (int operation, int type, uint32_t mask, char *place, const uint64_t *b, const uint64_t *c,
                     uint64_t *out)
{
  if (type < 4)
    GOMPY_TOGETHER (uint32_t)
  else
    GOMPY_TOGETHER (uint64_t)
}

/* One lane on its word of memory that no other thread of the host uses: what was there.  */
static inline __attribute__ ((always_inline)) uint64_t
gompy_atom_single (int operation, int type, uint64_t place, uint64_t b, uint64_t c)
{
  uint64_t old;
  if (type < 4)
    {
      old = *(uint32_t *) (uintptr_t) place;
      *(uint32_t *) (uintptr_t) place = (uint32_t) gompy_atom_step (operation, type, old, b, c);
    }
  else
    {
      old = *(uint64_t *) (uintptr_t) place;
      *(uint64_t *) (uintptr_t) place = gompy_atom_step (operation, type, old, b, c);
    }
  return old;
}

/* All lanes of MASK, each on such a word, BASE further on than its number in A.  */
static inline __attribute__ ((always_inline)) void
gompy_atom_alone (int operation, int type, uint32_t mask, uint64_t base, const uint64_t *a, const uint64_t *b,
                  const uint64_t *c, uint64_t *out)
{
  if (mask == UINT32_MAX)
    for (int i = 0; i < GOMPY_LANES; i++)
      out[i] = gompy_atom_single (operation, type, base + a[i], b[i], c[i]);
  else
    GOMPY_EACH (mask, i)
      out[i] = gompy_atom_single (operation, type, base + a[i], b[i], c[i]);
}

/* What the addresses of a warp's lanes are.  */
struct gompy_addresses
{
  uint64_t differ;                      /* bits that are not the same in all */
  uint64_t odd;                         /* bits that are set in any */
  uint64_t outside;                     /* bit 63: some are not among the LIMIT + 1 bytes from LOW on */
  uint64_t sum;                         /* of the numbers that are added, as integers */
};

/* Eight lanes' numbers; the compiler makes vectors of the processor's of it.  */
typedef uint64_t gompy_eight __attribute__ ((vector_size (64), aligned (8)));

/* For lanes that are off the address FIRST counts, and no number of B (NULL: no sum is wanted).  */
#define GOMPY_LOOK_AT(NAME, ...)                                                                                       \
  static __attribute__ ((noinline __VA_ARGS__)) void                                                                   \
  NAME (struct gompy_addresses *seen, const uint64_t *a, const uint64_t *b, uint32_t mask, uint64_t first,             \
        uint64_t low, uint64_t limit)                                                                                  \
  {                                                                                                                    \
    const gompy_eight lane = { 0, 1, 2, 3, 4, 5, 6, 7 };                                                               \
    gompy_eight differ = { 0 }, odd = { 0 }, outside = { 0 }, sum = { 0 };                                             \
    for (int i = 0; i < GOMPY_LANES; i += 8)                                                                           \
      {                                                                                                                \
        gompy_eight on = -((mask >> i & 255) >> lane & 1), x = *(const gompy_eight *) (a + i);                         \
        x = (x & on) | (first & ~on);                                                                                  \
        differ |= x ^ first;                                                                                           \
        odd |= x;                                                                                                      \
        x -= low;                                                                                                      \
        outside |= x | (limit - x);                                                                                    \
        if (b)                                                                                                         \
          sum += *(const gompy_eight *) (b + i) & on;                                                                  \
      }                                                                                                                \
    *seen = (struct gompy_addresses) { 0, 0, 0, 0 };                                                                   \
    for (int i = 0; i < 8; i++)                                                                                        \
      {                                                                                                                \
        seen->differ |= differ[i];                                                                                     \
        seen->odd |= odd[i];                                                                                           \
        seen->outside |= outside[i];                                                                                   \
        seen->sum += sum[i];                                                                                           \
      }                                                                                                                \
  }

GOMPY_LOOK_AT (gompy_look_at_usual, )
GOMPY_LOOK_AT (gompy_look_at_avx2, , target ("avx2"))
GOMPY_LOOK_AT (gompy_look_at_avx512, , target ("avx512f"))

static inline struct gompy_addresses
gompy_look_at (const uint64_t *a, const uint64_t *b, uint32_t mask, uint64_t first, uint64_t low, uint64_t limit)
{
  struct gompy_addresses seen;
  if (__builtin_cpu_supports ("avx512f"))
    gompy_look_at_avx512 (&seen, a, b, mask, first, low, limit);
  else if (__builtin_cpu_supports ("avx2"))
    gompy_look_at_avx2 (&seen, a, b, mask, first, low, limit);
  else
    gompy_look_at_usual (&seen, a, b, mask, first, low, limit);
  return seen;
}

/* Additions to shared memory whose results are not used; 0 if they are something else, or an address is not right.  */
static int
gompy_atom_shared_add (const struct gompy_warp *w, uint32_t mask, int code, const uint64_t *a, const uint64_t *b)
{
  if (code >> 1 != (GOMPY_ATOM_ADD * 8 + GOMPY_ATOM_TYPE_U32) >> 1 || mask != UINT32_MAX || w->shared_size < 4)
    return 0;
  struct gompy_addresses seen = gompy_look_at (a, NULL, mask, a[0], GOMPY_SHARED_BASE, w->shared_size - 4);
  if (seen.odd & 3 || seen.outside >> 63)
    return 0;
  char *base = w->shared - GOMPY_SHARED_BASE;
  for (int i = 0; i < GOMPY_LANES; i++)
    *(uint32_t *) (base + a[i]) += (uint32_t) b[i];
  return 1;
}

/* Try a warp's operation at once; 0 if it must be done lane by lane: 16 bits wide, or an address that is not right.  */
static int
gompy_atom_warp (const struct gompy_warp *w, uint32_t mask, int code, const uint64_t *a, const uint64_t *b,
                 const uint64_t *c, uint64_t *out)
{
  if (code & 0x300 || !mask)
    return 0;
  int operation = code >> 3, type = code & 7;
  uint64_t size = type < 4 ? 4 : 8, first = a[__builtin_ctz (mask)];
  int shared = first - GOMPY_SHARED_BASE < w->shared_size;
  uint64_t low = shared ? GOMPY_SHARED_BASE : w->base, room = shared ? w->shared_size : w->size;
  if (room < size)
    return 0;
  struct gompy_addresses seen = gompy_look_at (a, NULL, mask, first, low, room - size);
  if (seen.odd & (size - 1) || seen.outside >> 63)
    return 0;
  uint64_t base = (uint64_t) (uintptr_t) w->shared - low;
  if (shared)
    {
      if (operation == GOMPY_ATOM_ADD && type < GOMPY_ATOM_TYPE_F32)
        gompy_atom_alone (GOMPY_ATOM_ADD, GOMPY_ATOM_TYPE_U32, mask, base, a, b, c, out);
      else if (operation == GOMPY_ATOM_ADD && type == GOMPY_ATOM_TYPE_F32)
        gompy_atom_alone (GOMPY_ATOM_ADD, GOMPY_ATOM_TYPE_F32, mask, base, a, b, c, out);
      else
        gompy_atom_alone (operation, type, mask, base, a, b, c, out);
    }
  else if (!seen.differ)
    gompy_atom_together (operation, type, mask, (char *) (uintptr_t) first, b, c, out);
  else if (operation == GOMPY_ATOM_ADD && type < GOMPY_ATOM_TYPE_F32)
    GOMPY_EACH (mask, i)
      out[i] = __atomic_fetch_add ((uint32_t *) (uintptr_t) a[i], (uint32_t) b[i], __ATOMIC_SEQ_CST);
  else
    GOMPY_EACH (mask, i)
      out[i] = gompy_atom (code, (char *) (uintptr_t) a[i], b[i], c[i]);
  return 1;
}

#endif
