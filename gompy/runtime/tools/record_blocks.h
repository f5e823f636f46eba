/* What `gompy record` has of the devices: their memory that is there, and the entries of the directive that a thread is
   in.  Included once, by libgompy.pyx.  */
#ifndef GOMPY_RECORD_BLOCKS_H
#define GOMPY_RECORD_BLOCKS_H

#include "gompy/native/record_file.h"

/* An entry of the directive that the thread is in.  */
struct gompy_record_entry
{
  size_t entry, size;
  uintptr_t host, target;
  int kind, detail;
};

static struct
{
  struct gompy_record_block *blocks;
  size_t num_blocks, room_blocks;
} gompy_record_memory;

static __thread struct
{
  uint64_t construct;
  size_t used, room;
  struct gompy_record_entry *entries;
} gompy_record_maps;

static void
gompy_record_add_block (int device, uintptr_t start, size_t size, int image)
{
  if (gompy_record_memory.num_blocks == gompy_record_memory.room_blocks)
    {
      size_t room = 2 * gompy_record_memory.room_blocks + 64;
      struct gompy_record_block *more = realloc (gompy_record_memory.blocks, room * sizeof *more);
      if (more == NULL)
        {
          gompy_record_stop ("out of memory");
          return;
        }
      gompy_record_memory.blocks = more;
      gompy_record_memory.room_blocks = room;
    }
  struct gompy_record_block block = { start, size, device, image, 0, 0 };
  gompy_record_memory.blocks[gompy_record_memory.num_blocks++] = block;
}

static void
gompy_record_drop_block (int device, uintptr_t start)
{
  for (size_t i = gompy_record_memory.num_blocks; i-- > 0;)
    if (gompy_record_memory.blocks[i].start == start && gompy_record_memory.blocks[i].device == device
        && gompy_record_memory.blocks[i].image < 0)
      {
        /* They stay in the order in which they were made.  */
        memmove (gompy_record_memory.blocks + i, gompy_record_memory.blocks + i + 1,
                 (--gompy_record_memory.num_blocks - i) * sizeof *gompy_record_memory.blocks);
        return;
      }
}

static void
gompy_record_drop_image (int device, int image)
{
  size_t kept = 0;
  for (size_t i = 0; i < gompy_record_memory.num_blocks; i++)
    if (gompy_record_memory.blocks[i].image != image || gompy_record_memory.blocks[i].device != device)
      gompy_record_memory.blocks[kept++] = gompy_record_memory.blocks[i];
  gompy_record_memory.num_blocks = kept;
}

/* Note an entry of a directive.  */
static void
gompy_record_note (uint64_t construct, const struct gompy_record_entry *entry)
{
  if (gompy_record_maps.construct != construct)
    {
      gompy_record_maps.construct = construct;
      gompy_record_maps.used = 0;
    }
  if (gompy_record_maps.used == gompy_record_maps.room)
    {
      size_t room = 2 * gompy_record_maps.room + 16;
      struct gompy_record_entry *more = realloc (gompy_record_maps.entries, room * sizeof *more);
      if (more == NULL)
        return;
      gompy_record_maps.entries = more;
      gompy_record_maps.room = room;
    }
  gompy_record_maps.entries[gompy_record_maps.used++] = *entry;
}

#endif
