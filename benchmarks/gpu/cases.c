/* cases [SOURCE [KERNEL...]]: each kernel of kernels.h and its twin on the same data: whether they agree, and the CPU
   time of all threads (ms, the least of some runs), a line of JSON each.  */
#include "device.h"
#include "../../examples/gpu/thread_times.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1 << 21, SIDE = 1024, MATRIX = 512, NODES = 1 << 17, LANES_ODE = 4096, STEPS = 1000 };

struct array { void *host, *device; size_t size; };

/* A kernel's rounds: so many at least, and at most, until the device has taken that many ms.  Short kernels take some
   rounds to warm up.  */
static int rounds = 7, most = 40;
static const double enough = 50;
static int chosen_count;
static char **chosen;
static unsigned state = 1;

static unsigned
number (void)
{
  return state = state * 1664525 + 1013904223, state >> 8;
}

enum kind { ZEROS, FLOATS, WORDS, SMALL, INDICES, STARTS, COLUMNS, LEVELS, DIAGONAL };

static struct array
fresh (enum kind kind, int count)
{
  struct array made = { malloc (count * 4 + 64), NULL, (size_t) count * 4 };
  float *f = made.host;
  int *w = made.host;
  for (int i = 0; i < count; i++)
    switch (kind)
      {
      case ZEROS: w[i] = 0; break;
      case FLOATS: f[i] = (number () & 1023) / 1024.0f; break;
      case WORDS: w[i] = (int) (number () << 8 ^ number ()); break;
      case SMALL: w[i] = (int) (number () % 21) - 10; break;
      case INDICES: w[i] = (int) (number () % count); break;
      case STARTS: w[i] = i ? w[i - 1] + 4 + (int) (number () % 9) : 0; break;
      case COLUMNS: w[i] = (int) (number () % NODES); break;
      case LEVELS: w[i] = number () % 4 ? -1 : 3; break;
      case DIAGONAL: f[i] = (i / MATRIX == i % MATRIX ? 40 : 0) + (number () & 1023) / 1024.0f; break;
      }
  made.device = device_new (made.size, made.host);
  return made;
}

static int
wanted (const char *name)
{
  for (int i = 0; i < chosen_count; i++)
    if (!strcmp (chosen[i], name))
      return 1;
  return chosen_count == 0;
}

/* The parts of a run that differ between kernels.  */
struct job
{
  const char *name;
  int gx, gy, bx, by;
  int count;                            /* arrays */
  struct array arrays[6];
  int result;                           /* the array that is compared */
  int floats, accumulates;
  int scalars[2], nscalars;
};

static void
reset (struct job *job, const void *before)
{
  struct array *out = &job->arrays[job->result];
  device_write (out->device, before, out->size);
}

static int
differs (const struct job *job, const void *got)
{
  const struct array *out = &job->arrays[job->result];
  if (!job->floats)
    return memcmp (out->host, got, out->size) != 0;
  const float *a = out->host, *b = got;
  for (size_t i = 0; i < out->size / 4; i++)
    if (!(fabsf (a[i] - b[i]) <= 1e-3f * (1 + fabsf (a[i]))))
      return 1;
  return 0;
}

static void
run (struct job job, void (*twin) (struct job *))
{
  struct array *out = &job.arrays[job.result];
  struct argument arguments[8];
  double least = 1e30, least_twin = 1e30, spent = 0;
  void *before = malloc (out->size), *got = malloc (out->size);
  memcpy (before, out->host, out->size);
  for (int i = 0; i < job.count; i++)
    arguments[i] = (struct argument) { 0, job.arrays[i].device };
  for (int i = 0; i < job.nscalars; i++)
    arguments[job.count + i] = (struct argument) { sizeof (int), &job.scalars[i] };
  for (int round = 0; round < rounds || (round < most && spent < enough); round++)
    {
      if (job.accumulates)
        {
          reset (&job, before);
          memcpy (out->host, before, out->size);
        }
      double start = cpu_ms (1);
      if (!device_launch (job.name, job.gx, job.gy, job.bx, job.by, job.count + job.nscalars, arguments))
        goto done;
      device_wait ();
      double took = cpu_ms (0) - start;
      least = fmin (least, took);
      spent += took;
      start = cpu_ms (1);
      twin (&job);
      least_twin = fmin (least_twin, cpu_ms (0) - start);
    }
  device_read (got, out->device, out->size);
  printf ("{\"name\": \"%s%s\", \"device\": %.4f, \"twin\": %.4f, \"right\": %s}\n", job.name,
          job.bx == 16 && !strcmp (job.name, "sgemmn") ? "16" : "", least, least_twin,
          differs (&job, got) ? "false" : "true");
  fflush (stdout);
done:
  for (int i = 0; i < job.count; i++)
    {
      device_free (job.arrays[i].device);
      free (job.arrays[i].host);
    }
  free (before);
  free (got);
}

