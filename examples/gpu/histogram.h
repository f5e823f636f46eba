/* How often each byte occurs: the host's part.  */
#include "common.h"

enum { kinds = 256 };

static unsigned char *new_text (int n);
static void free_text (unsigned char *text);
static void count (const unsigned char *text, int n, unsigned *bins);

int
main (int argc, char **argv)
{
  int n = size_argument (argc, argv, 70000);
  unsigned char *text = new_text (n);
  unsigned want[kinds] = { 0 }, bins[kinds];
  for (int i = 0; i < n; i++)
    want[text[i] = (unsigned char) ((long long) i * i % 251)]++;
  do
    count (text, n, bins);
  while (again ());
  for (int i = 0; i < kinds; i++)
    if (bins[i] != want[i])
      return wrong ("%u of byte %d, not %u", bins[i], i, want[i]);
  printf ("histogram: %d bytes in %d bins are right\n", n, kinds);
  free_text (text);
}
