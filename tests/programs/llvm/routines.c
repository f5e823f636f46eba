/* Routines of libomptarget that no directive calls.  */
#include <stdint.h>
#include <stdio.h>

void *llvm_omp_target_lock_mem (void *, size_t, int);
void llvm_omp_target_unlock_mem (void *, int);
void *llvm_omp_target_dynamic_shared_alloc (void);
void __tgt_set_info_flag (uint32_t);
int __tgt_print_device_info (int64_t);

int
main (void)
{
  int x[4] = {1};
  void *locked;
  __tgt_set_info_flag (1);
  #pragma omp target map(x)
  x[0]++;
  __tgt_set_info_flag (0);
  #pragma omp target map(x)
  x[0]++;
  locked = llvm_omp_target_lock_mem (x, sizeof x, 0);
  printf ("%d, %s\n", x[0], locked == x ? "locked" : locked ? "elsewhere" : "not locked");
  if (locked)
    llvm_omp_target_unlock_mem (x, 0);
  printf ("%s\n", llvm_omp_target_dynamic_shared_alloc () ? "shared" : "no shared memory on the host");
  fflush (stdout);
  printf ("told: %d\n", __tgt_print_device_info (0));
}
