/* Each word is a mistake in mapping that libgomp has a message for; some by the calls that a compiler makes.  */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void GOMP_target_enter_exit_data (int, size_t, void **, size_t *, unsigned short *, unsigned, void **);
enum { TO = 1, STRUCT_UNORD = 0x5c, UNKNOWN = 0x7f };

static char a[64];

static void
enter (int kind, void *where, size_t size)
{
  void *hosts[3] = { where, a + 8, a };
  size_t sizes[3] = { size, 4, 4 };
  unsigned short kinds[3] = { kind, TO, TO };
  GOMP_target_enter_exit_data (-1, kind == STRUCT_UNORD ? 3 : 1, hosts, sizes, kinds, 0, NULL);
}

int
main (int argc, char **argv)
{
  const char *what = argv[1];
  if (!strcmp (what, "overlap"))
    {
#pragma omp target enter data map(to: a[:32])
#pragma omp target enter data map(to: a[16:32])
    }
  else if (!strcmp (what, "update more"))
    {
#pragma omp target enter data map(to: a[:32])
#pragma omp target update to(a[16:32])
    }
  else if (!strcmp (what, "kind"))
    enter (UNKNOWN, a, sizeof a);
  else if (!strcmp (what, "size"))
    enter (TO, a, (size_t) 1 << 63);
  else if (!strcmp (what, "negative size"))
    enter (TO, a, (size_t) -64);
  else if (!strcmp (what, "order"))
    enter (STRUCT_UNORD, a, 2);
  else
    {
#pragma omp target
      a[0] = 1;
    }
  printf ("went on\n");
  return 0;
}
