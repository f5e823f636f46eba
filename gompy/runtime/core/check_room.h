/* `gompy run --check`: memory for what is known of ranges, apart from the program's heap.

   The handler of the watch (check_watch.h) uses it, and pages of the heap may be closed then.  Blocks have a power of 2
   as their size and are kept for the next.  Large ones are the system's.  Some are kept, as a region that maps its
   arrays anew asks for the same ones each time, and new pages cost more than what is done with them.
   Included once, by check_stale.h.  */
#ifndef GOMPY_CHECK_ROOM_H
#define GOMPY_CHECK_ROOM_H

#define GOMPY_ROOM_CLASSES 12u
#define GOMPY_ROOM_LEAST 64u  /* bytes of the first class */
#define GOMPY_ROOM_CHUNK (1u << 20)
#define GOMPY_ROOM_KEPT (64ull << 20)  /* bytes of large blocks */
#define GOMPY_ROOM_KEPT_BLOCKS 64u

static void *gompy_room_free[GOMPY_ROOM_CLASSES];  /* the first word of each leads to the next */
static char *gompy_room_next, *gompy_room_end;

/* Of blocks of SIZE; GOMPY_ROOM_CLASSES: it is a large one.  */
static unsigned
gompy_room_class (size_t size)
{
  unsigned n = 0;
  while (n < GOMPY_ROOM_CLASSES && (size_t) GOMPY_ROOM_LEAST << n < size)
    n++;
  return n;
}

static struct
{
  void *block;
  size_t size;
} gompy_room_large[GOMPY_ROOM_KEPT_BLOCKS];
static unsigned gompy_room_large_count;
static size_t gompy_room_large_bytes;

/* A large block; *NEW: of zeros.  */
static void *
gompy_room_get_large (size_t size, int *new)
{
  *new = 0;
  for (unsigned i = gompy_room_large_count; i-- > 0;)
    if (gompy_room_large[i].size == size)
      {
        void *block = gompy_room_large[i].block;
        gompy_room_large[i] = gompy_room_large[--gompy_room_large_count];
        gompy_room_large_bytes -= size;
        return block;
      }
  *new = 1;
  return gompy_check_room (size);
}

/* SIZE bytes of anything, or NULL; *NEW: they are zeros.  */
static void *
gompy_room_take (size_t size, int *new)
{
  unsigned class = gompy_room_class (size);
  size_t whole = (size_t) GOMPY_ROOM_LEAST << class;
  void *block;
  if (class == GOMPY_ROOM_CLASSES)
    return gompy_room_get_large (size, new);
  *new = (block = gompy_room_free[class]) == NULL;
  if (block != NULL)
    {
      memcpy (&gompy_room_free[class], block, sizeof block);
      return block;
    }
  if ((size_t) (gompy_room_end - gompy_room_next) < whole)
    {
      if ((block = gompy_check_room (GOMPY_ROOM_CHUNK)) == NULL)
        return NULL;
      gompy_room_next = block;
      gompy_room_end = gompy_room_next + GOMPY_ROOM_CHUNK;
    }
  block = gompy_room_next;
  gompy_room_next += whole;
  return block;
}

/* SIZE bytes of zeros, or NULL.  */
static void *
gompy_room_get (size_t size)
{
  int new;
  void *block = gompy_room_take (size, &new);
  return block == NULL || new ? block : memset (block, 0, size);
}

static void
gompy_room_put (void *block, size_t size)
{
  unsigned class = gompy_room_class (size);
  if (block == NULL)
    return;
  if (class == GOMPY_ROOM_CLASSES)
    {
      if (gompy_room_large_count == GOMPY_ROOM_KEPT_BLOCKS || gompy_room_large_bytes + size > GOMPY_ROOM_KEPT)
        {
          munmap (block, size);
          return;
        }
      gompy_room_large[gompy_room_large_count].block = block;
      gompy_room_large[gompy_room_large_count++].size = size;
      gompy_room_large_bytes += size;
      return;
    }
  memcpy (block, &gompy_room_free[class], sizeof block);
  gompy_room_free[class] = block;
}

#endif
