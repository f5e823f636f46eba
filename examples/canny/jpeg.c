/* A reader of baseline JPEG photographs: markers, Huffman codes, dequantisation, inverse DCT, upsampling, colours.
   Names and figures are those of ITU-T T.81.  Progressive and arithmetic coded files are refused.  */

#include "jpeg.h"

#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct huffman			/* T.81 annex F.2.2.3, figure F.16 */
{
  int mincode[17], maxcode[17], valptr[17];
  uint8_t values[256];
};

struct component
{
  int id, h, v, tq, td, ta;	/* sampling factors, tables */
  int predictor;		/* of the DC coefficient */
  int stride, rows;
  uint8_t *samples;
};

struct reader
{
  const uint8_t *data, *end, *at;
  uint32_t bits;
  int nbits;
  uint16_t quantization[4][64];
  struct huffman dc[4], ac[4];
  struct component component[3];
  int ncomponents, width, height, hmax, vmax, restart_interval;
  float basis[8][8];
  const char *why;
  jmp_buf failed;
};

static const uint8_t zigzag[64] = {
  0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
  35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47,
  55, 62, 63
};

static _Noreturn void
fail (struct reader *r, const char *why)
{
  r->why = why;
  longjmp (r->failed, 1);
}

static int
byte (struct reader *r)
{
  if (r->at >= r->end)
    fail (r, "the file ends too early");
  return *r->at++;
}

static int
word (struct reader *r)
{
  int high = byte (r);
  return high << 8 | byte (r);
}

/* The next bit of the entropy coded data; 0xFF is followed by a stuffed 0 there (F.2.2.5).  */

static int
bit (struct reader *r)
{
  if (r->nbits == 0)
    {
      r->bits = byte (r);
      r->nbits = 8;
      if (r->bits == 0xff && byte (r) != 0)
	fail (r, "a marker stands within the picture's data");
    }
  r->nbits--;
  return r->bits >> r->nbits & 1;
}

/* RECEIVE and EXTEND of F.2.2.1.  */

static int
receive_extend (struct reader *r, int size)
{
  int value = 0;
  for (int i = 0; i < size; i++)
    value = value << 1 | bit (r);
  return size && value < 1 << (size - 1) ? value - (1 << size) + 1 : value;
}

static int
decode (struct reader *r, const struct huffman *table)
{
  int code = 0;
  for (int length = 1; length <= 16; length++)
    {
      code = code << 1 | bit (r);
      if (code <= table->maxcode[length])
	return table->values[(table->valptr[length] + code - table->mincode[length]) & 255];
    }
  fail (r, "a code of the picture's data is in no Huffman table");
}

static void
define_huffman_tables (struct reader *r, const uint8_t *end)
{
  while (r->at < end)
    {
      int tc_th = byte (r), counts[17], total = 0, code = 0;
      if ((tc_th >> 4) > 1 || (tc_th & 15) > 3)
	fail (r, "bad Huffman table number");
      struct huffman *table = tc_th >> 4 ? &r->ac[tc_th & 3] : &r->dc[tc_th & 3];
      for (int i = 1; i <= 16; i++)
	total += counts[i] = byte (r);
      if (total > 256)
	fail (r, "a Huffman table has more than 256 codes");
      for (int i = 0; i < total; i++)
	table->values[i] = byte (r);
      for (int i = 1, k = 0; i <= 16; i++, code <<= 1)
	{
	  table->valptr[i] = k;
	  table->mincode[i] = code;
	  code += counts[i];
	  k += counts[i];
	  table->maxcode[i] = counts[i] ? code - 1 : -1;
	}
    }
}

static void
define_quantization_tables (struct reader *r, const uint8_t *end)
{
  while (r->at < end)
    {
      int pq_tq = byte (r);
      if ((pq_tq & 15) > 3)
	fail (r, "bad quantization table number");
      for (int i = 0; i < 64; i++)
	r->quantization[pq_tq & 3][zigzag[i]] = pq_tq >> 4 ? word (r) : byte (r);
    }
}