#define A(n) (job->arrays[n].host)
#define TWIN(name, parameters, ...)                                                                                    \
  void name##_twin parameters;                                                                                         \
  static void run_##name (struct job *job) { name##_twin (__VA_ARGS__); }

TWIN (vadd, (const void *, const void *, void *, int), A (0), A (1), A (2), LINE)
TWIN (stencil, (const void *, void *, int), A (0), A (1), SIDE)
TWIN (hist, (const void *, void *, int), A (0), A (1), LINE)
TWIN (sgemm, (const void *, const void *, void *, int), A (0), A (1), A (2), MATRIX)
TWIN (transpose, (const void *, void *, int), A (0), A (1), SIDE)
TWIN (scan, (const void *, void *, void *, int), A (0), A (1), A (2), LINE)
TWIN (reduce, (const void *, void *, int), A (0), A (1), LINE)
TWIN (spmv, (const void *, const void *, const void *, const void *, void *, int), A (0), A (1), A (2), A (3), A (4),
      NODES)
TWIN (gather, (const void *, const void *, void *, int), A (0), A (1), A (2), LINE)
TWIN (bfs, (const void *, const void *, const void *, void *, int, int), A (0), A (1), A (2), A (3), 3, NODES)
TWIN (ode, (const void *, void *, int, int), A (0), A (1), STEPS, LANES_ODE)
TWIN (lu, (void *, int), A (0), MATRIX)
TWIN (wavefront, (const void *, void *, int), A (0), A (1), SIDE)
TWIN (median, (const void *, void *, int), A (0), A (1), SIDE)
TWIN (divide, (const void *, void *, unsigned, int), A (0), A (1), 7u, LINE)
TWIN (count, (const void *, void *, int), A (0), A (1), LINE)

