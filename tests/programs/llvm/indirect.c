/* Calls by the host's pointers.  indirect_entries.c makes of `reference` what clang 19 makes of a function of `declare
   target indirect`: an entry with the function's host address, and a variable in the image that has the device's.  */
#include <omp.h>
#include <stdio.h>
#pragma omp declare target
int square (int x) { return x * x + 1000 * !omp_is_initial_device (); }
int (*reference) (int) = square;
#pragma omp end declare target
struct operation { int (*function) (int); int operand; };
int
main (void)
{
  struct operation op = {square, 5};
  int (*pointer) (int) = square;
  int by_struct = 0, by_pointer = 0, same = 0;
  void *mapped = omp_get_mapped_ptr ((void *) square, 0);
  #pragma omp target map(to: op) map(from: by_struct)
  by_struct = op.function (op.operand);
  #pragma omp target map(from: by_pointer, same)
  {
    by_pointer = pointer (7);
    same = (void *) pointer == mapped && (void *) pointer == (void *) square;
  }
  printf ("%d %d %d %d\n", by_struct, by_pointer, same, mapped != NULL && mapped != (void *) square);
  return 0;
}
