/* What the parts of a benchmark share: the problem, and the functions of its kernels.

   A program is main.c, NAME/native.c (the plain loop), NAME/MODEL.c (the kernel), and MODEL.c (moving the data).  */

#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>

/* Inputs A and B (NULL if there is none), result R; numbers of elements.  N is the size of the sweep:
   elements of a vector, or of the matrix.  */
struct problem
{
  long n;
  long na, nb, nr;
  double *a, *b, *r;
};

/* How a kernel is launched; teams and threads 0: the runtime chooses.  */
struct launch
{
  int teams, threads, simd;
};

/* NAME/native.c: sets the numbers of elements for a size, fills the inputs; the same loop on one core.  */
extern const char bench_name[];
void bench_sizes (struct problem *);
void bench_fill (struct problem *);
void bench_native (const struct problem *, double *restrict r);

/* MODEL.c: a device, its memory.  device_start tells the device's name, or NULL and prints why there is none.  */
extern const char model_name[];
const char *device_start (void);
int device_on_host (void);
void device_enter (struct problem *);
void device_put_result (struct problem *);
void device_get_result (struct problem *);
void device_leave (struct problem *);

/* NAME/MODEL.c: the kernel, done when it returns; 1 if the result is in r already, 0 if it is in the device's r.  */
int bench_region (const struct problem *, const struct launch *);

#endif
