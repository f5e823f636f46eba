/* Reading textures (PTX ISA 9.7.10; CUDA C++ Programming Guide, "Texture Fetching").  Included by warp.h.

   A texture is a record in device memory (executor.h, struct ptx_texture): the object's handle is its address, and a
   reference (.texref) is the record itself.  */
#ifndef GOMPY_PTX_TEXTURE_H
#define GOMPY_PTX_TEXTURE_H

_Static_assert (sizeof (struct ptx_texture) == GOMPY_TEXTURE_BYTES, "struct ptx_texture");

/* Bytes of a component; 0: it is none.  */
static inline unsigned
gompy_texture_component (uint32_t format)
{
  switch (format)
    {
    case PTX_TEXTURE_U8: case PTX_TEXTURE_S8: return 1;
    case PTX_TEXTURE_U16: case PTX_TEXTURE_S16: case PTX_TEXTURE_HALF: return 2;
    case PTX_TEXTURE_U32: case PTX_TEXTURE_S32: case PTX_TEXTURE_FLOAT: return 4;
    default: return 0;
    }
}

/* Whether the components that a fetch gives are floats.  */
static int
gompy_texture_floats (const struct ptx_texture *t)
{
  if (t->format == PTX_TEXTURE_FLOAT || t->format == PTX_TEXTURE_HALF)
    return 1;
  return !(t->flags & PTX_TEXTURE_INTEGERS) && gompy_texture_component (t->format) < 4;
}

/* A component: an integer, or the bits of a float.  */
static uint32_t
gompy_texture_value (const struct ptx_texture *t, const char *place)
{
  int floats = gompy_texture_floats (t);
  uint16_t two;
  uint32_t four;
  float small;
  switch (t->format)
    {
    case PTX_TEXTURE_U8: return floats ? gompy_u32 (*(const uint8_t *) place / 255.0f) : *(const uint8_t *) place;
    case PTX_TEXTURE_S8:
      small = *(const int8_t *) place / 127.0f;
      return floats ? gompy_u32 (small < -1 ? -1 : small) : (uint32_t) *(const int8_t *) place;
    case PTX_TEXTURE_U16: case PTX_TEXTURE_S16: case PTX_TEXTURE_HALF:
      memcpy (&two, place, 2);
      if (t->format == PTX_TEXTURE_HALF)
        return gompy_u32 ((float) gompy_half (two, 0));
      if (t->format == PTX_TEXTURE_U16)
        return floats ? gompy_u32 (two / 65535.0f) : two;
      small = (int16_t) two / 32767.0f;
      return floats ? gompy_u32 (small < -1 ? -1 : small) : (uint32_t) (int16_t) two;
    default:
      memcpy (&four, place, 4);
      return four;
    }
}

/* Where an index is that may lie outside of N elements: -1: nowhere, the border's colour is there.  */
static int64_t
gompy_texture_index (uint32_t mode, int64_t at, int64_t n)
{
  if (at >= 0 && at < n)
    return at;
  switch (mode)
    {
    case PTX_TEXTURE_WRAP: return (at % n + n) % n;
    case PTX_TEXTURE_MIRROR:
      at = (at % (2 * n) + 2 * n) % (2 * n);
      return at < n ? at : 2 * n - 1 - at;
    case PTX_TEXTURE_BORDER: return -1;
    default: return at < 0 ? 0 : n - 1;
    }
}

/* The four components of an element; AT is where it is, outside if any is -1.  */
static void
gompy_texture_element (const struct ptx_texture *t, const int64_t *at, uint32_t *out)
{
  unsigned size = gompy_texture_component (t->format);
  int floats = gompy_texture_floats (t);
  if (at[0] < 0 || at[1] < 0 || at[2] < 0)
    {
      for (int i = 0; i < 4; i++)
        out[i] = floats ? gompy_u32 (t->border[i]) : (uint32_t) t->border[i];
      return;
    }
  const char *place = (const char *) (uintptr_t) (t->address + (uint64_t) at[2] * t->slice + (uint64_t) at[1] * t->pitch
                                                  + (uint64_t) at[0] * size * t->channels);
  for (unsigned i = 0; i < 4; i++)
    out[i] = i < t->channels ? gompy_texture_value (t, place + i * size)
             : i < 3 ? 0 : floats ? gompy_u32 (1) : 1;
}

