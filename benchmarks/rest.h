/* Rests before what is measured, the same in each run.  */

#include <stdlib.h>
#include <unistd.h>

#include "order.h"

/* Microseconds: so many, and up to SPREAD more, at random.  */
struct rest
{
  int shortest, spread;
};

static struct rest
rest_of (int argc, char **argv, int first)
{
  struct rest r = { argc > first ? atoi (argv[first]) : 5000, argc > first + 1 ? atoi (argv[first + 1]) : 0 };
  return r;
}

static void
take_rest (const struct rest *r)
{
  usleep (r->shortest + (r->spread > 0 ? rnd (r->spread) : 0));
}
