/* Managed memory of GCC 16: one address on the host and on the device, by each routine; what is not managed is not.  */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define CHECK(x) do { if (!(x)) { printf ("line %d: %s\n", __LINE__, #x); exit (1); } } while (0)
#define MANAGED ((omp_allocator_handle_t) 201)
#define SPACE ((omp_memspace_handle_t) 200)
enum { N = 5000 };
extern int omp_target_is_accessible (const void *, size_t, int);
extern void *omp_calloc (size_t, size_t, omp_allocator_handle_t);
extern void *omp_aligned_alloc (size_t, size_t, omp_allocator_handle_t);
extern void *omp_realloc (void *, size_t, omp_allocator_handle_t, omp_allocator_handle_t);
struct node { struct node *next; int value; };

static int
seen_there (int *p, int n) /* how many of 0, 1, 2... are there on the device, which adds 1 to each */
{
  int found = 0, there = 0;
  #pragma omp target is_device_ptr (p) map (tofrom: found) map (from: there)
  {
    there = !omp_is_initial_device ();
    for (int i = 0; i < n; i++)
      found += p[i]++ == i;
  }
  CHECK (there);
  return found;
}

int
main (void)
{
  int device = omp_get_default_device ();
  int *p = omp_alloc (N * sizeof *p, MANAGED);
  CHECK (p && omp_target_is_accessible (p, N * sizeof *p, device) && omp_target_is_accessible (p + N - 1, 4, device));
  for (int i = 0; i < N; i++)
    p[i] = i;
  CHECK (seen_there (p, N) == N && p[N - 1] == N);

  p = omp_realloc (p, 2 * N * sizeof *p, (omp_allocator_handle_t) 0, MANAGED);
  for (int i = 0; i < 2 * N; i++)
    {
      CHECK (i >= N || p[i] == i + 1);
      p[i] = i;
    }
  CHECK (seen_there (p, 2 * N) == 2 * N);
  p = omp_realloc (p, 10 * sizeof *p, omp_default_mem_alloc, MANAGED); /* to the host's own memory, and back */
  CHECK (p[9] == 10 && !omp_target_is_accessible (p, 4, device));
  p = omp_realloc (p, 20 * sizeof *p, MANAGED, omp_default_mem_alloc);
  CHECK (p[9] == 10 && omp_target_is_accessible (p, 4, device));
  omp_free (p, MANAGED);
  CHECK (!omp_alloc (0, MANAGED));

  struct node *list = NULL;
  for (int i = 0; i < 10; i++)
    {
      struct node *first = omp_calloc (1, sizeof *first, MANAGED);
      CHECK (first && first->value == 0);
      first->next = list;
      first->value = i;
      list = first;
    }
  #pragma omp target is_device_ptr (list)
  for (struct node *at = list; at; at = at->next)
    at->value *= 2;
  for (int i = 9; i >= 0; i--)
    {
      struct node *next = list->next;
      CHECK (list->value == 2 * i);
      omp_free (list, (omp_allocator_handle_t) 0);
      list = next;
    }

  /* Allocators of the program's own: an alignment, a pool, what is done if there is no room.  */
  omp_alloctrait_t traits[] = { { omp_atk_alignment, 8192 }, { omp_atk_pool_size, 3 * 4000 },
				{ omp_atk_fallback, omp_atv_null_fb } };
  omp_allocator_handle_t own = omp_init_allocator (SPACE, 3, traits), other;
  char *a = omp_alloc (4000, own), *b = omp_alloc (4000, own), *c = omp_alloc (4000, own);
  CHECK (own && a && b && c && !((uintptr_t) a % 8192) && !((uintptr_t) b % 8192) && !omp_alloc (1, own));
  memset (a, 1, 4000); memset (b, 2, 4000); memset (c, 3, 4000);
  CHECK (a[3999] == 1 && b[0] == 2 && b[3999] == 2 && c[0] == 3);
  omp_free (b, own);
  CHECK ((b = omp_alloc (3999, own)) && !omp_alloc (2, own));
  traits[2] = (omp_alloctrait_t) { omp_atk_fallback, omp_atv_allocator_fb };
  traits[0] = (omp_alloctrait_t) { omp_atk_fb_data, (omp_uintptr_t) own };
  traits[1] = (omp_alloctrait_t) { omp_atk_pool_size, 1 };
  other = omp_init_allocator (SPACE, 3, traits);
  CHECK (!omp_alloc (2, other)); /* nor has the other one */
  omp_free (a, own);
  CHECK ((a = omp_alloc (2, other)) && !((uintptr_t) a % 8192));
  omp_free (a, other); omp_free (b, own); omp_free (c, own);
  omp_destroy_allocator (other);

  /* As a default allocator, and by the clause.  */
  omp_set_default_allocator (own);
  CHECK ((a = omp_alloc (100, omp_null_allocator)) && omp_target_is_accessible (a, 100, device));
  omp_free (a, omp_null_allocator);
  omp_set_default_allocator (omp_default_mem_alloc);
  omp_destroy_allocator (own);
  int v[100], inside = 0;
  #pragma omp parallel num_threads (1) private (v) allocate (MANAGED: v) shared (inside)
  inside = omp_target_is_accessible (v, sizeof v, device);
  CHECK (inside);
  traits[0] = (omp_alloctrait_t) { omp_atk_alignment, 3 };
  CHECK (!omp_init_allocator (SPACE, 1, traits));

  /* All other memory is libgomp's.  */
  traits[0] = (omp_alloctrait_t) { omp_atk_alignment, 4096 };
  own = omp_init_allocator (omp_default_mem_space, 1, traits);
  a = omp_alloc (10, own);
  CHECK (own && a && !((uintptr_t) a % 4096) && !omp_target_is_accessible (a, 10, device));
  omp_free (a, own);
  omp_destroy_allocator (own);
  CHECK ((b = omp_aligned_alloc (512, 1024, omp_default_mem_alloc)) && !((uintptr_t) b % 512));
  omp_free (b, omp_default_mem_alloc);

  /* Without a device: malloc's memory.  */
  omp_set_default_device (omp_get_initial_device ());
  CHECK ((a = omp_alloc (10, MANAGED)) && !omp_target_is_accessible (a, 10, device));
  omp_free (a, MANAGED);
  omp_set_default_device (device);
  CHECK ((a = omp_alloc (10, MANAGED)));
  puts ("good");
  fflush (stdout);
  omp_set_default_device (omp_get_initial_device ());
  omp_free (a, MANAGED);
  return 0;
}
