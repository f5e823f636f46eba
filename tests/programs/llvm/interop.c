/* An interop object: what it is, what is in its stream, its end.  */
#include <omp.h>
#include <stdio.h>

int main(void)
{
  omp_interop_t object = omp_interop_none, device_only = omp_interop_none, of_host = omp_interop_none;
  int code = 1, before = 0;
#pragma omp interop init(targetsync : object)
#pragma omp interop init(target : device_only) device(omp_get_default_device())
  printf("%d %s\n", object != omp_interop_none,
         omp_get_interop_str(object, omp_ipr_vendor_name, &code) ? omp_get_interop_str(object, omp_ipr_vendor_name, &code)
                                                                 : "");
  printf("%d %ld %d\n", code, (long)omp_get_interop_int(object, omp_ipr_device_num, &code), code);
  printf("%d", omp_get_interop_ptr(object, omp_ipr_targetsync, &code) != NULL);
  printf(" %d\n", omp_get_interop_ptr(device_only, omp_ipr_targetsync, &code) != NULL);
  printf("%s\n", omp_get_interop_name(object, omp_ipr_fr_name));
#pragma omp interop use(object) depend(inout : before)
#pragma omp interop destroy(object)
#pragma omp interop destroy(device_only)
  printf("%d %d\n", object == omp_interop_none, device_only == omp_interop_none);
#pragma omp interop init(targetsync : of_host) device(omp_get_initial_device())
  printf("%d\n", of_host == omp_interop_none);
}
