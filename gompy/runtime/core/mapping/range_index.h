/* The index of mapped host ranges: a B+ tree by their begins.

   A lookup among a million ranges reads one leaf that is in no cache, and the range itself.  Ranges are compared as
   libgomp does: two that overlap are equal, so a lookup of a range finds a range that it overlaps.  An empty one
   overlaps only a range that has it strictly inside.  One rule differs: libgomp takes any two empty ranges as equal, so
   that a second zero-sized object cannot be mapped; here they must be at one address.

   A range is any structure that begins with its begin and its end.  Where two begin at one address, the first is empty;
   it may stand in the leaf before.  The key of a child in an inner node is at most the begin of each range in it, and
   at least that of each range in the children before; the first child has none.

   Programs go through their objects in order, and a directive asks for a range more than once: to plan it, to make it,
   to put it in.  So the index remembers the leaf that it used last, which begins belong into that, and the place in it:
   what is there or beside it is found without a descent.  */

#ifndef GOMPY_RANGE_INDEX_H
#define GOMPY_RANGE_INDEX_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "range_guide.h"
#include "slabs.h"

#ifndef INDEX_LEAF /* a test has small ones */
#define INDEX_LEAF 34 /* ten lines of the cache */
#define INDEX_INNER 62
#endif
#define INDEX_DEPTH 16

struct gompy_range
{
  uintptr_t start, end;
};

/* The length of a range is here, too: whether another overlaps it is asked each time that one is put beside it, and the
   range itself is in no cache.  So is the place of what is read with the range: it is fetched at the same time.

   `range` has the address of the range in bits 0 to 43, in units of 8 bytes (what malloc and mmap give has 47 bits),
   the upper part of the place in the next 8 and the length in the last 12.  */
struct gompy_leaf
{
  struct gompy_leaf *next, *prev;
  size_t count; /* asked first, so in the line that is fetched first */
  uintptr_t start[INDEX_LEAF];
  uint64_t range[INDEX_LEAF];
  uint16_t place[INDEX_LEAF]; /* the lower part */
};

_Static_assert (sizeof (struct gompy_leaf) % GUIDE_LINE == 0, "a guess has the line that a leaf begins with");

#define INDEX_PLACE 44   /* where the place begins, */
#define INDEX_LENGTH 52  /* and the length */
#define INDEX_LONG 4095u /* a length: that or more */
#define INDEX_UNIT 64    /* of places, in bytes */
#define INDEX_PLACES ((uintptr_t) 1 << 24)
#define INDEX_BELOW ((uintptr_t) 256 << 20) /* so far below the first one that there is places begin */

struct gompy_inner
{
  size_t count; /* of children */
  uintptr_t key[INDEX_INNER];
  void *child[INDEX_INNER];
};

struct gompy_index
{
  void *root;       /* NULL: empty; a leaf, if depth is 0 */
  size_t count;     /* of ranges */
  unsigned depth;
  struct gompy_range *last; /* found last, or NULL */
  struct gompy_leaf *leaf;  /* used last, or NULL; forgotten when leaves come or go */
  uintptr_t above, upto;    /* it is the leaf for x if above < x <= upto */
  size_t at;                /* the place in it that was used last */
  uintptr_t near;           /* where places count from, 0: there is none yet */
  uintptr_t low, high;      /* of all ranges that there have been since the index was empty */
  struct gompy_slabs leaves, inners;
  struct gompy_guide guide;
};

/* A place among the ranges, for reading them in order.  */
struct gompy_cursor
{
  const struct gompy_leaf *leaf;
  size_t at;
};

/* The way to a leaf: inner nodes, and which of their children.  */
struct gompy_path
{
  struct gompy_inner *inner[INDEX_DEPTH];
  size_t at[INDEX_DEPTH];
};

/* A range that a leaf has, its length as far as a leaf knows it, and the place of what is read with it: 0, or
   INDEX_UNITs behind index->near.  */
