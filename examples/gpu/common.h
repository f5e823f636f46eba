/* What the examples share: PROGRAM [SIZE [ROUNDS]], arrays, numbers, messages, and the CPU time of the kernels.  */
#ifndef COMMON_H
#define COMMON_H
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "thread_times.h"

#ifdef __CUDACC__
#define DEVICE __host__ __device__
#else
#define DEVICE
#endif

static int rounds, rounds_done;
static double kernels_began, kernels_took = HUGE_VAL;

/* The first argument, or the usual size.  A second one asks for that many rounds, and for the time.  */
static inline int
size_argument (int argc, char **argv, int usual)
{
  int size = argc > 1 ? atoi (argv[1]) : usual;
  rounds = argc > 2 ? atoi (argv[2]) : 0;
  if (size > 0 && (rounds > 0 || argc < 3) && argc < 4)
    return size;
  fprintf (stderr, "usage: %s [SIZE [ROUNDS]]\n", argv[0]);
  exit (2);
}

/* Between these two there are kernels alone.  */
static inline void
kernels_begin (void)
{
  kernels_began = cpu_ms (1);
}

static inline void
kernels_end (void)
{
  double took = cpu_ms (0) - kernels_began;
  kernels_took = took < kernels_took ? took : kernels_took;
}

/* Whether another round is wanted; after the last one the least time of all rounds is told.  */
static inline int
again (void)
{
  if (++rounds_done < rounds)
    return 1;
  if (rounds)
    printf ("kernels: %.4f ms\n", kernels_took);
  return 0;
}

/* An array of zeros.  */
#define new_array(type, count) ((type *) zeros (count, sizeof (type)))

static inline void *
zeros (size_t count, size_t size)
{
  void *memory = calloc (count, size);
  if (memory)
    return memory;
  fprintf (stderr, "no memory for %zu x %zu bytes\n", count, size);
  exit (1);
}

/* Numbers that look random; the same i gives the same one.  */
static inline unsigned
scrambled (unsigned i)
{
  i = (i ^ i >> 16) * 0x45d9f3bu;
  i = (i ^ i >> 15) * 0x2c1b3c6du;
  return i ^ i >> 16;
}

/* From 0 to 1.  */
static inline float
fraction (unsigned i)
{
  return (scrambled (i) >> 8) / 16777216.0f;
}

static inline int
differ (double one, double other, double tolerance)
{
  return !(fabs (one - other) <= tolerance * (1 + fabs (other)));
}

/* What is wrong; the program's exit status.  */
static inline int
wrong (const char *format, ...)
{
  va_list words;
  va_start (words, format);
  printf ("wrong: ");
  vprintf (format, words);
  printf ("\n");
  va_end (words);
  return 1;
}
#endif
