/* What the parts of front.c share: text that grows, whole files, and how an entry of the cache of links is laid out
   (lto_wrapper/entry.py writes it).  */
#ifndef LTO_WRAPPER_FRONT_H
#define LTO_WRAPPER_FRONT_H

#include <stddef.h>
#include <stdint.h>

#include "gompy/native/blake2b.h"
#include "gompy/native/own_folders.h"

/* Bytes that grow; `data` is NULL after memory has run out.  */
struct text
{
  char *data;
  size_t used, room;
};

static inline void
text_add (struct text *text, const void *data, size_t size)
{
  if (text->data == NULL && text->room)
    return;
  if (text->used + size > text->room)
    {
      size_t room = 2 * (text->used + size) + 4096;
      char *more = realloc (text->data, room);
      if (more == NULL)
        free (text->data);
      text->data = more;
      text->room = room;
      if (more == NULL)
        return;
    }
  memcpy (text->data + text->used, data, size);
  text->used += size;
}

/* A string with its end, so that two of them are not another one.  */
static inline void
text_add_string (struct text *text, const char *string)
{
  text_add (text, string, strlen (string) + 1);
}

/* All of a regular file; NULL if that cannot be had.  What is at `data[size]` is 0.  */
static inline char *
whole_file (int fd, size_t *size)
{
  struct stat status;
  char *data = NULL;
  size_t have = 0;
  ssize_t count = 1;
  if (fd < 0)
    return NULL;
  if (fstat (fd, &status) == 0 && S_ISREG (status.st_mode))
    data = malloc ((size_t) status.st_size + 1);
  while (data != NULL && have < (size_t) status.st_size && count > 0)
    {
      count = read (fd, data + have, (size_t) status.st_size - have);
      if (count < 0 && errno == EINTR)
        count = 1;
      else if (count > 0)
        have += (size_t) count;
    }
  if (data != NULL && have != (size_t) status.st_size)
    {
      free (data);
      data = NULL;
    }
  if (data != NULL)
    data[have] = 0;
  *size = have;
  close (fd);
  return data;
}

/* An entry: this head, then for each dependency `struct state`, the length of its path and the path with its end; then
   for each object the length of its suffix, the suffix with its end, the bytes' number, the bytes.  Lengths are 64-bit
   and count no end.  */
#define ENTRY_MAGIC "gompylk1"

struct entry
{
  char magic[8];
  uint8_t key[GOMPY_DIGEST];
  uint8_t check[GOMPY_DIGEST];          /* of all that follows */
  uint64_t dependencies;
  uint64_t objects;
};

/* A file that has to be as it was; zeros: that has to be missing.  */
struct state
{
  uint64_t inode, size, changed, modified;
};

#endif
