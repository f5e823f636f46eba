/* { dg-do run } */
/* { dg-options "-O1 -Wall" } */
/* { dg-output "sum 7\n" } */
#include <stdio.h>

int main (void)
{
  int unused;
  int sum = 1; /* { dg-warning "overflow" } */
#pragma omp target map(tofrom: sum)
  sum += 5;
  printf ("sum %d\n", sum);
}
