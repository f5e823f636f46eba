/* Keys looked up in a tree with 32 children a node: the host's part.  */
#include "common.h"

enum { fan = 32, most_levels = 6, NOTHING = 0x7fffffff };

/* Level by level, the root first: the k-th key of a level is the first one of the k-th node of the next level.  A node
   is `fan` keys; the last one of a level is filled up by NOTHING.  */
typedef struct
{
  int *keys, levels, starts[most_levels + 1];
} tree;

/* places: where each wanted key is among those of the last level, or -1.  */
static void look_up (const tree *all, const int *wanted, int *places, int n);

static tree
plant (const int *keys, int n)
{
  tree made;
  int sizes[most_levels];
  made.levels = 0;
  for (int size = n; made.levels == 0 || sizes[made.levels - 1] > fan; size = sizes[made.levels - 1] / fan)
    sizes[made.levels++] = (size + fan - 1) / fan * fan;
  made.starts[0] = 0;
  for (int level = 0; level < made.levels; level++)
    made.starts[level + 1] = made.starts[level] + sizes[made.levels - 1 - level];
  made.keys = new_array (int, made.starts[made.levels]);
  for (int level = made.levels - 1; level >= 0; level--)
    for (int k = 0, *own = made.keys + made.starts[level]; k < made.starts[level + 1] - made.starts[level]; k++)
      if (level == made.levels - 1)
        own[k] = k < n ? keys[k] : NOTHING;
      else
        {
          int first = made.starts[level + 1] + k * fan;
          own[k] = first < made.starts[level + 2] ? made.keys[first] : NOTHING;
        }
  return made;
}

int
main (int argc, char **argv)
{
  int n = size_argument (argc, argv, 20000), found = 0;
  int *keys = new_array (int, n), *wanted = new_array (int, n), *places = new_array (int, n);
  for (int i = 0; i < n; i++)
    keys[i] = 3 * i + scrambled (i) % 3;
  for (int i = 0; i < n; i++)
    wanted[i] = scrambled (~i) % (3 * n);
  tree all = plant (keys, n);
  do
    look_up (&all, wanted, places, n);
  while (again ());
  for (int i = 0; i < n; i++)
    {
      int place = wanted[i] / 3, want = keys[place] == wanted[i] ? place : -1;
      if (places[i] != want)
        return wrong ("%d is at %d, not %d", wanted[i], places[i], want);
      found += want >= 0;
    }
  printf ("tree search: of %d keys %d are found, %d levels down\n", n, found, all.levels);
  free (keys), free (wanted), free (places), free (all.keys);
}
