/* A layer of a neural network: sums of all units by one reduction, then a loop over the weights.  */
#include "layer.h"

static void
learn (const float *inputs, int n, const float *wanted, float *weights, float *changes, float *outputs)
{
  float sums[units] = { 0 };
#pragma omp target data map(to : inputs[:n], wanted[:units]) map(weights[:n * units], changes[:n * units], sums)       \
  map(from : outputs[:units])
  {
    kernels_begin ();
#pragma omp target teams distribute parallel for reduction(+ : sums)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < units; j++)
        sums[j] += inputs[i] * weights[i * units + j];
#pragma omp target
    for (int j = 0; j < units; j++)
      outputs[j] = squash (sums[j]);
#pragma omp target teams distribute parallel for
    for (int i = 0; i < n; i++)
      for (int j = 0; j < units; j++)
        adjust (&weights[i * units + j], &changes[i * units + j], inputs[i], outputs[j], wanted[j]);
    kernels_end ();
  }
}