static inline struct gompy_range *
gompy_leaf_range (const struct gompy_leaf *leaf, size_t at)
{
  return (struct gompy_range *) (leaf->range[at] << (64 - INDEX_PLACE) >> (64 - INDEX_PLACE - 3));
}

static inline size_t
gompy_leaf_length (const struct gompy_leaf *leaf, size_t at)
{
  return leaf->range[at] >> INDEX_LENGTH;
}

static inline uintptr_t
gompy_leaf_place (const struct gompy_leaf *leaf, size_t at)
{
  return (leaf->range[at] >> INDEX_PLACE & 0xff) << 16 | leaf->place[at];
}

static inline void
gompy_leaf_put (struct gompy_leaf *leaf, size_t at, const struct gompy_range *r, uintptr_t place)
{
  size_t length = r->end - r->start < INDEX_LONG ? r->end - r->start : INDEX_LONG;
  leaf->start[at] = r->start;
  leaf->range[at] = (uintptr_t) r >> 3 | (uint64_t) length << INDEX_LENGTH | (uint64_t) (place >> 16) << INDEX_PLACE;
  leaf->place[at] = (uint16_t) place;
}

static inline int
gompy_range_equal (uintptr_t start, uintptr_t end, const struct gompy_range *r)
{
  return (end > r->start && start < r->end) || (start == end && r->start == r->end && start == r->start);
}

/* How many of some ascending keys are less than x.  */
static inline size_t
gompy_index_less (const uintptr_t *key, size_t n, uintptr_t x)
{
  size_t base = 0;
  while (n > 1)
    {
      size_t half = n / 2;
      base += key[base + half - 1] < x ? half : 0;
      n -= half;
    }
  return n ? base + (key[base] < x) : base;
}

/* Have the first and the last line of an object fetched: it is copied when its range has been found, and is as little
   in the cache as that.  */
static inline void
gompy_fetch_object (const void *object, size_t size)
{
  __builtin_prefetch (object);
  __builtin_prefetch ((const char *) object + size - 1);
}

/* The leaf for a begin: the last one whose key is less.  */
static inline struct gompy_leaf *
gompy_index_leaf (const struct gompy_index *index, uintptr_t x)
{
  void *node = index->root;
  for (unsigned i = 0; i < index->depth; i++)
    {
      struct gompy_inner *inner = node;
      node = inner->child[gompy_index_less (inner->key + 1, inner->count - 1, x)];
    }
  return node;
}

/* The same, remembered with what belongs into it.

   A guess that may be looked at is right if begins on both sides of x are in that leaf.  A leaf that is gone has none:
   its memory is still the index's.  */
static __attribute__ ((noinline)) struct gompy_leaf *
gompy_index_descend (struct gompy_index *index, uintptr_t x, const char *guess)
{
  void *node = index->root;
  const struct gompy_leaf *look = gompy_guide_look (&index->guide, x);
  if (look)
    gompy_fetch_lines (look, sizeof *look);
  if (look && look->count && look->start[0] < x && x <= look->start[look->count - 1])
    {
      index->above = look->start[0];
      index->upto = look->start[look->count - 1];
      return index->leaf = (struct gompy_leaf *) look;
    }
  if (!guess && (guess = gompy_guide_guess (&index->guide, x)))
    gompy_fetch_lines (guess, sizeof (struct gompy_leaf));
  index->above = 0;
  index->upto = UINTPTR_MAX;
  for (unsigned i = 0; i < index->depth; i++)
    {
      struct gompy_inner *inner = node;
      size_t at = gompy_index_less (inner->key + 1, inner->count - 1, x);
      if (at)
        index->above = inner->key[at];
      if (at + 1 < inner->count)
        index->upto = inner->key[at + 1];
      node = inner->child[at];
      /* Of an inner node the keys: of the children's lines one is read, and a processor fetches a dozen at a time.  A
	 search reads three or four of a node's lines, one after the other.  */
      if (i + 1 < index->depth)
	gompy_fetch_lines (node, offsetof (struct gompy_inner, child));
    }
  if (guess != node)
    {
      gompy_fetch_lines (node, sizeof (struct gompy_leaf));
      if (index->guide.leaf)
	gompy_guide_learn (&index->guide, x, node);
    }
  return index->leaf = node;
}

