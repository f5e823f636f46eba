/* Moving the data: OpenMP.  */

#include "bench.h"
#include <omp.h>
#include <stdio.h>

const char model_name[] = "openmp";

const char *
device_start (void)
{
  static char name[64];
  snprintf (name, sizeof name, "OpenMP device %d of %d", omp_get_default_device (), omp_get_num_devices ());
  return name;
}

int
device_on_host (void)
{
  int on_host = 1;
#pragma omp target map(from : on_host)
  on_host = omp_is_initial_device ();
  return on_host;
}

void
device_enter (struct problem *p)
{
  double *a = p->a, *b = p->b, *r = p->r;
#pragma omp target enter data map(to : a[0 : p->na], r[0 : p->nr])
  if (b)
    {
#pragma omp target enter data map(to : b[0 : p->nb])
    }
}

void
device_put_result (struct problem *p)
{
  double *r = p->r;
#pragma omp target update to(r[0 : p->nr])
}

void
device_get_result (struct problem *p)
{
  double *r = p->r;
#pragma omp target update from(r[0 : p->nr])
}

void
device_leave (struct problem *p)
{
  double *a = p->a, *b = p->b, *r = p->r;
#pragma omp target exit data map(delete : a[0 : p->na], r[0 : p->nr])
  if (b)
    {
#pragma omp target exit data map(delete : b[0 : p->nb])
    }
}
