/* The index of ranges against a list, in small nodes: random inserts, removals and lookups.  Prints how many ranges it
   had at most.  GUIDE_FETCHED is the test's: with 1 guesses are fetched, with a large number they are looked at.  */

#define INDEX_LEAF 9 /* three lines of the cache */
#define INDEX_INNER 4
#define GUIDE_LEAST 4
#include "range_index.h"

#include <stdio.h>

enum { MOST = 3000 };

/* A range, and what is read with it.  */
struct known
{
  struct gompy_range r;
  uintptr_t with;
};

static struct gompy_range *model[MOST];
static size_t used;
static uint64_t seed = 88172645463325252ull;

static uint64_t
rnd (uint64_t n)
{
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return (seed >> 11) % n;
}

static int
equal (const struct gompy_range *a, uintptr_t start, uintptr_t end)
{
  if (a->start == start && a->end == end)
    return 1;
  return !(end <= a->start || start >= a->end);
}

static int
any_equal (uintptr_t start, uintptr_t end)
{
  for (size_t i = 0; i < used; i++)
    if (equal (model[i], start, end))
      return 1;
  return 0;
}

static int
before (const struct gompy_range *a, const struct gompy_range *b)
{
  return a->start < b->start || (a->start == b->start && a->end < b->end);
}

/* All in order, each once; and from some place on.  */
static int
in_order (struct gompy_index *index, uintptr_t span)
{
  struct gompy_cursor c = gompy_index_from (index, 0);
  struct gompy_range *r, *old = NULL;
  uintptr_t from = rnd (span);
  size_t n = 0, behind = 0;
  for (; (r = gompy_index_next (&c)); old = r, n++)
    if (old && !before (old, r))
      return 0;
  c = gompy_index_from (index, from);
  while ((r = gompy_index_next (&c)))
    behind++;
  for (size_t i = 0; i < used; i++)
    behind -= model[i]->start >= from;
  return n == used && n == index->count && behind == 0;
}

/* Walks up and down in the way of a list of clauses: what is said to be beside is what a lookup finds.  How many are,
   -1: one is wrong.  */
static int
beside (struct gompy_index *index, uintptr_t span, uintptr_t unit)
{
  int n = 0, up = rnd (2);
  uintptr_t at = rnd (span);
  for (int k = 0; k < 8; k++)
    {
      uintptr_t from = at, to = from + unit * rnd (6);
      struct gompy_range *found = gompy_index_beside (index, from, to), *other;
      if (found && (found->start != from || found->end < to))
	return -1;
      other = gompy_index_lookup (index, from, to);
      if (found && other != found)
	return -1;
      n += found != NULL;
      for (size_t i = 0; i < used && other; i++) /* on to the next one */
	if (up ? model[i]->start >= other->end : model[i]->end <= other->start)
	  if (at == from || (up ? model[i]->start < at : model[i]->start > at))
	    at = model[i]->start;
      if (at == from)
	at = rnd (span);
    }
  return n;
}

/* Whether a leaf has the right place for a range that was found just now; far counts those that have none.  */
static int
right_place (const struct gompy_index *index, const struct gompy_range *found, size_t *far)
{
  uintptr_t with = ((const struct known *) found)->with, place, distance;
  if (!index->leaf || !index->at || gompy_leaf_range (index->leaf, index->at - 1) != found)
    return 1;
  place = gompy_leaf_place (index->leaf, index->at - 1);
  distance = with - index->near;
  if (place == 0)
    {
      *far += with != 0;
      return !with || distance < INDEX_UNIT || distance >= INDEX_PLACES * INDEX_UNIT;
    }
  return with && distance / INDEX_UNIT == place;
}

/* Whether the guide has the leaf that a way down has come to just now.  Counted is what it has guessed before.  */
static int
right_guess (struct gompy_index *index, uintptr_t x, size_t *guessed)
{
  const char *leaf, *guess = index->guide.leaf ? gompy_guide_last (&index->guide, x) : NULL;
  if (!index->root)
    return index->guide.leaf == NULL;
  leaf = (const char *) gompy_index_descend (index, x, NULL);
  *guessed += guess == leaf;
  if (leaf != (const char *) gompy_index_leaf (index, x))
    return 0;
  return !index->guide.leaf || leaf == index->guide.base || leaf == gompy_guide_last (&index->guide, x);
}

