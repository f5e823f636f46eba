#include <openacc.h>

int main(void)
{
  char *d = acc_malloc(512);
  acc_free(d + 256);
  return 0;
}
