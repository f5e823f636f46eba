/* What -foffload-check costs the loops of a region, by their kind: processor time of the program and of its devices.

   `check_exact KIND ROUNDS` prints nanoseconds for one region over N elements, and its arrays are mapped around all regions.
   A KIND that is none of KINDS ends with 2.  */

#include "processor_time.h"
#include <stdlib.h>
#include <string.h>

enum { N = 1 << 20, WIDTH = 8, ROWS = N / WIDTH };

struct matrix
{
  float m[16];
};

static float in[N], out[N], sum;
static int at[N], first[ROWS + 1];
static struct matrix matrices[N / 16];

/* What a launch costs by itself.  */
static void
nothing (void)
{
  #pragma omp target map(from: sum)
  sum = 0;
}

#define REGION _Pragma ("omp target teams distribute parallel for")

static void
dense (void)
{
  REGION
  for (int i = 0; i < N; i++)
    out[i] = in[i] * 0.5f + 1.0f;
}

static void
strided (void)
{
  REGION
  for (int i = 0; i < N / 4; i++)
    out[4 * i] = in[4 * i] * 0.5f + 1.0f;
}

static void
stencil (void)
{
  REGION
  for (int i = 1; i < N - 1; i++)
    out[i] = 0.25f * in[i - 1] + 0.5f * in[i] + 0.25f * in[i + 1];
}

static void
reduction (void)
{
  sum = 0;
  #pragma omp target teams distribute parallel for map(tofrom: sum) reduction(+: sum)
  for (int i = 0; i < N; i++)
    sum += in[i];
}

static void
gather (void)
{
  REGION
  for (int i = 0; i < N; i++)
    out[i] = in[at[i]];
}

static void
scatter (void)
{
  REGION
  for (int i = 0; i < N; i++)
    out[at[i]] = in[i];
}

static void
rows (void)
{
  REGION
  for (int r = 0; r < ROWS; r++)
    {
      float s = 0;
      for (int i = first[r]; i < first[r + 1]; i++)
	s += in[i] * in[at[i]];
      out[r] = s;
    }
}

/* 63 of 64 elements.  */
static void
conditional (void)
{
  REGION
  for (int i = 0; i < N; i++)
    if (in[i] >= 0)
      out[i] = in[i] * 0.5f + 1.0f;
}

/* Half of the elements, in no order.  */
static void
seldom (void)
{
  REGION
  for (int i = 0; i < N; i++)
    if (at[i] & 1)
      out[i] = in[i] * 0.5f + 1.0f;
}

/* Each of ROWS looks for a value that is at the end of its part.  */
static void
early_exit (void)
{
  REGION
  for (int r = 0; r < N / 64; r++)
    {
      int i = 64 * r;
      while (i < 64 * r + 64)
	{
	  if (in[i] < 0)
	    break;
	  i++;
	}
      out[r] = i;
    }
}

#pragma omp declare target
static float __attribute__ ((noinline, noclone))
halved (const float *p)
{
  return *p * 0.5f + 1.0f;
}

static void __attribute__ ((noinline, noclone))
multiply (const struct matrix *a, const float *x, float *y)
{
  const float *m = a->m;
  y[0] = m[0] * x[0] + m[1] * x[1] + m[2] * x[2] + m[3] * x[3];
  y[1] = m[4] * x[0] + m[5] * x[1] + m[6] * x[2] + m[7] * x[3];
  y[2] = m[8] * x[0] + m[9] * x[1] + m[10] * x[2] + m[11] * x[3];
  y[3] = m[12] * x[0] + m[13] * x[1] + m[14] * x[2] + m[15] * x[3];
}
#pragma omp end declare target

static void
call (void)
{
  REGION
  for (int i = 0; i < N; i++)
    out[i] = halved (in + i);
}

static void
straight (void)
{
  REGION
  for (int i = 0; i < N / 16; i++)
    multiply (matrices + i, in + 4 * i, out + 4 * i);
}

static const struct kind
{
  const char *name;
  void (*region) (void);
} kinds[] = {
  { "dense", dense },     { "strided", strided },         { "stencil", stencil },       { "reduction", reduction },
  { "gather", gather },   { "scatter", scatter },         { "rows", rows },             { "conditional", conditional },
  { "seldom", seldom },   { "early-exit", early_exit },   { "call", call },             { "straight", straight },
  { "nothing", nothing },
};

int
main (int argc, char **argv)
{
  void (*region) (void) = NULL;
  for (unsigned i = 0; argc == 3 && i < sizeof kinds / sizeof kinds[0]; i++)
    if (strcmp (argv[1], kinds[i].name) == 0)
      region = kinds[i].region;
  if (region == NULL)
    return 2;
  for (int i = 0; i < N; i++)
    {
      in[i] = i % 64 == 63 ? -1 : i % 100;
      at[i] = i;
    }
  for (int i = N - 1; i > 0; i--)
    {
      int j = rand () % (i + 1), other = at[j];
      at[j] = at[i];
      at[i] = other;
    }
  for (int r = 0; r <= ROWS; r++)
    first[r] = r == 0 || r == ROWS ? r * WIDTH : r * WIDTH + r % 5 - 2;
  #pragma omp target data map(tofrom: out) map(to: in, at, first, matrices)
  printf ("%.0f\n", measure (region, atoi (argv[2])));
  return sum < 0;
}
