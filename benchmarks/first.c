/* One of two objects to link: a region that calls a function of the other.  */

#pragma omp declare target
int twice (int);
int offset = 3;
#pragma omp end declare target

int
main (void)
{
  int result = 0;
#pragma omp target map(tofrom: result)
  result = twice (4) + offset;
  return result != 11;
}
