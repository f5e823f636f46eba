/* What the address sanitizer finds on the host is found beside regions too: memory that was freed while it was mapped.  */
/* { dg-do run } */
/* { dg-options "-O1 -g -fsanitize=address" } */
/* { dg-set-target-env-var ASAN_OPTIONS "detect_leaks=0" } */
/* { dg-shouldfail "address sanitizer" } */
/* The sanitizer ends the program before libgompy counts.  */
/* { gompy-launches 0 } */
/* { dg-output "last 63 host 0.*" { target gompy } } */
/* { dg-output "AddressSanitizer: heap-use-after-free.*READ of size 4.*sanitize-host-finds\\.c" } */

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int
main (void)
{
  int *p = malloc (64 * sizeof (int)), last = 0, host = 1;
  for (int i = 0; i < 64; i++)
    p[i] = i;
#pragma omp target map(to: p[:64]) map(from: last, host)
  {
    last = p[63];
    host = omp_is_initial_device ();
  }
  fprintf (stderr, "last %d host %d\n", last, host);
  free (p);
  return ((volatile int *) p)[63];
}