#define RUN(kernel, twin, gx, gy, bx, by, result, floats, accumulates, arrays, count, ...)                             \
  if (wanted (#kernel))                                                                                                \
    run ((struct job) { #kernel, gx, gy, bx, by, count, { arrays }, result, floats, accumulates, { __VA_ARGS__ },      \
                        sizeof ((int[]) { __VA_ARGS__ }) / sizeof (int) }, run_##twin)
#define LIST(...) __VA_ARGS__

int
main (int argc, char **argv)
{
  int per = LINE / 256;
  device_begin (argc > 1 ? argv[1] : "kernels.h");
  chosen = argv + 2, chosen_count = argc > 2 ? argc - 2 : 0;
  if (getenv ("ROUNDS"))
    rounds = most = atoi (getenv ("ROUNDS"));
  RUN (vadd, vadd, per, 1, 256, 1, 2, 1, 0, LIST (fresh (FLOATS, LINE), fresh (FLOATS, LINE), fresh (ZEROS, LINE)), 3, LINE);
  RUN (vadd4, vadd, per / 4, 1, 256, 1, 2, 1, 0, LIST (fresh (FLOATS, LINE), fresh (FLOATS, LINE), fresh (ZEROS, LINE)), 3,
       LINE / 4);
  RUN (stencil, stencil, SIDE / 32, SIDE / 8, 32, 8, 1, 1, 0, LIST (fresh (FLOATS, SIDE * SIDE), fresh (ZEROS, SIDE * SIDE)),
       2, SIDE);
  RUN (stencils, stencil, SIDE / 16, SIDE / 16, 16, 16, 1, 1, 0,
       LIST (fresh (FLOATS, SIDE * SIDE), fresh (ZEROS, SIDE * SIDE)), 2, SIDE);
  RUN (hist, hist, per, 1, 256, 1, 1, 0, 1, LIST (fresh (WORDS, LINE), fresh (ZEROS, 256)), 2, LINE);
  RUN (hists, hist, per / 16, 1, 256, 1, 1, 0, 1, LIST (fresh (WORDS, LINE), fresh (ZEROS, 256)), 2, LINE);
#define MATRICES LIST (fresh (FLOATS, MATRIX * MATRIX), fresh (FLOATS, MATRIX * MATRIX), fresh (ZEROS, MATRIX * MATRIX))
  RUN (sgemm, sgemm, MATRIX / 16, MATRIX / 16, 16, 16, 2, 1, 0, MATRICES, 3, MATRIX);
  RUN (sgemmn, sgemm, MATRIX / 32, MATRIX / 8, 32, 8, 2, 1, 0, MATRICES, 3, MATRIX);
  RUN (sgemmn, sgemm, MATRIX / 16, MATRIX / 16, 16, 16, 2, 1, 0, MATRICES, 3, MATRIX);
  RUN (transpose, transpose, SIDE / 32, SIDE / 32, 32, 8, 1, 1, 0,
       LIST (fresh (FLOATS, SIDE * SIDE), fresh (ZEROS, SIDE * SIDE)), 2, SIDE);
  RUN (scan, scan, per, 1, 256, 1, 1, 0, 0, LIST (fresh (SMALL, LINE), fresh (ZEROS, LINE), fresh (ZEROS, per)), 3, LINE);
  RUN (reduce, reduce, per, 1, 256, 1, 1, 1, 0, LIST (fresh (FLOATS, LINE), fresh (ZEROS, per)), 2, LINE);
  RUN (warpsum, reduce, per, 1, 256, 1, 1, 1, 1, LIST (fresh (FLOATS, LINE), fresh (ZEROS, per)), 2, LINE);
  RUN (count, count, per, 1, 256, 1, 1, 0, 1, LIST (fresh (WORDS, LINE), fresh (ZEROS, 1)), 2, LINE);
  RUN (spmv, spmv, NODES / 256, 1, 256, 1, 4, 1, 0,
       LIST (fresh (STARTS, NODES + 1), fresh (COLUMNS, NODES * 12), fresh (FLOATS, NODES * 12), fresh (FLOATS, NODES),
             fresh (ZEROS, NODES)), 5, NODES);
  RUN (gather, gather, per, 1, 256, 1, 2, 1, 0, LIST (fresh (INDICES, LINE), fresh (FLOATS, LINE), fresh (ZEROS, LINE)), 3,
       LINE);
  RUN (bfs, bfs, NODES / 256, 1, 256, 1, 3, 0, 0,
       LIST (fresh (STARTS, NODES + 1), fresh (COLUMNS, NODES * 12), fresh (LEVELS, NODES), fresh (ZEROS, NODES)), 4, 3,
       NODES);
  RUN (ode, ode, LANES_ODE, 1, 32, 1, 1, 1, 0, LIST (fresh (FLOATS, LANES_ODE), fresh (ZEROS, LANES_ODE)), 2, STEPS);
  RUN (lu, lu, MATRIX / 16, 1, 16, 1, 0, 1, 1, LIST (fresh (DIAGONAL, MATRIX * MATRIX)), 1, MATRIX);
  RUN (wavefront, wavefront, SIDE / 32, SIDE / 32, 32, 1, 1, 0, 0,
       LIST (fresh (SMALL, SIDE * SIDE), fresh (ZEROS, SIDE * SIDE)), 2, SIDE);
  RUN (median, median, SIDE / 32, SIDE / 8, 32, 8, 1, 1, 0, LIST (fresh (FLOATS, SIDE * SIDE), fresh (ZEROS, SIDE * SIDE)),
       2, SIDE);
  RUN (divide, divide, per, 1, 256, 1, 1, 0, 0, LIST (fresh (WORDS, LINE), fresh (ZEROS, LINE)), 2, 7, LINE);
}
