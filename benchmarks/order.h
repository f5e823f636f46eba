/* Random orders, the same in each run.  */

#include <stdint.h>

static uint32_t
rnd (uint32_t n)
{
  static uint64_t seed = 88172645463325252ull;
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return (uint32_t) ((seed >> 11) % n);
}

__attribute__ ((unused)) static void
shuffle (uint32_t *order, uint32_t n)
{
  for (uint32_t i = n; i > 1; i--)
    {
      uint32_t j = rnd (i), k = order[i - 1];
      order[i - 1] = order[j];
      order[j] = k;
    }
}
