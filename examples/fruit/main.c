/* Calls every region of apple.c, banana.c and citron.c and checks that the region meant is the one that ran, and that each
   unit's device variable kept its value from one region to the next.  Exit status: 0 if so, 1 otherwise.  */

#include "fruit.h"

#include <stdio.h>

extern int apple_pips, banana_bunch, citron_drops;

int
main (void)
{
  static const struct
  {
    const char *name;
    struct bite (*region) (int);
    int number, fruit;
  } tests[] = {
    { "citron_juice", citron_juice, 32, 310 }, { "apple_peel", apple_peel, 11, 101 }, { "banana_slice", banana_slice, 22, 210 },
    { "citron_peel", citron_peel, 31, 311 }, { "apple_core", apple_core, 12, 111 }, { "banana_peel", banana_peel, 21, 211 }
  };
  int failed = 0, on_host = 0;
  for (unsigned i = 0; i < sizeof tests / sizeof *tests; i++)
    {
      struct bite b = tests[i].region (1);
      int right = b.number == tests[i].number && b.fruit == tests[i].fruit;
      printf ("%-13s ran on %-10s region %d, variable %d: %s\n", tests[i].name, b.on_host ? "the host," : "the device,",
	      b.number, b.fruit, right ? "right" : "WRONG");
      failed |= !right;
      on_host += b.on_host;
    }
  /* With memory of its own, the device has not touched the host's variables.  */
  printf ("on the host: apple_pips %d, banana_bunch %d, citron_drops %d\n", apple_pips, banana_bunch, citron_drops);
  if (on_host == 0)
    failed |= apple_pips != 100 || banana_bunch != 200 || citron_drops != 300;
  return failed;
}
