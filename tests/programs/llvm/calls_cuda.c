/* OpenMP and CUDA in one program: separate.cu has on_cuda.  */
#include <omp.h>
#include <stdio.h>

int on_cuda (void);

int
main (void)
{
  int there = 0;
  #pragma omp target map(from: there)
  there = !omp_is_initial_device ();
  printf ("%d\n", there);
  return on_cuda ();
}
