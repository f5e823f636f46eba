#include <openacc.h>
#include <stdlib.h>
struct { int n, *data; } v;
int main (void)
{
  v.data = calloc (100, sizeof *v.data);
  acc_copyin (v.data, 400);
  acc_attach ((void **) &v.data);
#pragma acc parallel present(v)
  v.n = 1;
}