/* Have the leaf fetched in which a lookup of an object will search, and the object.  A fetch may wait for the page
   table, and what follows it, too.  So the object comes once the leaf is on its way: with a guess before the way down,
   if it is to be read.  What is to be written waits in any case, and comes behind it.  */
static inline void
gompy_index_aim (struct gompy_index *index, const void *object, size_t size, int written)
{
  uintptr_t x = (uintptr_t) object + size;
  const char *guess = NULL;
  if (index->root && !(index->leaf && index->above < x && x <= index->upto))
    {
      if (!written && (guess = gompy_guide_guess (&index->guide, x)))
	{
	  gompy_fetch_lines (guess, sizeof (struct gompy_leaf));
	  gompy_fetch_object (object, size);
	}
      gompy_index_descend (index, x, guess);
    }
  if (!guess)
    gompy_fetch_object (object, size);
}

/* Have the leaf fetched of what is looked up after something else, as far as it can be guessed.  */
static inline void
gompy_index_ahead (const struct gompy_index *index, const void *object, size_t size)
{
  const char *guess = gompy_guide_guess (&index->guide, (uintptr_t) object + size);
  if (guess)
    gompy_fetch_lines (guess, sizeof (struct gompy_leaf));
}

/* The leaf for a begin, and the place in it.  The index is not empty.  */
static inline struct gompy_leaf *
gompy_index_place (struct gompy_index *index, uintptr_t x, size_t *at)
{
  struct gompy_leaf *leaf = index->leaf;
  size_t i = index->at, n;
  int found;
  if (leaf && index->above < x && x <= index->upto)
    {
      /* Where the last one was, or one further, or one back: a list of clauses may go either way.  */
      n = leaf->count;
      if (i > n)
        i = n;
      if (i < n && leaf->start[i] < x)
        {
          i++;
          found = i == n || leaf->start[i] >= x;
        }
      else if (i && leaf->start[i - 1] >= x)
        {
          i--;
          found = i == 0 || leaf->start[i - 1] < x;
        }
      else
        found = 1;
      if (found)
        {
          *at = index->at = i;
          return leaf;
        }
    }
  else
    leaf = gompy_index_descend (index, x, NULL);
  *at = index->at = gompy_index_less (leaf->start, leaf->count, x);
  return leaf;
}

/* Make room at a place in a leaf that is not full, and close it again.  */
static inline void
gompy_index_open (struct gompy_leaf *leaf, size_t at)
{
  size_t n = leaf->count++ - at;
  if (n == 0)
    return;
  memmove (leaf->start + at + 1, leaf->start + at, n * sizeof *leaf->start);
  memmove (leaf->range + at + 1, leaf->range + at, n * sizeof *leaf->range);
  memmove (leaf->place + at + 1, leaf->place + at, n * sizeof *leaf->place);
}

static inline void
gompy_index_close (struct gompy_leaf *leaf, size_t at)
{
  size_t n = --leaf->count - at;
  if (n == 0)
    return;
  memmove (leaf->start + at, leaf->start + at + 1, n * sizeof *leaf->start);
  memmove (leaf->range + at, leaf->range + at + 1, n * sizeof *leaf->range);
  memmove (leaf->place + at, leaf->place + at + 1, n * sizeof *leaf->place);
}

