/* The device's side of -foffload-check: which reads of a gather are in a few bytes.

   Where one kilobyte is to be noted cell by cell, nearly all indices of a gather are of others.  So most are only
   compared with the least and the greatest that may be of it, by vectors.  Included once, by device_gather.h.  */
#ifndef GOMPY_DEVICE_GATHER_AMONG_H
#define GOMPY_DEVICE_GATHER_AMONG_H

#define MIC_GLANCE 512u /* indices that are compared at once */
#define MIC_NEAR 16u    /* those behind one that was found are looked at by themselves */

/* Indices of 4 bytes, signed or not, from LOW on; `any`: all may be of it.  */
struct mic_among
{
  uint32_t low, width;
  int any;
};

/* Whether none of N indices is among them, which stand without gaps.  */
#define MIC_IS_NONE_AMONG(name, attribute)                                                                             \
  static __attribute__ ((noinline, optimize ("tree-vectorize", "vect-cost-model=dynamic"))) attribute int              \
  name (const uint32_t *index, size_t n, uint32_t low, uint32_t width)                                                 \
  {                                                                                                                    \
    uint32_t found = 0;                                                                                                \
    for (size_t i = 0; i < n; i++)                                                                                     \
      found |= index[i] - low <= width;                                                                                \
    return !found;                                                                                                     \
  }
MIC_IS_NONE_AMONG (mic_is_none_among, )
MIC_IS_NONE_AMONG (mic_is_none_among_avx2, __attribute__ ((target ("avx2"))))

static inline int64_t
mic_divide_down (int64_t value, int64_t by)
{
  return value / by - (value % by != 0 && (value < 0) != (by < 0));
}

/* Which indices a gather may have for [BEGIN, END) of the arena; others read nothing of it.  */
static struct mic_among
mic_which_among (const struct mic_gather *g, uint64_t begin, uint64_t end)
{
  struct mic_among all = { 0, 0, 1 };
  int64_t first = (int64_t) (begin - g->size + 1 - g->offset), last = (int64_t) (end - 1 - g->offset), low, high;
  int64_t least = g->is_unsigned ? 0 : INT32_MIN, most = g->is_unsigned ? (int64_t) UINT32_MAX : INT32_MAX;
  if (g->bytes != 4 || g->scale == 0 || g->scale > INT32_MAX || g->scale < -INT32_MAX)
    return all;
  low = -mic_divide_down (-(g->scale > 0 ? first : last), g->scale);
  high = mic_divide_down (g->scale > 0 ? last : first, g->scale);
  low = low > least ? low : least;
  high = high < most ? high : most;
  if (low > high || high - low > UINT32_MAX)
    return all;
  return (struct mic_among){ (uint32_t) low, (uint32_t) (high - low), 0 };
}

/* The first of a gather's N indices from I on that may be among them; N: there is none.  */
static size_t
mic_next_among (const struct mic_gather *g, size_t n, size_t i, const struct mic_among *among)
{
  const uint32_t *index = (const uint32_t *) (g + 1);
  size_t stop = n - i < MIC_NEAR ? n : i + MIC_NEAR;
  int wide = gompy_has_avx2 ();
  while (!among->any && i < n)
    {
      for (; i < stop; i++)
        if (index[i] - among->low <= among->width)
          return i;
      for (; i < n; i = stop)
        {
          stop = n - i < MIC_GLANCE ? n : i + MIC_GLANCE;
          if (!(wide ? mic_is_none_among_avx2 : mic_is_none_among) (index + i, stop - i, among->low, among->width))
            break;
        }
    }
  return i;
}

#endif
