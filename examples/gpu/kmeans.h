/* Points sorted into clusters, each about its mean: the host's part.  Sums of whole numbers hang on no order.  */
#include "common.h"

enum { dimensions = 4, clusters = 8, turns = 6, greatest = 1024 };

/* points: dimension by dimension.  centers: cluster by cluster; also what to begin with.  */
static void group (const int *points, int n, int *centers, int *cluster_of);

#pragma omp declare target
DEVICE static inline int
nearest (const int *points, int n, int i, const int *centers)
{
  int best = 0, least = 0x7fffffff;
  for (int c = 0; c < clusters; c++)
    {
      int distance = 0;
      for (int d = 0; d < dimensions; d++)
        {
          int apart = points[d * n + i] - centers[c * dimensions + d];
          distance += apart * apart;
        }
      if (distance < least)
        least = distance, best = c;
    }
  return best;
}
#pragma omp end declare target

int
main (int argc, char **argv)
{
  int n = size_argument (argc, argv, 3000), *points = new_array (int, n * dimensions), *cluster_of = new_array (int, n);
  int first[clusters * dimensions], centers[clusters * dimensions];
  for (int i = 0; i < n * dimensions; i++)
    points[i] = scrambled (i) % greatest;
  for (int i = 0; i < clusters * dimensions; i++)
    first[i] = scrambled (~i) % greatest;
  do
    {
      memcpy (centers, first, sizeof centers);
      group (points, n, centers, cluster_of);
    }
  while (again ());
  for (int turn = 0; turn < turns; turn++)
    {
      int sums[clusters * dimensions] = { 0 }, counts[clusters] = { 0 };
      for (int i = 0; i < n; i++)
        {
          int c = nearest (points, n, i, first);
          if (turn == turns - 1 && cluster_of[i] != c)
            return wrong ("point %d is in cluster %d, not %d", i, cluster_of[i], c);
          counts[c]++;
          for (int d = 0; d < dimensions; d++)
            sums[c * dimensions + d] += points[d * n + i];
        }
      for (int i = 0; i < clusters * dimensions; i++)
        if (counts[i / dimensions])
          first[i] = sums[i] / counts[i / dimensions];
    }
  if (memcmp (centers, first, sizeof centers))
    return wrong ("a mean");
  printf ("kmeans: %d points in %d clusters are right\n", n, clusters);
  free (points), free (cluster_of);
}
