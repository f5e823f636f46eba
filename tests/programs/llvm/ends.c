/* A construct with argv[1] new maps, and its end: by the calls that clang makes of enter and exit data.  */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void __tgt_target_data_begin_mapper (void *, int64_t, int, void **, void **, int64_t *, int64_t *, void **, void **);
void __tgt_target_data_end_mapper (void *, int64_t, int, void **, void **, int64_t *, int64_t *, void **, void **);
extern int omp_target_is_present (const void *, int);

int
main (int argc, char **argv)
{
  int n = argc > 1 ? atoi (argv[1]) : 0, i, there = 0, left = 0;
  char *data = calloc (n, 64);
  void **at = malloc (n * sizeof *at);
  int64_t *sizes = malloc (n * sizeof *sizes), *types = malloc (n * sizeof *types);
  #pragma omp target /* the image, without which there is no device */
  { }
  for (i = 0; i < n; i++)
    at[i] = data + 64 * i, sizes[i] = 32, types[i] = 3;
  __tgt_target_data_begin_mapper (0, 0, n, at, at, sizes, types, 0, 0);
  for (i = 0; i < n; i++)
    there += omp_target_is_present (at[i], 0);
  __tgt_target_data_end_mapper (0, 0, n, at, at, sizes, types, 0, 0);
  for (i = 0; i < n; i++)
    left += omp_target_is_present (at[i], 0);
  printf ("%d %d\n", there, left);
}
