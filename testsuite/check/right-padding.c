/* check: right */
#include <stdio.h>

struct point { char kind; double x; short n; };

int main(void)
{
  struct point p[100], copy[100];
  double sum = 0;
#pragma omp target map(from: p)
  for (int i = 0; i < 100; i++) {
    p[i].kind = 1;
    p[i].x = i;
    p[i].n = 2;
  }
  for (int i = 0; i < 100; i++) copy[i] = p[i]; /* the bytes between the members, too */
  for (int i = 0; i < 100; i++) sum += copy[i].x;
  fwrite(copy, 0, sizeof copy, stdout);
  fwrite(p, sum < 0, sizeof p, stdout);
  printf("%g\n", sum);
  return 0;
}