static void
start_of_frame (struct reader *r)
{
  if (byte (r) != 8)
    fail (r, "samples are not of 8 bits");
  if (r->ncomponents)
    fail (r, "there are two frames");
  r->height = word (r);
  r->width = word (r);
  r->ncomponents = byte (r);
  if (r->width < 1 || r->height < 1 || r->width > 16384 || r->height > 16384)
    fail (r, "the picture is empty or larger than 16384 by 16384");
  if (r->ncomponents != 1 && r->ncomponents != 3)
    {
      r->ncomponents = 0;
      fail (r, "neither 1 nor 3 colour components");
    }
  for (int i = 0; i < r->ncomponents; i++)
    {
      struct component *c = &r->component[i];
      c->id = byte (r);
      int factors = byte (r);
      c->h = factors >> 4;
      c->v = factors & 15;
      c->tq = byte (r) & 3;
      if (c->h < 1 || c->h > 4 || c->v < 1 || c->v > 4)
	fail (r, "bad sampling factors");
      if (r->ncomponents == 1)
	c->h = c->v = 1;	/* A.2.2: a single component is not interleaved */
      r->hmax = c->h > r->hmax ? c->h : r->hmax;
      r->vmax = c->v > r->vmax ? c->v : r->vmax;
    }
  for (int i = 0; i < r->ncomponents; i++)
    {
      struct component *c = &r->component[i];
      c->stride = (r->width + 8 * r->hmax - 1) / (8 * r->hmax) * 8 * c->h;
      c->rows = (r->height + 8 * r->vmax - 1) / (8 * r->vmax) * 8 * c->v;
      c->samples = calloc (c->stride, c->rows);
      if (!c->samples)
	fail (r, "out of memory");
    }
}

static uint8_t
clamp (float value)
{
  return value < 0 ? 0 : value > 255 ? 255 : (uint8_t) (value + 0.5f);
}

/* One 8 by 8 block: coefficients (F.2.2), inverse DCT by rows and columns (A.3.3).  */

static void
decode_block (struct reader *r, struct component *c, uint8_t *out)
{
  float coefficient[64] = { 0 }, rows[64];
  const uint16_t *q = r->quantization[c->tq];
  c->predictor += receive_extend (r, decode (r, &r->dc[c->td]) & 15);
  coefficient[0] = c->predictor * q[0];
  for (int k = 1; k < 64; k++)
    {
      int rs = decode (r, &r->ac[c->ta]), size = rs & 15;
      if (size == 0 && rs != 0xf0)
	break;
      k += rs >> 4;
      if (k > 63)
	fail (r, "a block has more than 64 coefficients");
      if (size)
	coefficient[zigzag[k]] = receive_extend (r, size) * q[zigzag[k]];
    }
  for (int v = 0; v < 8; v++)
    for (int x = 0; x < 8; x++)
      {
	float sum = 0;
	for (int u = 0; u < 8; u++)
	  sum += r->basis[x][u] * coefficient[8 * v + u];
	rows[8 * v + x] = sum;
      }
  for (int y = 0; y < 8; y++)
    for (int x = 0; x < 8; x++)
      {
	float sum = 128;
	for (int v = 0; v < 8; v++)
	  sum += r->basis[y][v] * rows[8 * v + x];
	out[y * c->stride + x] = clamp (sum);
      }
}

static void
restart (struct reader *r, int number)
{
  r->nbits = 0;
  if (byte (r) != 0xff || byte (r) != 0xd0 + number % 8)
    fail (r, "a restart marker is missing");
  for (int i = 0; i < r->ncomponents; i++)
    r->component[i].predictor = 0;
}

static void
scan (struct reader *r)
{
  if (!r->ncomponents)
    fail (r, "a scan without a frame");
  if (byte (r) != r->ncomponents)
    fail (r, "the colours are in separate scans");
  for (int i = 0; i < r->ncomponents; i++)
    {
      struct component *c = &r->component[i];
      if (byte (r) != c->id)
	fail (r, "the scan's components are not those of the frame");
      int tables = byte (r);
      c->td = tables >> 4 & 3;
      c->ta = tables & 3;
    }
  r->at += 3;			/* Ss, Se, Ah and Al: fixed in a baseline file */
  int across = r->component[0].stride / (8 * r->component[0].h);
  int down = r->component[0].rows / (8 * r->component[0].v);
  for (int mcu = 0; mcu < across * down; mcu++)
    {
      if (r->restart_interval && mcu && mcu % r->restart_interval == 0)
	restart (r, mcu / r->restart_interval - 1);
      for (int i = 0; i < r->ncomponents; i++)
	{
	  struct component *c = &r->component[i];
	  for (int block = 0; block < c->h * c->v; block++)
	    {
	      int x = mcu % across * c->h + block % c->h, y = mcu / across * c->v + block / c->h;
	      decode_block (r, c, c->samples + 8 * (size_t) y * c->stride + 8 * x);
	    }
	}
    }
}

