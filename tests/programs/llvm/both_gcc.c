/* The half of a program that gcc compiles.  */

int gcc_region(int *numbers)
{
  int there = 0;
#pragma omp target map(tofrom : numbers[0 : 4], there)
  {
    numbers[0] += 100;
    there = numbers[1];
  }
  return there;
}