/* The weighted sum of the elements around a point: 2, 4 or 8 of them.  Weights have 8 bits behind the point.  */
static void
gompy_texture_mix (const struct ptx_texture *t, int dimensions, const int64_t *low, const float *weight,
                   const uint32_t *modes, const int64_t *sizes, uint32_t *out)
{
  float sum[4] = { 0, 0, 0, 0 };
  for (int corner = 0; corner < 1 << dimensions; corner++)
    {
      int64_t at[3] = { 0, 0, 0 };
      uint32_t element[4];
      float part = 1;
      for (int d = 0; d < dimensions; d++)
        {
          int upper = corner >> d & 1;
          at[d] = gompy_texture_index (modes[d], low[d] + upper, sizes[d]);
          part *= upper ? weight[d] : 1 - weight[d];
        }
      if (part == 0)
        continue;
      gompy_texture_element (t, at, element);
      for (int i = 0; i < 4; i++)
        sum[i] += part * gompy_f32 (element[i]);
    }
  for (int i = 0; i < 4; i++)
    out[i] = gompy_u32 (sum[i]);
}

/* What is beyond an axis's edges.  */
static uint32_t
gompy_texture_mode (const struct ptx_texture *t, int axis, int normal)
{
  uint32_t mode = t->modes[axis];
  if (t->flags & PTX_TEXTURE_LINEAR_MEMORY)
    return PTX_TEXTURE_BORDER;
  return !normal && (mode == PTX_TEXTURE_WRAP || mode == PTX_TEXTURE_MIRROR) ? PTX_TEXTURE_CLAMP : mode;
}

/* A float coordinate in elements of an axis that has SIZE; MIXED: from the middle of the first one on.  */
static float
gompy_texture_along (uint32_t coordinate, int64_t size, int normal, int mixed)
{
  float x = gompy_f32 (coordinate);
  x = normal ? x * (float) size : x;
  x = mixed ? x - 0.5f : x;
  return x > -1e9f ? (x < 1e9f ? x : 1e9f) : -1e9f;     /* also what is no number */
}

/* tld4: a component of the four elements that linear filtering takes, against the clock from the lower left on.  */
static void
gompy_texture_gather (const struct ptx_texture *t, unsigned component, const uint32_t *coordinates, uint32_t *out)
{
  static const int right[4] = { 0, 1, 1, 0 }, down[4] = { 1, 1, 0, 0 };
  const int64_t sizes[2] = { t->width, t->height ? t->height : 1 };
  int normal = (t->flags & PTX_TEXTURE_NORMALIZED) != 0;
  int64_t low[2];
  for (int d = 0; d < 2; d++)
    low[d] = (int64_t) floorf (gompy_texture_along (coordinates[d], sizes[d], normal, 1));
  for (int i = 0; i < 4; i++)
    {
      uint32_t element[4];
      const int64_t at[3] = { gompy_texture_index (gompy_texture_mode (t, 0, normal), low[0] + right[i], sizes[0]),
                              gompy_texture_index (gompy_texture_mode (t, 1, normal), low[1] + down[i], sizes[1]), 0 };
      gompy_texture_element (t, at, element);
      out[i] = element[component];
    }
}

/* tex: coordinates are integers, or floats.  */
static void
gompy_texture (const struct ptx_texture *t, int dimensions, int floats, const uint32_t *coordinates, uint32_t *out)
{
  const int64_t sizes[3] = { t->width, t->height ? t->height : 1, t->depth ? t->depth : 1 };
  int64_t at[3] = { 0, 0, 0 };
  float weight[3] = { 0, 0, 0 };
  uint32_t modes[3];
  int mixed = floats && t->filter && gompy_texture_floats (t) && !(t->flags & PTX_TEXTURE_LINEAR_MEMORY);
  int normal = floats && t->flags & PTX_TEXTURE_NORMALIZED;
  for (int d = 0; d < dimensions; d++)
    {
      modes[d] = gompy_texture_mode (t, d, normal);
      if (!floats)
        at[d] = (int32_t) coordinates[d];
      else
        {
          float x = gompy_texture_along (coordinates[d], sizes[d], normal, mixed);
          at[d] = (int64_t) floorf (x);
          weight[d] = rintf ((x - floorf (x)) * 256) / 256;
        }
      if (!mixed)
        at[d] = gompy_texture_index (modes[d], at[d], sizes[d]);
    }
  if (mixed)
    gompy_texture_mix (t, dimensions, at, weight, modes, sizes, out);
  else
    gompy_texture_element (t, at, out);
}