static inline struct gompy_leaf *
gompy_index_way (const struct gompy_index *index, uintptr_t x, struct gompy_path *path)
{
  void *node = index->root;
  for (unsigned i = 0; i < index->depth; i++)
    {
      path->inner[i] = node;
      path->at[i] = gompy_index_less (path->inner[i]->key + 1, path->inner[i]->count - 1, x);
      node = path->inner[i]->child[path->at[i]];
    }
  return node;
}

/* The range at a place of a leaf, which may be none (NULL), if it overlaps [start, end); else NULL.  */
static inline struct gompy_range *
gompy_index_equal (const struct gompy_leaf *leaf, size_t at, uintptr_t start, uintptr_t end)
{
  struct gompy_range here;
  if (!leaf)
    return NULL;
  here.start = leaf->start[at];
  here.end = here.start + gompy_leaf_length (leaf, at);
  if (__builtin_expect (gompy_leaf_length (leaf, at) == INDEX_LONG, 0))
    here.end = gompy_leaf_range (leaf, at)->end;
  return gompy_range_equal (start, end, &here) ? gompy_leaf_range (leaf, at) : NULL;
}

/* The range before a place in a leaf, and the one at it, if it overlaps [start, end); else NULL.  */
static inline struct gompy_range *
gompy_index_before (const struct gompy_leaf *leaf, size_t at, uintptr_t start, uintptr_t end)
{
  return at ? gompy_index_equal (leaf, at - 1, start, end)
	    : gompy_index_equal (leaf->prev, leaf->prev ? leaf->prev->count - 1 : 0, start, end);
}

static inline struct gompy_range *
gompy_index_at (const struct gompy_leaf *leaf, size_t at, uintptr_t start, uintptr_t end)
{
  return at < leaf->count ? gompy_index_equal (leaf, at, start, end) : gompy_index_equal (leaf->next, 0, start, end);
}

/* The range behind the one that was found last, or before it, if it begins with [start, end) and holds all of that;
   else NULL.  Lists of clauses often stand in the order of the addresses, or, by GCC, in the other one.  */
static inline struct gompy_range *
gompy_index_beside (struct gompy_index *index, uintptr_t start, uintptr_t end)
{
  const struct gompy_leaf *leaf = index->leaf;
  size_t length, at = index->at; /* that one is before this place */
  if (!leaf)
    return NULL;
  if (at >= leaf->count || leaf->start[at] != start)
    {
      at -= 2;
      if (at >= leaf->count || leaf->start[at] != start)
	return NULL;
    }
  length = gompy_leaf_length (leaf, at);
  if (length == INDEX_LONG)
    length = gompy_leaf_range (leaf, at)->end - start;
  if (end - start - 1 >= length)
    return NULL;
  index->at = at + 1;
  return index->last = gompy_leaf_range (leaf, at);
}

/* gompy_index_lookup, where the range that was found last does not overlap.  */
static struct gompy_range *
gompy_index_search (struct gompy_index *index, uintptr_t start, uintptr_t end)
{
  uintptr_t x = start < end ? end : start;
  const struct gompy_leaf *leaf;
  struct gompy_range *r = index->last;
  size_t at;
  if (r && gompy_range_equal (start, end, r))
    return r;
  if (!index->root)
    return NULL;
  leaf = gompy_index_place (index, x, &at);
  r = gompy_index_before (leaf, at, start, end);
  if (!r && start == end)
    r = gompy_index_at (leaf, at, start, end);
  if (!r)
    return NULL;
  __builtin_prefetch ((const char *) r - 24); /* its record stands before it, its counts in it */
  __builtin_prefetch ((const char *) r + 64);
  return index->last = r;
}

/* A range that overlaps [start, end), or NULL.  The one that was found last is looked at without a call.  */
static inline struct gompy_range *
gompy_index_lookup (struct gompy_index *index, uintptr_t start, uintptr_t end)
{
  struct gompy_range *r = index->last;
  return r && end > r->start && start < r->end ? r : gompy_index_search (index, start, end);
}

/* Whether [start, end) lies beyond all ranges, without a look at any: pointers that clauses name are variables of
   functions, on the stack.  */
