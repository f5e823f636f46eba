#include <stdint.h>
#include <sys/mman.h>
int main (void)
{
  uintptr_t at = (uintptr_t) mmap (0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#pragma omp target
  *(int *) (at + 4096) = 1;
}
