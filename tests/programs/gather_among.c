/* The indices of a gather that may be of a few bytes, as offload_target_main finds them, against a look at each.  */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gompy/native/indices.h"

struct mic_gather
{
  uint64_t offset;
  intptr_t scale;
  size_t n;
  uint8_t size, bytes, is_unsigned;
};

#include "gompy/plugins/intelmic/device_gather_among.h"

enum { MOST = 3000 };

/* Whether each access in [BEGIN, END) is among what is found; FOUND: how many were.  */
static int
finds_all (const struct mic_gather *g, uint64_t begin, uint64_t end, size_t *found)
{
  struct mic_among among = mic_which_among (g, begin, end);
  const unsigned char *index = (const unsigned char *) (g + 1);
  size_t from = 0;
  *found = 0;
  for (size_t next; from < g->n; from = next + 1)
    {
      next = mic_next_among (g, g->n, from, &among);
      for (size_t i = from; i < next; i++)
	{
	  int64_t value = gompy_index_of (index + i * g->bytes, g->bytes, g->is_unsigned);
	  uint64_t at = g->offset + (uint64_t) (g->scale * value);
	  if (at < end && at + g->size > begin)
	    return 0;
	}
      *found += next < g->n;
    }
  return 1;
}

int
main (void)
{
  static const intptr_t scales[] = { 1, 4, 8, 24, 4096, -1, -4, -24, 0 };
  struct mic_gather *g = malloc (sizeof *g + MOST * 8);
  size_t few = 0;
  for (int round = 0; round < 2000; round++)
    {
      uint64_t middle = 1ull << 33, begin = middle + (uint64_t) (rand () % 4096 - 2048) * 1024;
      size_t found;
      g->scale = scales[rand () % 9];
      g->n = (size_t) rand () % MOST;
      g->size = (uint8_t) (1u << rand () % 5);
      g->bytes = rand () % 8 ? 4 : 8;
      g->is_unsigned = (uint8_t) (rand () % 2);
      g->offset = middle - (uint64_t) (g->is_unsigned ? g->scale * 0x7ffff000 : 0);
      for (size_t i = 0; i < g->n; i++)
	{
	  int64_t value = (rand () % (1 << 20) - (1 << 19)) >> rand () % 20;
	  value += g->is_unsigned ? 0x7ffff000 : 0;
	  memcpy ((char *) (g + 1) + i * g->bytes, &value, g->bytes);
	}
      if (!finds_all (g, begin, begin + 1024, &found))
	return printf ("round %d\n", round);
      few += g->bytes == 4 && found < g->n / 8;
      if (!finds_all (g, 0, 1ull << 40, &found) || found != g->n)
	return printf ("round %d: all\n", round);
    }
  puts (few > 1000 ? "all found, by few looks" : "all found, by many looks");
  return 0;
}
