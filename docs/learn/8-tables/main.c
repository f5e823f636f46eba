#include <stdio.h>
int square (int), cube (int);
int main (void)
{
  printf ("%d %d\n", square (3), cube (3));
}
