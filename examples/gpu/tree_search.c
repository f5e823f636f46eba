/* Keys looked up in a tree: a loop over them; each thread halves the nodes that it comes to.  */
#include "tree_search.h"

static void
look_up (const tree *all, const int *wanted, int *places, int n)
{
  int levels = all->levels, size = all->starts[levels];
  const int *keys = all->keys, *starts = all->starts;
#pragma omp target data map(to : keys[:size], starts[:levels], wanted[:n]) map(from : places[:n])
  {
    kernels_begin ();
#pragma omp target teams distribute parallel for
    for (int i = 0; i < n; i++)
      {
        int place = 0;
        for (int level = 0; level < levels && place >= 0; level++)
          {
            const int *node = keys + starts[level] + place * fan;
            int before = 0; /* keys that are not greater */
            for (int half = fan / 2; half; half /= 2)
              if (node[before + half - 1] <= wanted[i])
                before += half;
            before += node[before] <= wanted[i];
            place = before ? place * fan + before - 1 : -1;
          }
        places[i] = place >= 0 && keys[starts[levels - 1] + place] == wanted[i] ? place : -1;
      }
    kernels_end ();
  }
}
