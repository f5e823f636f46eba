/* Entries of the caches that compiled fronts answer from (lto-wrapper's, the drivers'); gompy/tools/entries.py writes
   them.

   An entry is believed if it is whole, the key is its own, and each file that had a part in it is as it was.  Nothing
   here fails: what is unusual is no entry.  */
#ifndef GOMPY_NATIVE_KEPT_ENTRIES_H
#define GOMPY_NATIVE_KEPT_ENTRIES_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "blake2b.h"
#include "own_folders.h"

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

/* The variables of the environment that begin like one of those.  */
static inline void
text_add_environment (struct text *text, const char *const *beginnings, size_t count)
{
  for (char **variable = environ; *variable != NULL; variable++)
    for (size_t i = 0; i < count; i++)
      if (strncmp (*variable, beginnings[i], strlen (beginnings[i])) == 0)
        text_add_string (text, *variable);
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
   what is kept, of which there are that many ITEMS.  Lengths are 64-bit and count no end.  */
struct entry
{
  char magic[8];
  uint8_t key[GOMPY_DIGEST];
  uint8_t check[GOMPY_DIGEST];          /* of all that follows */
  uint64_t dependencies;
  uint64_t items;
};

/* A file that has to be as it was; zeros: that has to be missing.  */
struct state
{
  uint64_t inode, size, changed, modified;
};

struct reader
{
  const char *at, *end;
};

/* That many bytes of the entry, NULL if there are not as many.  */
static inline const char *
take (struct reader *reader, uint64_t size)
{
  const char *at = reader->at;
  if (size > (uint64_t) (reader->end - at))
    return NULL;
  reader->at += size;
  return at;
}

/* A number; all ones if there is none.  */
static inline uint64_t
take_number (struct reader *reader)
{
  uint64_t number = ~0ull;
  const char *at = take (reader, sizeof number);
  if (at != NULL)
    memcpy (&number, at, sizeof number);
  return number;
}

/* A string with its end, NULL if there is none.  */
static inline const char *
take_string (struct reader *reader)
{
  uint64_t length = take_number (reader);
  const char *at = length < 1u << 20 ? take (reader, length + 1) : NULL;
  return at != NULL && at[length] == 0 && strlen (at) == length ? at : NULL;
}

/* Whether a file is as it was when the entry was written.  */
static inline int
is_as_it_was (const char *path, const struct state *was)
{
  struct stat status;
  if (stat (path, &status) != 0)
    return errno == ENOENT && was->inode == 0;
  return (status.st_ino == was->inode && (uint64_t) status.st_size == was->size
          && (uint64_t) status.st_ctim.tv_sec * 1000000000 + (uint64_t) status.st_ctim.tv_nsec == was->changed
          && (uint64_t) status.st_mtim.tv_sec * 1000000000 + (uint64_t) status.st_mtim.tv_nsec == was->modified);
}

/* The entry of that key, if there is one and all is as it was: the bytes, to be freed, READER before what is kept, and
   the number of its items.  Else NULL.  */
static inline char *
kept_entry (int folder, const char *name, const char *magic, const uint8_t key[GOMPY_DIGEST], struct reader *reader,
            uint64_t *items)
{
  const size_t from = offsetof (struct entry, dependencies);
  struct entry head;
  struct stat status;
  uint8_t check[GOMPY_DIGEST];
  size_t size;
  char *data;
  int good, fd = gompy_openat (folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
  if (fd < 0)
    return NULL;
  if (fstat (fd, &status) != 0 || !gompy_is_ours (&status))
    {
      close (fd);
      return NULL;
    }
  futimens (fd, NULL);                  /* in use: entries.py removes those that have not been for longest */
  data = whole_file (fd, &size);
  if (data == NULL)
    return NULL;
  good = size >= sizeof head;
  if (good)
    {
      memcpy (&head, data, sizeof head);
      gompy_blake (data + from, size - from, check);
      good = memcmp (head.magic, magic, sizeof head.magic) == 0 && memcmp (head.key, key, sizeof head.key) == 0
             && memcmp (head.check, check, sizeof check) == 0;
    }
  reader->at = data + sizeof head;
  reader->end = data + size;
  for (uint64_t i = 0; good && i < head.dependencies; i++)
    {
      struct state state;
      const char *was = take (reader, sizeof state), *path = take_string (reader);
      if (was != NULL)
        memcpy (&state, was, sizeof state);
      good = was != NULL && path != NULL && is_as_it_was (path, &state);
    }
  if (good)
    {
      *items = head.items;
      return data;
    }
  free (data);
  return NULL;
}

/* A key as the name of its entry.  */
static inline void
entry_name (const uint8_t key[GOMPY_DIGEST], char name[2 * GOMPY_DIGEST + 1])
{
  for (int i = 0; i < GOMPY_DIGEST; i++)
    snprintf (name + 2 * i, 3, "%02x", key[i]);
}

/* Have Python write an entry: its word KEY:FOLDER:BEGAN, for which it inherits the folder.  BEGAN is the time before
   which all that the key is made of was as it is.  */
static inline void
entry_word (const char *name, int folder, const struct timespec *began, char *word, size_t size)
{
  fcntl (folder, F_SETFD, 0);
  snprintf (word, size, "%s:%d:%lld", name, folder, (long long) began->tv_sec * 1000000000 + began->tv_nsec);
}

#endif
