/* `gompy run --check`: whether a mapping goes beyond the block that malloc gave the program there.

   Or begins before it, as a section of Fortran's that starts at 0 does where the array starts at 1.

   What stands before a block of glibc's malloc says how large it is.  A mapping may begin within a block, where that is
   the program's own data: so what looks too small is looked for once more, from block to block from the heap's begin
   on.  Blocks of threads' own heaps, and those of other allocators, are not looked at.
   Included once, by check_stale.h.  */
#ifndef GOMPY_CHECK_HEAP_H
#define GOMPY_CHECK_HEAP_H

#include <sys/single_threaded.h>
#include <unistd.h>

#define GOMPY_HEAP_BLOCKS 200000u
#define GOMPY_HEAP_HEAD 16u       /* struct malloc_chunk before the block: the size of what is before it, its own */
#define GOMPY_HEAP_SHARED 8u      /* so far the block goes into the head behind it */
#define GOMPY_HEAP_LEAST 32u
#define GOMPY_HEAP_MAPPED 2u      /* of the size's low bits: the block has a mapping of its own */
#define GOMPY_HEAP_MAPPED_LEAST (128u << 10)

static int gompy_read_host (void *to, uintptr_t from, size_t size);

/* Where the heap begins, if malloc is glibc's; or 0.  */
static uintptr_t
gompy_heap_begin (void)
{
  static uintptr_t begin;
  static int known;
  Dl_info info;
  char line[256];
  void *allocator;
  FILE *maps;
  if (known)
    return begin;
  known = 1;
  allocator = dlsym (RTLD_DEFAULT, "malloc");
  if (allocator == NULL || dladdr (allocator, &info) == 0 || info.dli_fname == NULL
      || strstr (info.dli_fname, "/libc.so") == NULL || (maps = gompy_fopen ("/proc/self/maps")) == NULL)
    return 0;
  while (begin == 0 && fgets (line, sizeof line, maps) != NULL)
    if (strstr (line, "[heap]") != NULL)
      begin = strtoull (line, NULL, 16);
  fclose (maps);
  return begin;
}

/* What stands at an address, maybe in the heap: all of that is there, as long as no other thread gives some back.  A
   read by the kernel takes a microsecond and a half, and there are three for each array that a region maps anew.  */
static int
gompy_heap_head (size_t head[2], uintptr_t at, uintptr_t begin, uintptr_t end)
{
  if ((__libc_single_threaded || gompy_watch_single) && begin <= at && at + GOMPY_HEAP_HEAD <= end)
    {
      gompy_need_held (at, GOMPY_HEAP_HEAD, 0);
      memcpy (head, (const void *) at, GOMPY_HEAP_HEAD);
      return 1;
    }
  return gompy_read_host (head, at, GOMPY_HEAP_HEAD);
}

/* The head of the block that has an address, from the heap's begin on; or 0.  */
static uintptr_t
gompy_heap_find (uintptr_t begin, uintptr_t end, uintptr_t address)
{
  size_t head[2], size;
  for (unsigned n = 0; n < GOMPY_HEAP_BLOCKS && begin + GOMPY_HEAP_LEAST <= end; n++, begin += size)
    {
      if (!gompy_heap_head (head, begin, begin, end))
        return 0;
      size = head[1] & ~(size_t) 7;
      if (size < GOMPY_HEAP_LEAST || size % 16 != 0 || size > end - begin)
        return 0;
      if (address - begin < size)
        return begin;
    }
  return 0;
}

/* The head at AT, if that may be one: in the heap, or (*MAPPED) of a block that has a mapping of its own.  */
static int
gompy_heap_look (size_t head[2], uintptr_t at, uintptr_t begin, uintptr_t end, int *mapped)
{
  int inside = begin <= at && at < end;
  *mapped = 0;
  if (begin == 0 || (!inside && at % GOMPY_PAGE != 0) || !gompy_heap_head (head, at, begin, end))
    return 0;
  *mapped = at % GOMPY_PAGE == 0 && head[0] == 0 && (head[1] & 7) == GOMPY_HEAP_MAPPED
            && (head[1] & ~(size_t) 7) % GOMPY_PAGE == 0 && head[1] >= GOMPY_HEAP_MAPPED_LEAST;
  return inside || *mapped;
}

/* Whether open pages are one block that has a mapping of its own, for all that its head says.  */
static int
gompy_is_own_block (uintptr_t begin, uintptr_t end)
{
  size_t head[2];
  memcpy (head, (const void *) begin, GOMPY_HEAP_HEAD);
  return gompy_heap_begin () != 0 && head[0] == 0 && head[1] == ((end - begin) | GOMPY_HEAP_MAPPED);
}

/* Whether a block of malloc's begins there, for all that its head and the next one's say.  */
static int
gompy_heap_begins (uintptr_t host)
{
  uintptr_t begin = gompy_heap_begin (), end = (uintptr_t) sbrk (0), at = host - GOMPY_HEAP_HEAD;
  size_t head[2], next[2], block;
  int mapped;
  if (host % 16 != 0 || !gompy_heap_look (head, at, begin, end, &mapped))
    return 0;
  block = head[1] & ~(size_t) 7;
  if (mapped)
    return 1;
  if (block < GOMPY_HEAP_LEAST || block % 16 != 0 || block > end - at
      || !gompy_heap_head (next, at + block, begin, end))
    return 0;
  return (next[1] & 1) != 0 && (next[1] & ~(size_t) 7) <= end - at - block;  /* the one before it is in use */
}

/* How many bytes the program has from HOST on, if those are fewer than SIZE; or 0.  */
static size_t
gompy_heap_short (uintptr_t host, size_t size)
{
  uintptr_t begin = gompy_heap_begin (), end = (uintptr_t) sbrk (0), at = host - GOMPY_HEAP_HEAD;
  size_t head[2], block;
  int mapped;
  if (host % 16 != 0 || !gompy_heap_look (head, at, begin, end, &mapped))
    return 0;
  block = head[1] & ~(size_t) 7;
  if (mapped)
    return size > block - GOMPY_HEAP_HEAD ? block - GOMPY_HEAP_HEAD : 0;
  if (block < GOMPY_HEAP_LEAST || block % 16 != 0 || block > end - at
      || size <= block - GOMPY_HEAP_HEAD + GOMPY_HEAP_SHARED || gompy_heap_find (begin, end, host) != at)
    return 0;
  return block - GOMPY_HEAP_HEAD + GOMPY_HEAP_SHARED;
}

/* How many bytes HOST lies before its block: from a block's size on nothing is the program's; or 0.  */
static size_t
gompy_heap_before (uintptr_t host)
{
  uintptr_t begin = gompy_heap_begin (), end = (uintptr_t) sbrk (0), at = host & ~(uintptr_t) 15;
  size_t head[2];
  int mapped;
  if (host % 16 < GOMPY_HEAP_SHARED || !gompy_heap_look (head, at, begin, end, &mapped)
      || (!mapped && gompy_heap_find (begin, end, host) != at))
    return 0;
  return at + GOMPY_HEAP_HEAD - host;
}

#endif
