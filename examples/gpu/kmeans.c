/* Points sorted into clusters: each thread has sums of its own, which the runtime adds up.  */
#include "kmeans.h"

static void
group (const int *points, int n, int *centers, int *cluster_of)
{
  enum { numbers = clusters * dimensions };
  int sums[numbers], counts[clusters];
#pragma omp target data map(to : points[:n * dimensions]) map(centers[:numbers]) map(from : cluster_of[:n])
  {
    kernels_begin ();
    for (int turn = 0; turn < turns; turn++)
      {
        memset (sums, 0, sizeof sums);
        memset (counts, 0, sizeof counts);
#pragma omp target teams distribute parallel for reduction(+ : sums, counts) map(sums, counts)
        for (int i = 0; i < n; i++)
          {
            int c = cluster_of[i] = nearest (points, n, i, centers);
            counts[c]++;
            for (int d = 0; d < dimensions; d++)
              sums[c * dimensions + d] += points[d * n + i];
          }
#pragma omp target map(to : sums, counts)
        for (int i = 0; i < numbers; i++)
          if (counts[i / dimensions])
            centers[i] = sums[i] / counts[i / dimensions];
      }
    kernels_end ();
  }
}
