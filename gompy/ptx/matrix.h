/* Matrices that a warp has pieces of (mma, PTX ISA 9.7.14), and barriers in shared memory (mbarrier, 9.7.13.15).
   Included by warp.h.

   Where the ISA leaves the order of sums and their roundings open: products of 16 bits and fewer, and of .tf32, are
   exact, sums are of doubles in the order of k, and are rounded once.  .f64: fma in the order of k.  */
#ifndef GOMPY_PTX_MATRIX_H
#define GOMPY_PTX_MATRIX_H

enum { GOMPY_MATRIX_ROWS = 16, GOMPY_MATRIX_COLUMNS = 8, GOMPY_MATRIX_DEEPEST = 256 };

/* Bits of an element.  */
static int
gompy_matrix_bits (int type)
{
  switch (type)
    {
    case GOMPY_MATRIX_F64: return 64;
    case GOMPY_MATRIX_F16: case GOMPY_MATRIX_BF16: return 16;
    case GOMPY_MATRIX_S8: case GOMPY_MATRIX_U8: case GOMPY_MATRIX_E4M3: case GOMPY_MATRIX_E5M2: return 8;
    case GOMPY_MATRIX_S4: case GOMPY_MATRIX_U4: return 4;
    case GOMPY_MATRIX_B1: return 1;
    default: return 32;
    }
}

/* A double as .f16, rounded to nearest even.  */
static uint16_t
gompy_to_half (double value)
{
  uint16_t sign = signbit (value) ? 0x8000 : 0;
  double size = fabs (value);
  int exponent;
  if (isnan (value))
    return 0x7fff;
  if (size == 0)
    return sign;                /* it has no exponent */
  if (size >= 65520)
    return sign | 0x7c00;
  frexp (size, &exponent);
  if (exponent < -13)
    exponent = -13;
  int steps = (int) nearbyint (ldexp (size, 11 - exponent));
  return (uint16_t) (sign | (((exponent + 14) << 10) + steps - 1024));
}

/* An element of a float type.  */
static double
gompy_matrix_float (int type, uint64_t bits)
{
  switch (type)
    {
    case GOMPY_MATRIX_F64: return gompy_f64 (bits);
    case GOMPY_MATRIX_TF32: return gompy_f32 ((uint32_t) bits & 0xffffe000);
    case GOMPY_MATRIX_F32: return gompy_f32 ((uint32_t) bits);
    case GOMPY_MATRIX_BF16: return gompy_f32 ((uint32_t) bits << 16);
    case GOMPY_MATRIX_E5M2: return gompy_half ((uint16_t) (bits << 8), 0);
    case GOMPY_MATRIX_E4M3:
      {
        int size = bits & 127, exponent = size >> 3;
        double value = size == 127 ? NAN : exponent ? ldexp (8 + (size & 7), exponent - 10) : ldexp (size, -9);
        return bits & 128 ? -value : value;
      }
    default: return gompy_half ((uint16_t) bits, 0);
    }
}

/* An element of an integer type.  */
static int32_t
gompy_matrix_integer (int type, uint64_t bits)
{
  switch (type)
    {
    case GOMPY_MATRIX_S8: return (int8_t) bits;
    case GOMPY_MATRIX_S4: return (int8_t) (bits << 4) >> 4;
    default: return (int32_t) bits;
    }
}

/* A row, column or sum, and which: register R of a lane, element E of it.  */
struct gompy_matrix_place { int row, k; };

static struct gompy_matrix_place
gompy_matrix_a (int lane, int r, int e, int per, int rows)
{
  int halves = rows / 8;                /* registers go through the halves of the rows first */
  struct gompy_matrix_place place = { lane / 4 + 8 * (r % halves), (r / halves * 4 + lane % 4) * per + e };
  return place;
}

/* Bit E of a register on, BITS of them.  */
static uint64_t
gompy_matrix_element (const void *block, int wide, int r, int lane, int e, int bits)
{
  if (wide)
    return ((const uint64_t *) block)[r * GOMPY_LANES + lane];
  uint32_t word = ((const uint32_t *) block)[r * GOMPY_LANES + lane] >> (e * bits & 31);
  return bits == 32 ? word : word & ((1u << bits) - 1);
}

