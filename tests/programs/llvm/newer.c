/* What LLVM 22 has of its own, called as a program by clang 22 does: use_device_ptr of what is not mapped, and interop
   objects with the functions that are called when their work is done.  */
#include <omp.h>
#include <stdio.h>
struct context { unsigned version, flags; int thread; };
extern void *__tgt_interop_get (void *, int, long, int, void *, struct context *, void *) __attribute__ ((weak));
extern int __tgt_interop_use60 (void *, void *, struct context *, void *) __attribute__ ((weak));
extern int __tgt_interop_release (void *, void *, struct context *, void *) __attribute__ ((weak));
extern int ompx_interop_add_completion_callback (void *, void (*) (void *, void *), void *) __attribute__ ((weak));
extern void __tgt_target_sync (void *, int, void *, void *) __attribute__ ((weak));
static void
done (void *interop, void *data)
{
  ++*(int *) data;
}
static void
use_device (int *p)
{
  int *q = NULL, other;
  #pragma omp target data map(alloc: other) use_device_ptr(p)
  q = p;
  printf ("%s\n", q == p ? "as it was" : q ? "another" : "NULL");
}
int
main (void)
{
  struct context plain = {0, 0, 3}, later = {0, 2, 3}, kept = {0, 1, 3};
  int *p = omp_target_alloc (64, 0), called = 0;
  use_device (p);
  omp_target_free (p, 0);
  if (!__tgt_interop_get)
    return 0;
  void *one = __tgt_interop_get (NULL, 1, 0, 0, NULL, &plain, NULL);
  void *host = __tgt_interop_get (NULL, 1, omp_get_initial_device (), 0, NULL, &plain, NULL);
  printf ("%d %d %d\n", one != NULL, host == NULL, (int) omp_get_interop_int (one, omp_ipr_device_num, NULL));
  printf ("%d %d\n", ompx_interop_add_completion_callback (one, done, &called),
          ompx_interop_add_completion_callback (NULL, done, &called));
  int rc = __tgt_interop_use60 (NULL, one, &later, NULL);
  printf ("%d %d\n", rc, called);
  rc = __tgt_interop_use60 (NULL, one, &plain, NULL);
  rc += __tgt_interop_use60 (NULL, one, &plain, NULL);
  printf ("%d %d\n", rc, called);
  printf ("%d %d\n", __tgt_interop_release (NULL, one, &plain, NULL), __tgt_interop_release (NULL, NULL, &plain, NULL));
  one = __tgt_interop_get (NULL, 1, 0, 0, NULL, &kept, NULL);
  void *again = __tgt_interop_get (NULL, 1, 0, 0, NULL, &kept, NULL);
  ompx_interop_add_completion_callback (one, done, &called);
  __tgt_target_sync (NULL, 4, NULL, NULL);
  printf ("%d %d", one == again, called);
  __tgt_target_sync (NULL, 3, NULL, NULL);
  printf (" %d\n", called);
}
