/* A whole program with one empty region.  */

int
main (void)
{
#pragma omp target
  ;
  return 0;
}
