#include <stdlib.h>

int main(int argc, char **argv)
{
  int *p = argc > 5 ? malloc(4) : NULL;
#pragma omp target is_device_ptr(p)
  *p = 1;
  return 0;
}
