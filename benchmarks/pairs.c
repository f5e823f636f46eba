/* Directives in pairs, for counting instructions: pairs.c KIND ROUNDS does each ROUNDS times with 64 objects.  */

#include <stdlib.h>
#include <string.h>

enum { SMALL = 100, OBJECTS = 64 };

static double object[OBJECTS][SMALL];

static void
copied (double *p)
{
#pragma omp target enter data map(to: p[:SMALL])
#pragma omp target exit data map(from: p[:SMALL])
}

static void
allocated (double *p)
{
#pragma omp target enter data map(alloc: p[:SMALL])
#pragma omp target exit data map(release: p[:SMALL])
}

static void
updated (double *p)
{
#pragma omp target update to(p[:SMALL])
#pragma omp target update from(p[:SMALL])
}

static void
present (double *p)
{
#pragma omp target data map(tofrom: p[:SMALL])
  __asm__ volatile ("" ::: "memory");
}

static void
launched (double *p)
{
#pragma omp target map(tofrom: p[:SMALL])
  p[0]++;
}

static void
empty (double *p)
{
  (void) p;
#pragma omp target
  ;
}

static const struct kind
{
  const char *name;
  void (*operation) (double *);
  int mapped; /* the objects are, all the time */
} kinds[] = {
  { "copied", copied, 0 }, { "allocated", allocated, 0 }, { "updated", updated, 1 },
  { "present", present, 1 }, { "launched", launched, 1 }, { "empty", empty, 0 },
};

int
main (int argc, char **argv)
{
  for (size_t k = 0; argc == 3 && k < sizeof kinds / sizeof kinds[0]; k++)
    if (strcmp (kinds[k].name, argv[1]) == 0)
      {
	for (int i = 0; kinds[k].mapped && i < OBJECTS; i++)
	  {
	    double *p = object[i];
#pragma omp target enter data map(to: p[:SMALL])
	  }
	for (int round = atoi (argv[2]); round > 0; round--)
	  for (int i = 0; i < OBJECTS; i++)
	    kinds[k].operation (object[i]);
	return 0;
      }
  return 2;
}
