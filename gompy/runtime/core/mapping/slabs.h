/* Pieces of memory of one size: the records of mappings, the nodes of their index.

   No header of malloc's, and neighbours in time are neighbours in memory.  Slabs grow up to 4 MiB; those of 2 MiB and
   more are on huge pages where the system gives them, for what is used at random among millions of pieces costs as much
   for the page tables as for itself.  With no piece in use the slabs go back, all but the newest.  */

#ifndef GOMPY_SLABS_H
#define GOMPY_SLABS_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#define GOMPY_SLABS 0 /* so that the use of a piece that is gone is seen */
#else
#define GOMPY_SLABS 1
#endif
#define GOMPY_FIRST_SLAB ((size_t) 4096)
#define GOMPY_LARGEST_SLAB ((size_t) 4 << 20)
#define GOMPY_HUGE_PAGE ((size_t) 2 << 20)

struct gompy_slab
{
  struct gompy_slab *next;
  size_t size;
};

/* Pieces of one size.  Zero: none yet.  */
struct gompy_slabs
{
  void *free;               /* pieces, chained by their first words */
  char *fresh, *fresh_end;  /* in the newest slab: what has never been used */
  struct gompy_slab *slabs; /* the newest first */
  size_t used;              /* pieces */
};

/* Memory of so many bytes, a power of two; NULL: there is none.  */
static inline void *
gompy_slab_memory (size_t size)
{
  char *p, *begin;
  if (size < GOMPY_HUGE_PAGE)
    return malloc (size);
  p = mmap (NULL, size + GOMPY_HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    return NULL;
  begin = (char *) (((uintptr_t) p + GOMPY_HUGE_PAGE - 1) & ~(GOMPY_HUGE_PAGE - 1));
  if (begin != p)
    munmap (p, (size_t) (begin - p));
  if (begin != p + GOMPY_HUGE_PAGE)
    munmap (begin + size, (size_t) (p + GOMPY_HUGE_PAGE - begin));
  madvise (begin, size, MADV_HUGEPAGE);
  return begin;
}

static inline void
gompy_slab_memory_end (void *memory, size_t size)
{
  if (size < GOMPY_HUGE_PAGE)
    free (memory);
  else
    munmap (memory, size);
}

/* All of the newest slab is unused.  Pieces that are whole lines of the processor's cache begin with one.  */
static inline void
gompy_slab_fresh (struct gompy_slabs *s)
{
  s->fresh = (char *) (((uintptr_t) (s->slabs + 1) + 63) & ~(uintptr_t) 63);
  s->fresh_end = (char *) s->slabs + s->slabs->size;
}

/* A further slab; 0: there is no memory.  */
static __attribute__ ((noinline)) int
gompy_slabs_grow (struct gompy_slabs *s)
{
  size_t size = s->slabs == NULL ? GOMPY_FIRST_SLAB : 2 * s->slabs->size;
  struct gompy_slab *slab = gompy_slab_memory (size < GOMPY_LARGEST_SLAB ? size : (size = GOMPY_LARGEST_SLAB));
  if (slab == NULL && size > GOMPY_FIRST_SLAB)
    slab = gompy_slab_memory (size = GOMPY_FIRST_SLAB);
  if (slab == NULL)
    return 0;
  slab->size = size;
  slab->next = s->slabs;
  s->slabs = slab;
  gompy_slab_fresh (s);
  return 1;
}

/* A piece of so many bytes, the same each time; NULL: there is no memory.  */
static inline void *
gompy_slabs_take (struct gompy_slabs *s, size_t bytes)
{
  void *piece = s->free;
  if (!GOMPY_SLABS)
    return malloc (bytes);
  if (piece != NULL)
    s->free = *(void **) piece;
  else
    {
      if ((size_t) (s->fresh_end - s->fresh) < bytes && !gompy_slabs_grow (s))
        return NULL;
      piece = s->fresh;
      s->fresh += bytes;
    }
  s->used++;
  return piece;
}

/* Give slabs back, all but one or, with NULL, all.  No piece is used any more.  */
static __attribute__ ((noinline)) void
gompy_slabs_end (struct gompy_slabs *s, struct gompy_slab *kept)
{
  struct gompy_slab *slab;
  while ((slab = s->slabs) != NULL)
    {
      s->slabs = slab->next;
      if (slab == kept)
        continue;
      gompy_slab_memory_end (slab, slab->size);
    }
  s->free = NULL;
  s->fresh = s->fresh_end = NULL;
  if (kept != NULL)
    {
      kept->next = NULL;
      s->slabs = kept;
      gompy_slab_fresh (s);
    }
}

/* A piece is used no more.  */
static inline void
gompy_slabs_give (struct gompy_slabs *s, void *piece)
{
  if (!GOMPY_SLABS)
    {
      free (piece);
      return;
    }
  *(void **) piece = s->free;
  s->free = piece;
  if (__builtin_expect (--s->used == 0, 0) && s->slabs->next != NULL)
    gompy_slabs_end (s, s->slabs);
}

#endif
