int main(int argc, char **argv)
{
  int zero = argc > 5, x = 1;
#pragma omp target map(tofrom: x)
  x = x / zero;
  return x;
}
