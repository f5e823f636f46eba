/* A layer of a neural network, forwards and backwards: the host's part.  */
#include "common.h"

enum { units = 16 };
#define RATE 0.3f
#define MOMENTUM 0.3f

/* weights, changes: units for each of n inputs.  wanted: what the units shall give.  */
static void learn (const float *inputs, int n, const float *wanted, float *weights, float *changes, float *outputs);

#pragma omp declare target
DEVICE static inline float
squash (float sum)
{
  return 1 / (1 + expf (-sum));
}

/* How a weight is changed by what its unit gave, and should have given.  */
DEVICE static inline void
adjust (float *weight, float *change, float input, float output, float wanted)
{
  float error = output * (1 - output) * (wanted - output);
  *change = RATE * error * input + MOMENTUM * *change;
  *weight += *change;
}
#pragma omp end declare target

int
main (int argc, char **argv)
{
  int n = size_argument (argc, argv, 2000), all = n * units;
  float *inputs = new_array (float, n), *start = new_array (float, all), *first = new_array (float, all);
  float *weights = new_array (float, all), *changes = new_array (float, all), outputs[units], wanted[units];
  for (int i = 0; i < n; i++)
    inputs[i] = fraction (i);
  for (int i = 0; i < all; i++)
    start[i] = (fraction (n + i) - 0.5f) / sqrtf ((float) n), first[i] = start[i] / 8;
  for (int j = 0; j < units; j++)
    wanted[j] = fraction (~j);
  do
    {
      memcpy (weights, start, all * sizeof *weights);
      memcpy (changes, first, all * sizeof *changes);
      learn (inputs, n, wanted, weights, changes, outputs);
    }
  while (again ());
  for (int j = 0; j < units; j++)
    {
      double sum = 0;
      for (int i = 0; i < n; i++)
        sum += start[i * units + j] * inputs[i];
      if (differ (outputs[j], squash ((float) sum), 1e-5))
        return wrong ("unit %d gives %g, not %g", j, outputs[j], squash ((float) sum));
      for (int i = j; i < all; i += units)
        {
          adjust (&start[i], &first[i], inputs[i / units], squash ((float) sum), wanted[j]);
          if (differ (weights[i], start[i], 1e-5) || differ (changes[i], first[i], 1e-5))
            return wrong ("weight %d of unit %d is %g, not %g", i / units, j, weights[i], start[i]);
        }
    }
  printf ("layer: %d outputs and %d weights are right\n", units, all);
  free (inputs), free (start), free (first), free (weights), free (changes);
}