/* The level of a mipmapped array that a fetch is of, with a part behind the point: ROWS is the number that is given
   (DIMENSIONS 0), or how far coordinates go to the right and down, three rows each.  */
static float
gompy_texture_lod (const struct ptx_texture *t, int dimensions, const uint32_t *rows)
{
  const float sizes[3] = { (float) t->width, (float) t->height, (float) t->depth };
  const float last = (float) (t->levels ? (t->levels < PTX_TEXTURE_LEVELS ? t->levels : PTX_TEXTURE_LEVELS) - 1 : 0);
  float found = gompy_f32 (rows[0]), squares[2] = { 0, 0 };
  for (int d = 0; d < 2 * dimensions; d++)
    {
      int of = d % dimensions, way = d / dimensions;
      float step = gompy_f32 (rows[(3 * way + of) * GOMPY_LANES]);
      step *= t->flags & PTX_TEXTURE_NORMALIZED ? sizes[of] : 1;
      squares[way] += step * step;
    }
  if (dimensions)
    found = log2f (fmaxf (squares[0], squares[1])) / 2;
  found = fminf (fmaxf (found + t->bias, t->least), t->most);
  return found > 0 ? (found < last ? found : last) : 0;
}

/* A level's record.  */
static void
gompy_texture_level (const struct ptx_texture *t, unsigned level, struct ptx_texture *out)
{
  *out = *t;
  while (level--)
    ptx_texture_halve (out, gompy_texture_component (t->format) * t->channels);
}

/* The components of two elements, PART of the second.  */
static void
gompy_texture_between (const struct ptx_texture *t, float part, const uint32_t *other, uint32_t *found)
{
  for (int i = 0; gompy_texture_floats (t) && i < 4; i++)
    found[i] = gompy_u32 ((1 - part) * gompy_f32 (found[i]) + part * gompy_f32 (other[i]));
}

/* Which face of a cube a direction leads to, and where on it: coordinates of [0, 1) (CUDA C++ Programming Guide,
   "Cubemap Textures").  */
static int
gompy_texture_face (const uint32_t *direction, size_t step, uint32_t *place)
{
  const float x = gompy_f32 (direction[0]), y = gompy_f32 (direction[step]), z = gompy_f32 (direction[2 * step]);
  const float wide = fabsf (x), high = fabsf (y), deep = fabsf (z);
  float size, s, t;
  int face;
  if (wide >= high && wide >= deep)
    face = x < 0, size = wide, s = x < 0 ? z : -z, t = -y;
  else if (high >= deep)
    face = 2 + (y < 0), size = high, s = x, t = y < 0 ? -z : z;
  else
    face = 4 + (z < 0), size = deep, s = z < 0 ? -x : x, t = -y;
  place[0] = gompy_u32 ((s / size + 1) / 2);
  place[1] = gompy_u32 ((t / size + 1) / 2);
  return face;
}

/* --- txq, suq --- */

/* The format by OpenCL's number, which the PTX ISA has taken ("Channel Data Type and Channel Order Fields").  */
static uint32_t
gompy_texture_data_type (const struct ptx_texture *t)
{
  int raw = t->flags & (PTX_TEXTURE_INTEGERS | PTX_TEXTURE_SURFACE);
  switch (t->format)
    {
    case PTX_TEXTURE_S8: return raw ? 0x10d7 : 0x10d0;
    case PTX_TEXTURE_S16: return raw ? 0x10d8 : 0x10d1;
    case PTX_TEXTURE_S32: return 0x10d9;
    case PTX_TEXTURE_U8: return raw ? 0x10da : 0x10d2;
    case PTX_TEXTURE_U16: return raw ? 0x10db : 0x10d3;
    case PTX_TEXTURE_U32: return 0x10dc;
    case PTX_TEXTURE_HALF: return 0x10dd;
    default: return 0x10de;
    }
}