static inline int
gompy_index_beyond (const struct gompy_index *index, uintptr_t start, uintptr_t end)
{
  return !index->root || start > index->high || end < index->low;
}

/* Have what is read with a range fetched, while the range itself, which was found just now, may be on its way.  */
static inline void
gompy_index_fetch_with (const struct gompy_index *index, const struct gompy_range *r)
{
  const struct gompy_leaf *leaf = index->leaf;
  size_t at = index->at - 1;
  uintptr_t place;
  if (leaf && at < leaf->count && gompy_leaf_range (leaf, at) == r && (place = gompy_leaf_place (leaf, at)))
    gompy_fetch_lines ((const void *) (index->near + place * INDEX_UNIT), 1);
}

/* The place of the first range that begins at an address or behind it.  */
static inline struct gompy_cursor
gompy_index_from (const struct gompy_index *index, uintptr_t start)
{
  struct gompy_cursor c = { NULL, 0 };
  if (index->root)
    {
      c.leaf = gompy_index_leaf (index, start);
      c.at = gompy_index_less (c.leaf->start, c.leaf->count, start);
    }
  return c;
}

/* The range at a place, NULL at the end; the place moves on.  */
static inline struct gompy_range *
gompy_index_next (struct gompy_cursor *c)
{
  if (c->leaf && c->at == c->leaf->count)
    {
      c->leaf = c->leaf->next;
      c->at = 0;
    }
  return c->leaf ? gompy_leaf_range (c->leaf, c->at++) : NULL;
}

/* Put a child behind the one that the way goes through; new nodes are taken from `spare`.  */
static inline void
gompy_index_grow (struct gompy_index *index, struct gompy_path *path, uintptr_t key, void *child,
                  struct gompy_inner **spare)
{
  struct gompy_inner *inner, *right;
  for (unsigned level = index->depth; level-- > 0;)
    {
      size_t at = path->at[level] + 1, keep;
      inner = path->inner[level];
      right = NULL;
      if (inner->count == INDEX_INNER)
        {
          keep = at == INDEX_INNER ? INDEX_INNER - 1 : INDEX_INNER / 2;
          right = *spare++;
          right->count = INDEX_INNER - keep;
          memcpy (right->key, inner->key + keep, right->count * sizeof *right->key);
          memcpy (right->child, inner->child + keep, right->count * sizeof *right->child);
          inner->count = keep;
          if (at > keep)
            {
              at -= keep;
              inner = right;
            }
        }
      memmove (inner->key + at + 1, inner->key + at, (inner->count - at) * sizeof *inner->key);
      memmove (inner->child + at + 1, inner->child + at, (inner->count - at) * sizeof *inner->child);
      inner->key[at] = key;
      inner->child[at] = child;
      inner->count++;
      if (!right)
        return;
      key = right->key[0];
      child = right;
    }
  inner = *spare;
  inner->count = 2;
  inner->key[0] = 0;
  inner->child[0] = index->root;
  inner->key[1] = key;
  inner->child[1] = child;
  index->root = inner;
  index->depth++;
}

/* Memory for all new nodes that a further leaf behind a way's takes; 0: there is none.  */
static inline int
gompy_index_spare (struct gompy_index *index, const struct gompy_path *path, struct gompy_leaf **leaf,
                   struct gompy_inner **spare)
{
  unsigned level = index->depth, n = 0, wanted = 0;
  while (level > 0 && path->inner[level - 1]->count == INDEX_INNER)
    {
      level--;
      wanted++;
    }
  wanted += level == 0;
  *leaf = index->depth < INDEX_DEPTH - 1 ? gompy_slabs_take (&index->leaves, sizeof **leaf) : NULL;
  while (*leaf && n < wanted && (spare[n] = gompy_slabs_take (&index->inners, sizeof *spare[n])))
    n++;
  if (*leaf && n == wanted)
    return 1;
  while (n)
    gompy_slabs_give (&index->inners, spare[--n]);
  if (*leaf)
    gompy_slabs_give (&index->leaves, *leaf);
  return 0;
}

