#pragma omp declare target
int deeper (int n)
{
  volatile int kept[64];
  kept[n & 63] = n;
  return n < 0 ? 0 : deeper (n + 1) + kept[n & 63];
}
#pragma omp end declare target
int main (void)
{
  int n = 3;
  #pragma omp target map(tofrom: n)
  n = deeper (n);
  return n;
}