int
main (int argc, char **argv)
{
  static const uintptr_t spans[] = { 12, 60, 400, 30000 };
  size_t most = 0, neighbours = 0, far = 0, guessed = 0;
  if (argc > 1)
    seed += strtoull (argv[1], NULL, 10) << 20;
  for (int round = 0; round < 24; round++)
    {
      struct gompy_index index = { 0 };
      uintptr_t unit = round % 5 == 4 ? INDEX_LONG / 3 : 1; /* ranges whose length a leaf has not */
      uintptr_t span = unit * spans[round % 4];
      for (int step = 0; step < 4000; step++)
	{
	  uintptr_t start = round >= 12 ? unit * (step / 3 * 4) % span : rnd (span);
	  uintptr_t end = start + (rnd (3) ? unit * rnd (5) : 0);
	  /* Mostly growing, then mostly shrinking.  */
	  if (rnd (10) < (step % 2000 < 1000 ? 7u : 3u))
	    {
	      struct known *k = malloc (sizeof *k);
	      struct gompy_range *r = &k->r;
	      int known = any_equal (start, end), done;
	      if (used == MOST)
		continue;
	      r->start = start;
	      r->end = end;
	      k->with = rnd (3) ? rnd (1ull << 31) : 0;
	      done = gompy_index_insert (&index, r, k->with);
	      if (done != known)
		return printf ("insert [%zu, %zu): %d, not %d\n", start, end, done, known), 1;
	      if (known)
		free (r);
	      else
		model[used++] = r;
	    }
	  else if (used)
	    {
	      size_t i = rnd (used), count = index.count;
	      struct gompy_range other = *model[i];
	      gompy_index_remove (&index, &other); /* equal, but another one */
	      if (index.count != count)
		return printf ("removed another one than [%zu, %zu)\n", other.start, other.end), 1;
	      gompy_index_remove (&index, model[i]);
	      if (index.count != count - 1)
		return printf ("not removed: [%zu, %zu)\n", other.start, other.end), 1;
	      free (model[i]);
	      model[i] = model[--used];
	    }
	  for (int k = 0; k < 4; k++)
	    {
	      uintptr_t from = rnd (span), to = from + unit * rnd (6);
	      struct gompy_range *found = gompy_index_lookup (&index, from, to);
	      if (found ? !equal (found, from, to) : any_equal (from, to))
		return printf ("lookup [%zu, %zu) is wrong\n", from, to), 1;
	      if (found && !right_place (&index, found, &far))
		return printf ("[%zu, %zu) has another place\n", found->start, found->end), 1;
	    }
	  gompy_index_aim (&index, (void *) (1 + rnd (span)), 1 + rnd (5), step & 1);
	  gompy_index_ahead (&index, (void *) (1 + rnd (span)), 1 + rnd (5));
	  if (!right_guess (&index, 1 + rnd (span), &guessed))
	    return printf ("the guide has not what was found\n"), 1;
	  if (step % 5 == 0)
	    {
	      int n = beside (&index, span, unit);
	      if (n < 0)
		return printf ("what is beside is wrong\n"), 1;
	      neighbours += n;
	    }
	  if (step % 50 == 0 && !in_order (&index, span + 8))
	    return printf ("order is wrong\n"), 1;
	  if (used > most)
	    most = used;
	}
      while (used)
	{
	  gompy_index_remove (&index, model[--used]);
	  free (model[used]);
	}
      gompy_index_end (&index);
      if (index.root || index.depth || index.count || index.leaves.slabs || index.inners.slabs
	  || index.guide.leaf)
	return printf ("something is left\n"), 1;
    }
  if (neighbours < 100)
    return printf ("only %zu were beside\n", neighbours), 1;
  if (far < 100)
    return printf ("only %zu were too far for a place\n", far), 1;
  if (guessed < 1000)
    return printf ("only %zu leaves were guessed\n", guessed), 1;
  printf ("%zu\n", most);
  return 0;
}