/* Make room in a full leaf: its upper part, or nothing if what comes is the last of all, goes to a new one.  Returns
   the leaf for a place, which becomes the place in that one; NULL: no memory.  */
static inline struct gompy_leaf *
gompy_index_split (struct gompy_index *index, struct gompy_leaf *leaf, struct gompy_path *path, uintptr_t start,
                   size_t *at)
{
  struct gompy_inner *spare[INDEX_DEPTH];
  struct gompy_leaf *right;
  size_t keep = *at == INDEX_LEAF && !leaf->next ? INDEX_LEAF : INDEX_LEAF / 2;
  if (!gompy_index_spare (index, path, &right, spare))
    return NULL;
  gompy_guide_fit (&index->guide, index->count, leaf, leaf->start[INDEX_LEAF - 1] - leaf->start[0]);
  index->leaf = NULL;
  right->count = INDEX_LEAF - keep;
  memcpy (right->start, leaf->start + keep, right->count * sizeof *right->start);
  memcpy (right->range, leaf->range + keep, right->count * sizeof *right->range);
  memcpy (right->place, leaf->place + keep, right->count * sizeof *right->place);
  leaf->count = keep;
  right->prev = leaf;
  right->next = leaf->next;
  if (right->next)
    right->next->prev = right;
  leaf->next = right;
  gompy_index_grow (index, path, right->count ? right->start[0] : start, right, spare);
  if (*at <= keep && keep < INDEX_LEAF)
    return leaf;
  *at -= keep;
  return right;
}

/* 0; 1: the range overlaps one that is there; -1: no memory.  with: what is read with it later, or 0.  */
static inline int
gompy_index_insert (struct gompy_index *index, struct gompy_range *r, uintptr_t with)
{
  struct gompy_path path;
  struct gompy_leaf *leaf;
  uintptr_t place = 0;
  uintptr_t x = r->start + (r->start != r->end); /* behind an empty range that begins where it does */
  size_t at;
  if (!index->root)
    {
      if (!(index->root = leaf = gompy_slabs_take (&index->leaves, sizeof *leaf)))
        return -1;
      leaf->count = 0;
      leaf->next = leaf->prev = NULL;
      index->depth = 0;
      index->near = 0;
      index->low = UINTPTR_MAX;
      index->high = 0;
    }
  leaf = gompy_index_place (index, x, &at);
  /* No two of them overlap: what the new one overlaps is beside it.  */
  if (gompy_index_before (leaf, at, r->start, r->end) || gompy_index_at (leaf, at, r->start, r->end))
    return 1;
  if (leaf->count == INDEX_LEAF
      && !(leaf = gompy_index_split (index, gompy_index_way (index, x, &path), &path, r->start, &at)))
    return -1;
  if (with)
    {
      if (!index->near)
	index->near = with > INDEX_BELOW ? with - INDEX_BELOW : INDEX_UNIT;
      place = (with - index->near) / INDEX_UNIT;
      if (place >= INDEX_PLACES)
	place = 0;
    }
  gompy_index_open (leaf, at);
  gompy_leaf_put (leaf, at, r, place);
  if (r->start < index->low)
    index->low = r->start;
  if (r->end > index->high)
    index->high = r->end;
  index->count++;
  return 0;
}

