/* Update and exit data of what is not mapped; the end of target data, whose b has gone, is nobody's mistake.  */
int
main (void)
{
  int a[16] = { 0 }, b[16] = { 0 }, c[16] = { 0 }, *p = c;
#pragma omp target data map(to: b)
  {
#pragma omp target exit data map(delete: b)
  }
#pragma omp target update to(a)
#pragma omp target exit data map(from: p[0:8])
#pragma omp target map(tofrom: a)
  a[0] = 1;
  return a[0] != 1;
}
