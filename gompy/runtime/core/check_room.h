/* `gompy run --check`: memory for what is known of ranges, apart from the program's heap.

   The handler of the watch (check_watch.h) uses it, and pages of the heap may be closed then.  Blocks have a power of 2
   as their size and are kept for the next; large ones are the system's.  Included once, by check_stale.h.  */
#ifndef GOMPY_CHECK_ROOM_H
#define GOMPY_CHECK_ROOM_H

#define GOMPY_ROOM_CLASSES 12u
#define GOMPY_ROOM_LEAST 64u  /* bytes of the first class */
#define GOMPY_ROOM_CHUNK (1u << 20)

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

/* SIZE bytes of zeros, or NULL.  */
static void *
gompy_room_get (size_t size)
{
  unsigned class = gompy_room_class (size);
  size_t whole = (size_t) GOMPY_ROOM_LEAST << class;
  void *block;
  if (class == GOMPY_ROOM_CLASSES)
    return gompy_check_room (size);
  if ((block = gompy_room_free[class]) != NULL)
    {
      memcpy (&gompy_room_free[class], block, sizeof block);
      return memset (block, 0, size);
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

static void
gompy_room_put (void *block, size_t size)
{
  unsigned class = gompy_room_class (size);
  if (block == NULL)
    return;
  if (class == GOMPY_ROOM_CLASSES)
    {
      munmap (block, size);
      return;
    }
  memcpy (block, &gompy_room_free[class], sizeof block);
  gompy_room_free[class] = block;
}

#endif
