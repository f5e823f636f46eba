#include <openacc.h>
#include <stdlib.h>

int main(void)
{
  int *a = calloc(100, sizeof *a);
  acc_init(acc_device_not_host);
  acc_memcpy_to_device((void *) 4096, a, 400);
  return 0;
}
