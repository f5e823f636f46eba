int main (void)
{
  long double third = 1;
  #pragma omp target map(tofrom: third)
  third /= 3;
  return third == 1;
}
