/* One region of a library.  */
int
NAME (int x)
{
  int r = 0;
#pragma omp target map(from: r)
  r = x + NUMBER;
  return r;
}