static void
markers (struct reader *r)
{
  if (word (r) != 0xffd8)
    fail (r, "not a JPEG file");
  for (;;)
    {
      if (byte (r) != 0xff)
	fail (r, "a marker is missing");
      int marker = byte (r);
      while (marker == 0xff)
	marker = byte (r);
      int length = word (r);
      if (length < 2 || length - 2 > r->end - r->at)
	fail (r, "the file ends too early");
      const uint8_t *next = r->at + length - 2;
      if (marker == 0xc4)
	define_huffman_tables (r, next);
      else if (marker == 0xdb)
	define_quantization_tables (r, next);
      else if (marker == 0xdd)
	r->restart_interval = word (r);
      else if (marker == 0xc0 || marker == 0xc1)
	start_of_frame (r);
      else if (marker > 0xc1 && marker <= 0xcf && marker != 0xc8 && marker != 0xcc)
	fail (r, "progressive, lossless or arithmetic coding; only baseline files are read");
      else if (marker == 0xda)
	{
	  scan (r);
	  return;
	}
      r->at = next;
    }
}

/* A sample of a component that may be coarser than the picture, the four nearest weighed as libjpeg does it.  */

static int
sample (const struct reader *r, const struct component *c, int x, int y)
{
  if (c->h == r->hmax && c->v == r->vmax)
    return c->samples[(size_t) y * c->stride + x];
  float sx = (x + 0.5f) * c->h / r->hmax - 0.5f, sy = (y + 0.5f) * c->v / r->vmax - 0.5f;
  int wide = (r->width * c->h + r->hmax - 1) / r->hmax, high = (r->height * c->v + r->vmax - 1) / r->vmax;
  int x0 = (int) floorf (sx), y0 = (int) floorf (sy);
  float fx = sx - x0, fy = sy - y0;
  int x1 = x0 + 1 < wide ? x0 + 1 : wide - 1, y1 = y0 + 1 < high ? y0 + 1 : high - 1;
  x0 = x0 < 0 ? 0 : x0;
  y0 = y0 < 0 ? 0 : y0;
  const uint8_t *top = c->samples + (size_t) y0 * c->stride, *low = c->samples + (size_t) y1 * c->stride;
  return (int) ((1 - fy) * ((1 - fx) * top[x0] + fx * top[x1]) + fy * ((1 - fx) * low[x0] + fx * low[x1]) + 0.5f);
}

static unsigned char *
colours (struct reader *r)		/* YCbCr of JFIF to RGB */
{
  unsigned char *rgb = malloc ((size_t) 3 * r->width * r->height), *out = rgb;
  if (!rgb)
    fail (r, "out of memory");
  for (int y = 0; y < r->height; y++)
    for (int x = 0; x < r->width; x++, out += 3)
      {
	float luma = r->component[0].samples[(size_t) y * r->component[0].stride + x], cb = 0, cr = 0;
	if (r->ncomponents == 3)
	  {
	    luma = sample (r, &r->component[0], x, y);
	    cb = sample (r, &r->component[1], x, y) - 128;
	    cr = sample (r, &r->component[2], x, y) - 128;
	  }
	out[0] = clamp (luma + 1.402f * cr);
	out[1] = clamp (luma - 0.344136f * cb - 0.714136f * cr);
	out[2] = clamp (luma + 1.772f * cb);
      }
  return rgb;
}

static uint8_t *
whole_file (const char *path, size_t *size)
{
  FILE *file = fopen (path, "rb");
  uint8_t *data = NULL;
  long length;
  if (file && fseek (file, 0, SEEK_END) == 0 && (length = ftell (file)) >= 0 && (data = malloc (length + 1)) != NULL)
    {
      rewind (file);
      *size = fread (data, 1, length, file);
    }
  if (file)
    fclose (file);
  return data;
}

unsigned char *
jpeg_read (const char *path, int *width, int *height, const char **why)
{
  size_t size = 0;
  uint8_t *data = whole_file (path, &size);
  if (!data)
    {
      *why = "cannot be read";
      return NULL;
    }
  struct reader *r = calloc (1, sizeof *r);
  unsigned char *volatile rgb = NULL;
  if (!r)
    abort ();
  r->data = r->at = data;
  r->end = data + size;
  for (int x = 0; x < 8; x++)
    for (int u = 0; u < 8; u++)
      r->basis[x][u] = (u ? 0.5 : sqrt (0.125)) * cos ((2 * x + 1) * u * 3.14159265358979323846 / 16);
  if (!setjmp (r->failed))
    {
      markers (r);
      rgb = colours (r);
      *width = r->width;
      *height = r->height;
    }
  *why = r->why;
  for (int i = 0; i < 3; i++)
    free (r->component[i].samples);
  free (r);
  free (data);
  return rgb;
}