/* Element (row, column) of the sums, which lie two a register pair: its register, lane and place in that.  */
struct gompy_matrix_sum { int lane, r, e; };

static struct gompy_matrix_sum
gompy_matrix_c (int row, int column, int per)
{
  struct gompy_matrix_sum found = { row % 8 * 4 + column / 2, row / 8 * 2 + column % 2, 0 };
  if (per == 2)
    {
      found.e = found.r & 1;
      found.r >>= 1;
    }
  return found;
}

static void
gompy_matrix_floats (int rows, int deep, uint32_t types, const void *a, const void *b, const void *c, void *out)
{
  int ta = types & 15, tb = types >> 4 & 15, tc = types >> 8 & 15, td = types >> 12 & 15;
  int wide = ta == GOMPY_MATRIX_F64, bits_a = gompy_matrix_bits (ta), per = wide ? 1 : 32 / bits_a;
  double left[GOMPY_MATRIX_ROWS][64], right[64][GOMPY_MATRIX_COLUMNS];
  double sums[GOMPY_MATRIX_ROWS][GOMPY_MATRIX_COLUMNS];
  for (int lane = 0; lane < GOMPY_LANES; lane++)
    for (int e = 0; e < per; e++)
      {
        for (int r = 0; r < rows * deep / 32 / per; r++)
          {
            struct gompy_matrix_place p = gompy_matrix_a (lane, r, e, per, rows);
            left[p.row][p.k] = gompy_matrix_float (ta, gompy_matrix_element (a, wide, r, lane, e, bits_a));
          }
        for (int r = 0; r < deep * 8 / 32 / per; r++)
          {
            struct gompy_matrix_place p = gompy_matrix_a (lane, r, e, per, 8);
            right[p.k][p.row] = gompy_matrix_float (tb, gompy_matrix_element (b, wide, r, lane, e, bits_a));
          }
      }
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < GOMPY_MATRIX_COLUMNS; j++)
      {
        struct gompy_matrix_sum p = gompy_matrix_c (i, j, tc == GOMPY_MATRIX_F16 ? 2 : 1);
        uint64_t element = gompy_matrix_element (c, wide, p.r, p.lane, p.e, gompy_matrix_bits (tc));
        sums[i][j] = gompy_matrix_float (tc, element);
      }
  if (wide)
    for (int i = 0; i < rows; i++)
      for (int k = 0; k < deep; k++)
        for (int j = 0; j < GOMPY_MATRIX_COLUMNS; j++)
          sums[i][j] = fma (left[i][k], right[k][j], sums[i][j]);
  else
    for (int i = 0; i < rows; i++)
      for (int k = 0; k < deep; k++)
        for (int j = 0; j < GOMPY_MATRIX_COLUMNS; j++)
          sums[i][j] += left[i][k] * right[k][j];
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < GOMPY_MATRIX_COLUMNS; j++)
      {
        struct gompy_matrix_sum p = gompy_matrix_c (i, j, td == GOMPY_MATRIX_F16 ? 2 : 1);
        int at = p.r * GOMPY_LANES + p.lane;
        if (wide)
          ((uint64_t *) out)[at] = gompy_u64 (sums[i][j]);
        else if (td == GOMPY_MATRIX_F16)
          ((uint16_t *) out)[2 * at + p.e] = gompy_to_half (sums[i][j]);
        else
          ((uint32_t *) out)[at] = isnan (sums[i][j]) ? 0x7fffffff : gompy_u32 ((float) sums[i][j]);
      }
}

