/* Memory that host and device reach at the same address: unmapped, mapped, used by a pointer in a struct, freed.  */
#include <omp.h>
#include <stdio.h>
#include <string.h>

void *llvm_omp_target_alloc_host(size_t, int);
void llvm_omp_target_free_host(void *, int);
void *llvm_omp_target_alloc_shared(size_t, int);
void llvm_omp_target_free_shared(void *, int);

struct Node
{
  struct Node *next;
  int value;
};

int main(void)
{
  enum { N = 100000 };
  int device = omp_get_default_device(), sum = 0, there = 0;
  int *pinned = llvm_omp_target_alloc_host(N * sizeof *pinned, device);
  struct Node *nodes = llvm_omp_target_alloc_shared(3 * sizeof *nodes, device);
  int *of_device = omp_target_alloc(N * sizeof *of_device, device);
  for (int i = 0; i < N; i++)
    pinned[i] = i;
  for (int i = 0; i < 3; i++)
    nodes[i] = (struct Node){i < 2 ? &nodes[i + 1] : NULL, i + 1};
#pragma omp target is_device_ptr(pinned, nodes) map(from : there)
  {
    there = !omp_is_initial_device();
    for (int i = 0; i < N; i++)
      pinned[i]++;
    for (struct Node *node = nodes; node; node = node->next)
      node->value *= 10;
  }
  printf("%d %d %d, %d\n", pinned[0], pinned[N - 1], nodes[0].value + nodes[1].value + nodes[2].value, there);
#pragma omp target map(tofrom : pinned[0 : N])
  pinned[5] = -1;
  omp_target_memcpy(of_device, pinned, N * sizeof *pinned, 0, 0, device, omp_get_initial_device());
  memset(pinned, 0, N * sizeof *pinned);
  omp_target_memcpy(pinned, of_device, N * sizeof *pinned, 0, 0, omp_get_initial_device(), device);
  for (int i = 0; i < 7; i++)
    sum += pinned[i];
  printf("%d %d\n", sum, pinned[N - 1]);
  llvm_omp_target_free_host(pinned, device);
  llvm_omp_target_free_shared(nodes, device);
  for (int i = 0; i < 200; i++)
  {
    char *more = llvm_omp_target_alloc_host(1 << 20, device);
    more[i] = 1;
    llvm_omp_target_free_host(more, device);
  }
  printf("%s\n", llvm_omp_target_alloc_host((size_t)1 << 60, device) ? "some" : "none");
}
