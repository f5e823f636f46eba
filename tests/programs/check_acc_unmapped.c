#include <stdlib.h>
int main (void)
{
  int a[100] = { 0 }, *b = calloc (100, sizeof *b);
#pragma acc parallel copy(a)
  a[1] = b[1];
  return a[1];
}