static void
gompy_matrix_integers (int rows, int deep, uint32_t types, const void *a, const void *b, const void *c, void *out)
{
  int ta = types & 15, tb = types >> 4 & 15, way = types >> 16 & 3, bits = gompy_matrix_bits (ta), per = 32 / bits;
  int64_t sums[GOMPY_MATRIX_ROWS][GOMPY_MATRIX_COLUMNS];
  int32_t left[GOMPY_MATRIX_ROWS][GOMPY_MATRIX_DEEPEST], right[GOMPY_MATRIX_COLUMNS][GOMPY_MATRIX_DEEPEST];
  for (int lane = 0; lane < GOMPY_LANES; lane++)
    for (int e = 0; e < per; e++)
      {
        for (int r = 0; r < rows * deep / 32 / per; r++)
          {
            struct gompy_matrix_place p = gompy_matrix_a (lane, r, e, per, rows);
            left[p.row][p.k] = gompy_matrix_integer (ta, gompy_matrix_element (a, 0, r, lane, e, bits));
          }
        for (int r = 0; r < deep * 8 / 32 / per; r++)
          {
            struct gompy_matrix_place p = gompy_matrix_a (lane, r, e, per, 8);
            right[p.row][p.k] = gompy_matrix_integer (tb, gompy_matrix_element (b, 0, r, lane, e, bits));
          }
      }
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < GOMPY_MATRIX_COLUMNS; j++)
      {
        struct gompy_matrix_sum p = gompy_matrix_c (i, j, 1);
        int at = p.r * GOMPY_LANES + p.lane;
        sums[i][j] = ((const int32_t *) c)[at];
        for (int k = 0; k < deep; k++)
          sums[i][j] += way == GOMPY_MATRIX_WAY_XOR ? left[i][k] ^ right[j][k]
                        : way == GOMPY_MATRIX_WAY_AND ? left[i][k] & right[j][k] : left[i][k] * right[j][k];
        if (way == GOMPY_MATRIX_WAY_SATFINITE)
          sums[i][j] = sums[i][j] > INT32_MAX ? INT32_MAX : sums[i][j] < INT32_MIN ? INT32_MIN : sums[i][j];
        ((uint32_t *) out)[at] = (uint32_t) sums[i][j];
      }
}

/* mma.m8n8k4 of .f16: four products, each of eight lanes, four of them in either half of the warp (PTX ISA
   9.7.14.5.1).  */
static void
gompy_matrix_quads (uint32_t types, const void *a, const void *b, const void *c, void *out)
{
  int tc = types >> 8 & 15, td = types >> 12 & 15, columns = types >> 18 & 1, lines = types >> 19 & 1;
  for (int pair = 0; pair < 4; pair++)
    {
      double left[8][4], right[4][8], sums[8][8];
      for (int of = 0; of < 8; of++)    /* the lanes of a pair, and the row (column) that is theirs */
        {
          int lane = pair * 4 + of % 4 + of / 4 * 16, own = of % 4, half = of & 4;
          for (int i = 0; i < 4; i++)
            {
              double x = gompy_matrix_float (GOMPY_MATRIX_F16, gompy_matrix_element (a, 0, i / 2, lane, i % 2, 16));
              double y = gompy_matrix_float (GOMPY_MATRIX_F16, gompy_matrix_element (b, 0, i / 2, lane, i % 2, 16));
              *(columns ? &left[half + i][own] : &left[of][i]) = x;
              *(lines ? &right[own][half + i] : &right[i][of]) = y;
            }
        }
      for (int step = 0; step < 2; step++)      /* read the sums, write the results */
        {
          for (int of = 0; of < 8; of++)
            for (int i = 0; i < 8; i++)
              {
                int lane = pair * 4 + of % 4 + of / 4 * 16, type = step ? td : tc, small = type == GOMPY_MATRIX_F16;
                int row = small ? of : (of & 4) + (of & 1) + (i & 2), column = small ? i : (i & 4) + (of & 2) + (i & 1);
                double *sum = &sums[row][column];
                if (!step)
                  *sum = gompy_matrix_float (type, gompy_matrix_element (c, 0, small ? i / 2 : i, lane, i % 2,
                                                                         gompy_matrix_bits (type)));
                else if (small)
                  ((uint16_t *) out)[2 * (i / 2 * GOMPY_LANES + lane) + i % 2] = gompy_to_half (*sum);
                else
                  ((uint32_t *) out)[i * GOMPY_LANES + lane] = isnan (*sum) ? 0x7fffffff : gompy_u32 ((float) *sum);
              }
          for (int i = 0; !step && i < 8; i++)
            for (int k = 0; k < 4; k++)
              for (int j = 0; j < 8; j++)
                sums[i][j] += left[i][k] * right[k][j];
        }
    }
}

