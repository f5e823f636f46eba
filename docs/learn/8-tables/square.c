#pragma omp declare target
int calls;
#pragma omp end declare target
int square (int n)
{
  int result;
  #pragma omp target map(from: result)
  {
    calls++;
    result = n * n;
  }
  return result;
}
