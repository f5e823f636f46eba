/* Moving the data: OpenACC.  */

#include "bench.h"
#include <openacc.h>
#include <stdio.h>

const char model_name[] = "openacc";

const char *
device_start (void)
{
  static char name[64];
  acc_init (acc_device_default);
  acc_device_t type = acc_get_device_type ();
  snprintf (name, sizeof name, "OpenACC device type %d, %d of it", (int) type, acc_get_num_devices (type));
  return name;
}

int
device_on_host (void)
{
  int on_host = 1;
#pragma acc parallel copyout(on_host)
  on_host = acc_on_device (acc_device_host);
  return on_host;
}

void
device_enter (struct problem *p)
{
  acc_copyin (p->a, p->na * sizeof (double));
  acc_copyin (p->r, p->nr * sizeof (double));
  if (p->b)
    acc_copyin (p->b, p->nb * sizeof (double));
}

void
device_put_result (struct problem *p)
{
  acc_update_device (p->r, p->nr * sizeof (double));
}

void
device_get_result (struct problem *p)
{
  acc_update_self (p->r, p->nr * sizeof (double));
}

void
device_leave (struct problem *p)
{
  acc_delete (p->a, p->na * sizeof (double));
  acc_delete (p->r, p->nr * sizeof (double));
  if (p->b)
    acc_delete (p->b, p->nb * sizeof (double));
}