/* Take the child that a way goes through out of the inner nodes.  */
static inline void
gompy_index_shrink (struct gompy_index *index, struct gompy_path *path)
{
  struct gompy_inner *inner;
  for (unsigned level = index->depth; level-- > 0;)
    {
      size_t at = path->at[level];
      inner = path->inner[level];
      inner->count--;
      memmove (inner->key + at, inner->key + at + 1, (inner->count - at) * sizeof *inner->key);
      memmove (inner->child + at, inner->child + at + 1, (inner->count - at) * sizeof *inner->child);
      if (inner->count)
        break;
      gompy_slabs_give (&index->inners, inner);
      if (level == 0)
        index->root = NULL;
    }
  while (index->root && index->depth && (inner = index->root)->count == 1)
    {
      index->root = inner->child[0];
      index->depth--;
      gompy_slabs_give (&index->inners, inner);
    }
  if (!index->root)
    index->depth = 0;
}

/* Give back a leaf that is empty now; path leads to it.  */
static inline void
gompy_index_drop (struct gompy_index *index, struct gompy_leaf *leaf, struct gompy_path *path)
{
  index->leaf = NULL;
  if (leaf->prev)
    leaf->prev->next = leaf->next;
  if (leaf->next)
    leaf->next->prev = leaf->prev;
  if (index->depth == 0)
    index->root = NULL;
  else
    gompy_index_shrink (index, path);
  if (!index->root)
    gompy_guide_end (&index->guide);
  leaf->count = 0; /* a guess may still be this one */
  gompy_slabs_give (&index->leaves, leaf);
}

/* A leaf that has become small joins the one behind it or before it in the same inner node, if both are small.  */
static inline void
gompy_index_join (struct gompy_index *index, struct gompy_leaf *leaf, struct gompy_path *path)
{
  struct gompy_inner *inner;
  size_t *at;
  struct gompy_leaf *other;
  if (index->depth == 0 || leaf->count > INDEX_LEAF / 4)
    return;
  inner = path->inner[index->depth - 1];
  at = &path->at[index->depth - 1];
  if (*at + 1 < inner->count)
    {
      other = leaf->next;
      ++*at;
    }
  else if (*at > 0)
    {
      other = leaf;
      leaf = leaf->prev;
    }
  else
    return;
  if (leaf->count + other->count > INDEX_LEAF * 3 / 4)
    return;
  memcpy (leaf->start + leaf->count, other->start, other->count * sizeof *other->start);
  memcpy (leaf->range + leaf->count, other->range, other->count * sizeof *other->range);
  memcpy (leaf->place + leaf->count, other->place, other->count * sizeof *other->place);
  leaf->count += other->count;
  gompy_index_drop (index, other, path);
}

/* Give back what an index without ranges keeps.  */
static inline void
gompy_index_end (struct gompy_index *index)
{
  gompy_guide_end (&index->guide);
  gompy_slabs_end (&index->leaves, NULL);
  gompy_slabs_end (&index->inners, NULL);
}

/* Take a range out; nothing happens if it is not in the index.  */
static inline void
gompy_index_remove (struct gompy_index *index, struct gompy_range *r)
{
  struct gompy_path path;
  struct gompy_leaf *leaf;
  size_t at;
  if (index->last == r)
    index->last = NULL;
  if (!index->root)
    return;
  leaf = gompy_index_place (index, r->start + 1, &at);
  if (at && gompy_leaf_range (leaf, at - 1) == r && leaf->count > (index->depth ? INDEX_LEAF / 4 + 1 : 1))
    {
      gompy_index_close (leaf, index->at = at - 1);
      index->count--;
      return;
    }
  for (uintptr_t x = r->start + 1; index->root && x + 1 > r->start; x--) /* an empty one may be in the leaf before */
    {
      leaf = gompy_index_way (index, x, &path);
      at = gompy_index_less (leaf->start, leaf->count, r->start);
      while (at < leaf->count && leaf->start[at] == r->start && gompy_leaf_range (leaf, at) != r)
        at++;
      if (at == leaf->count || gompy_leaf_range (leaf, at) != r)
        continue;
      gompy_index_close (leaf, at);
      index->count--;
      if (leaf->count == 0)
        gompy_index_drop (index, leaf, &path);
      else
        gompy_index_join (index, leaf, &path);
      return;
    }
}

#endif
