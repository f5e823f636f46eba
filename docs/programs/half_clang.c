#include <stdio.h>
int numbers[4] = {1, 2, 3, 4};
int half_of_gcc (int *numbers);
int main (void)
{
  int there;
  #pragma omp target data map(tofrom: numbers)
  {
    #pragma omp target
    numbers[1] = 50;
    there = half_of_gcc (numbers);
    printf ("%d %d %d\n", numbers[0], numbers[1], there);
  }
  printf ("%d %d\n", numbers[0], numbers[1]);
}
