/* Which memory a device accesses by its address: its own, not the host's.  */
#include <omp.h>
#include <stdio.h>
extern int omp_target_is_accessible (const void *, size_t, int);
int
main (void)
{
  int host = 0, initial = omp_get_initial_device ();
  char *device = omp_target_alloc (1000, 0);
  printf ("%d %d %d ", omp_target_is_accessible (device, 1000, 0), omp_target_is_accessible (device + 999, 1, 0),
	  omp_target_is_accessible (&host, sizeof host, 0));
  printf ("%d %d %d\n", omp_target_is_accessible (&host, sizeof host, initial), omp_target_is_accessible (NULL, 1, 0),
	  omp_target_is_accessible (device, (size_t) 1 << 40, 0));
  omp_target_free (device, 0);
  #pragma omp target
  ;
  return 0;
}