/* wrap, mirror, clamp_ogl, clamp_to_edge, clamp_to_border.  */
static uint32_t
gompy_texture_address_mode (const struct ptx_texture *t, unsigned axis)
{
  switch (t->modes[axis])
    {
    case PTX_TEXTURE_WRAP: return 0;
    case PTX_TEXTURE_MIRROR: return 1;
    case PTX_TEXTURE_BORDER: return 4;
    default: return 3;
    }
}

/* gompy/abi/ptx.py, QUERIES.  */
static uint32_t
gompy_texture_query (const struct ptx_texture *t, unsigned what)
{
  switch (what)
    {
    case GOMPY_QUERY_WIDTH: return t->width;
    case GOMPY_QUERY_HEIGHT: return t->height;
    case GOMPY_QUERY_DEPTH: return t->flags & PTX_TEXTURE_LAYERS ? 0 : t->depth;
    case GOMPY_QUERY_CHANNEL_DATA_TYPE: return gompy_texture_data_type (t);
    case GOMPY_QUERY_CHANNEL_ORDER: return t->channels == 1 ? 0x10b0 : t->channels == 2 ? 0x10b2 : 0x10b5;
    case GOMPY_QUERY_NORMALIZED_COORDS: return (t->flags & PTX_TEXTURE_NORMALIZED) != 0;
    case GOMPY_QUERY_ARRAY_SIZE: return t->flags & PTX_TEXTURE_LAYERS ? t->depth : 0;
    case GOMPY_QUERY_NUM_MIPMAP_LEVELS: return t->levels;
    case GOMPY_QUERY_FILTER_MODE: return t->filter;
    case GOMPY_QUERY_ADDR_MODE_0: return gompy_texture_address_mode (t, 0);
    case GOMPY_QUERY_ADDR_MODE_1: return gompy_texture_address_mode (t, 1);
    case GOMPY_QUERY_ADDR_MODE_2: return gompy_texture_address_mode (t, 2);
    default: return 0;                  /* num_samples, force_unnormalized_coords, memory_layout */
    }
}

/* --- sured --- */

/* Whether sured.p's elements are integers that have one.  */
static inline int
gompy_surface_has_sign (uint32_t format)
{
  return format == PTX_TEXTURE_S8 || format == PTX_TEXTURE_S16 || format == PTX_TEXTURE_S32;
}

/* sust.p: a component of a format, from the bits of a float, or an integer, of which the lower bits are taken.  */
static void
gompy_surface_put (char *place, uint32_t format, uint32_t value)
{
  uint16_t half;
  if (format != PTX_TEXTURE_HALF)
    memcpy (place, &value, gompy_texture_component (format));
  else
    {
      half = gompy_half_of (gompy_f32 (value), 0);
      memcpy (place, &half, 2);
    }
}

static uint64_t
gompy_surface_reduced (unsigned operation, unsigned size, int has_sign, uint64_t old, uint64_t value)
{
  int64_t x = size == 4 ? (int32_t) old : (int64_t) old, y = size == 4 ? (int32_t) value : (int64_t) value;
  int less = has_sign ? x < y : size == 4 ? (uint32_t) old < (uint32_t) value : old < value;
  switch (operation)
    {
    case GOMPY_SURFACE_REDUCTIONS_ADD: return old + value;
    case GOMPY_SURFACE_REDUCTIONS_MIN: return less ? old : value;
    case GOMPY_SURFACE_REDUCTIONS_MAX: return less ? value : old;
    case GOMPY_SURFACE_REDUCTIONS_AND: return old & value;
    default: return old | value;
    }
}

/* 4 or 8 bytes, which other blocks may change meanwhile.  */
static void
gompy_surface_reduce (char *place, unsigned size, unsigned operation, int has_sign, uint64_t value)
{
  uint32_t *four = (uint32_t *) place, small;
  uint64_t *eight = (uint64_t *) place, old;
  if (size == 4)
    {
      small = __atomic_load_n (four, __ATOMIC_RELAXED);
      do
        old = gompy_surface_reduced (operation, 4, has_sign, small, value);
      while (!__atomic_compare_exchange_n (four, &small, (uint32_t) old, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
      return;
    }
  old = __atomic_load_n (eight, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n (eight, &old, gompy_surface_reduced (operation, 8, has_sign, old, value), 1,
                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
}

#endif
