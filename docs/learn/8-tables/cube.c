int cube (int n)
{
  int result;
  #pragma omp target map(from: result)
  result = n * n * n;
  return result;
}
