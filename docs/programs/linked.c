#pragma omp declare target
int core[4] = {1, 2, 3, 4};
#pragma omp end declare target
int pips[100];
#pragma omp declare target link(pips)
#pragma omp declare target
double peel = 2.0;
#pragma omp end declare target
int main (void)
{
  int x = 1;
  #pragma omp target map(tofrom: x) map(to: pips)
  x = x * peel + core[0] + pips[0];
  return x;
}
