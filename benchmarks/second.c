/* The other of two objects to link.  */

#pragma omp declare target
int
twice (int x)
{
  return 2 * x;
}
#pragma omp end declare target

long
sum (const int *data, int n)
{
  long total = 0;
#pragma omp target teams distribute parallel for map(to: data[:n]) reduction(+: total)
  for (int i = 0; i < n; i++)
    total += data[i];
  return total;
}
