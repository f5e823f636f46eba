/* Structures that point to structures: attached level by level, detached on the way back.  */
/* { dg-do run } */
/* { gompy-sets "-O0" "-O2" } */
/* { gompy-launches 3 } */

#include <stdlib.h>

struct leaf { int n; int *values; };
struct node { struct leaf *leaf; int weight; };
struct root { struct node *nodes; int count; };

int
main (void)
{
  struct root r;
  r.count = 3;
  r.nodes = malloc (3 * sizeof *r.nodes);
  for (int i = 0; i < 3; i++)
    {
      r.nodes[i].weight = i + 1;
      r.nodes[i].leaf = malloc (sizeof (struct leaf));
      r.nodes[i].leaf->n = 4;
      r.nodes[i].leaf->values = malloc (4 * sizeof (int));
      for (int j = 0; j < 4; j++)
	r.nodes[i].leaf->values[j] = 10 * i + j;
    }
  struct node *host_nodes = r.nodes;
  struct leaf *host_leaf = r.nodes[1].leaf;

#pragma omp target enter data map(to: r)
#pragma omp target enter data map(to: r.nodes[:3])
  for (int i = 0; i < 3; i++)
    {
      struct node *n = &r.nodes[i];
#pragma omp target enter data map(to: n->leaf[:1])
      struct leaf *l = n->leaf;
#pragma omp target enter data map(to: l->values[:l->n])
    }

  int sum = 0;
#pragma omp target map(tofrom: sum)
  for (int i = 0; i < r.count; i++)
    for (int j = 0; j < r.nodes[i].leaf->n; j++)
      sum += r.nodes[i].weight * r.nodes[i].leaf->values[j]++;
  if (sum != 6 * 1 + 46 * 2 + 86 * 3)
    abort ();

  for (int i = 0; i < 3; i++)
    {
      struct leaf *l = r.nodes[i].leaf;
#pragma omp target exit data map(from: l->values[:l->n])
      struct node *n = &r.nodes[i];
#pragma omp target exit data map(release: n->leaf[:1])
    }
#pragma omp target exit data map(from: r.nodes[:3])
#pragma omp target exit data map(release: r)
  if (r.nodes != host_nodes || r.nodes[1].leaf != host_leaf || r.nodes[2].leaf->values[3] != 24)
    abort ();
#pragma omp target map(from: sum)
  sum = 1;
#pragma omp target map(tofrom: sum)
  sum++;
  return sum != 2;
}