/* mma: gompy/abi/ptx.py, MATRIX_TYPES.  Each block: a row of 32 lanes for each register.  */
static void
gompy_matrix (uint32_t shape, uint32_t types, const void *a, const void *b, const void *c, void *out)
{
  int rows = shape & 255, deep = shape >> 8;
  if ((types >> 12 & 15) == GOMPY_MATRIX_S32)
    gompy_matrix_integers (rows, deep, types, a, b, c, out);
  else if (deep == 4 && (types & 15) == GOMPY_MATRIX_F16)
    gompy_matrix_quads (types, a, b, c, out);
  else
    gompy_matrix_floats (rows, deep, types, a, b, c, out);
}

/* Where the element of a dense a is, K of its ROW, of PER in a register (gompy_matrix_a).  */
static struct gompy_matrix_sum
gompy_matrix_in_a (int row, int k, int per)
{
  struct gompy_matrix_sum found = { row % 8 * 4 + k / per % 4, k / per / 4 * 2 + row / 8, k % per };
  return found;
}

/* mma.sp: A, which has half of the columns of 16 x DEEP, with its zeros (PTX ISA, "Sparse matrix storage").  Four bits
   of metadata are of a chunk: of 4 columns, of 2 (.tf32), of 8 (4-bit integers, in pairs).  Where the elements have 16
   bits and more, the word of a lane has four chunks of a row and four of the row that is 8 further down; else eight of
   one row.  COLUMNS: of a chunk; FIRST: which lane of each four is the first that has them (gompy/ptx/sparse.py).  */
static void
gompy_matrix_spread (int type, int columns, int deep, int first, const uint32_t *a, const uint32_t *metadata,
                     uint32_t *out)
{
  int bits = gompy_matrix_bits (type), per = 32 / bits, large = bits >= 16;
  memset (out, 0, (size_t) (deep * GOMPY_MATRIX_ROWS / per) * sizeof *out);
  for (int row = 0; row < GOMPY_MATRIX_ROWS; row++)
    for (int packed = 0; packed < deep / 2; packed++)
      {
        int chunk = packed / (columns / 2), part = packed % (columns / 2), word = large ? chunk / 4 : chunk / 8;
        int lane = row % 8 * 4 + first + (large ? word : 2 * word + row / 8);
        int four = metadata[lane] >> 4 * (large ? chunk % 4 + row / 8 * 4 : chunk % 8) & 15;
        int k = columns == 2 ? four == 14       /* 4: the first */
                : columns == 8 ? (four >> part / 2 * 2 & 3) * 2 + part % 2 : four >> part * 2 & 3;
        struct gompy_matrix_sum from = gompy_matrix_in_a (row, packed, per);
        struct gompy_matrix_sum to = gompy_matrix_in_a (row, chunk * columns + k, per);
        uint64_t element = gompy_matrix_element (a, 0, from.r, from.lane, from.e, bits);
        out[to.r * GOMPY_LANES + to.lane] |= (uint32_t) element << (to.e * bits & 31);
      }
}

/* --- mbarrier (gompy/abi/ptx.py, MBARRIER_FIELDS) --- */

static uint64_t
gompy_mbarrier (int step, uint64_t state, uint64_t value, uint64_t *answer)
{
  uint64_t phase = state >> 63;
  int64_t expected = state & 0xfffff, pending = state >> 20 & 0xfffff, bytes = (int64_t) (state << 3) >> 43;
  int64_t count = (int64_t) (value & 0xfffff);
  *answer = 0;
  switch (step)
    {
    case GOMPY_MBARRIER_INIT:
      expected = pending = count;
      bytes = 0;
      phase = 0;
      break;
    case GOMPY_MBARRIER_INVAL: return 0;
    case GOMPY_MBARRIER_EXPECT_TX: bytes += count; break;
    case GOMPY_MBARRIER_COMPLETE_TX: bytes -= count; break;
    case GOMPY_MBARRIER_ARRIVE_DROP: expected -= count; /* fall through */
    case GOMPY_MBARRIER_ARRIVE: pending -= count; break;
    case GOMPY_MBARRIER_TEST: *answer = phase != value >> 63; return state;
    default: *answer = phase != (value & 1); return state;
    }
  if (step != GOMPY_MBARRIER_INIT && pending == 0 && bytes == 0)
    {
      phase ^= 1;
      pending = expected;
    }
  return phase << 63 | ((uint64_t) bytes & 0x1fffff) << 40 | ((uint64_t) pending & 0xfffff) << 20
         | ((uint64_t) expected & 0xfffff);
}

#endif
