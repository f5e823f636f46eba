/* The file of `gompy record`: lines of JSON, some with raw bytes behind them.  docs/replay.md has its layout,
   gompy/replay reads it.  Each line is written at once, so a program that ends in a region leaves a file of whole
   lines.  Included once, by libgompy.pyx and by libcuda.pyx, each of which has a file of its own.  */
#ifndef GOMPY_RECORD_FILE_H
#define GOMPY_RECORD_FILE_H

#include "gompy/native/descriptors.h"
#include "gompy/native/file_size.h"
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GOMPY_RECORD_VERSION 1  /* of the file */
#define GOMPY_RECORD_CHUNK (1u << 20)

#ifndef GOMPY_RECORD_VOICE
#define GOMPY_RECORD_VOICE "libgompy"
#endif

/* Device memory that is there: a block, or a variable of an image.  */
struct gompy_record_block
{
  uintptr_t start;
  size_t size;
  int device;
  int image;      /* that the variable is of, -1: a block */
  uint64_t blob;  /* what had its contents last, plus 1 */
  uint64_t hash;
};

static struct
{
  struct gompy_written file;
  pid_t pid;
  int over;
  uint64_t written, limit, blobs;
  uint64_t dropped;  /* regions that are left out again */
  char *line;
  size_t used, room;
  char *chunk;
} gompy_record;

static pthread_mutex_t gompy_record_lock = PTHREAD_MUTEX_INITIALIZER;

/* --- lines -------------------------------------------------------------------------------------------------------- */

/* Nothing more is written; the program goes on.  */
static void
gompy_record_stop (const char *why)
{
  if (!gompy_record.over)
    fprintf (stderr, GOMPY_RECORD_VOICE ": the recording ends here: %s\n", why);
  gompy_record.over = 1;
}

static void
gompy_record_write (const char *from, size_t n)
{
  int fd = n && !gompy_record.over ? gompy_fd_of_written (&gompy_record.file) : -1;
  while (n && !gompy_record.over)
    {
      ssize_t done = gompy_write (fd, from, n);
      if (done < 0 && errno == EINTR)
        continue;
      if (done <= 0)
        {
          gompy_record_stop (done < 0 ? strerror (errno) : "nothing was written");
          return;
        }
      from += done;
      n -= (size_t) done;
      gompy_record.written += (uint64_t) done;
    }
}

/* Add to the line.  */
static void __attribute__ ((format (printf, 1, 2)))
gompy_record_put (const char *format, ...)
{
  for (;;)
    {
      size_t left = gompy_record.room - gompy_record.used;
      va_list list;
      va_start (list, format);
      int n = vsnprintf (gompy_record.line + gompy_record.used, left, format, list);
      va_end (list);
      if (n >= 0 && (size_t) n < left)
        {
          gompy_record.used += (size_t) n;
          return;
        }
      char *more = n < 0 ? NULL : realloc (gompy_record.line, 2 * gompy_record.room + (size_t) n);
      if (more == NULL)
        {
          gompy_record_stop ("out of memory");
          return;
        }
      gompy_record.line = more;
      gompy_record.room = 2 * gompy_record.room + (size_t) n;
    }
}

/* Add a string of JSON.  Bytes that are not ASCII are given as those of Latin-1.  */
static void
gompy_record_string (const char *text)
{
  gompy_record_put ("\"");
  for (; text != NULL && *text; text++)
    if (*text == '"' || *text == '\\')
      gompy_record_put ("\\%c", *text);
    else if (*text >= 32 && *text < 127)
      gompy_record_put ("%c", *text);
    else
      gompy_record_put ("\\u%04x", (unsigned char) *text);
  gompy_record_put ("\"");
}

/* Write the line, and N bytes behind it.  */
static void
gompy_record_end_line (const void *bytes, size_t n)
{
  gompy_record_put ("}\n");
  if (!gompy_record.over)
    gompy_record_write (gompy_record.line, gompy_record.used);
  gompy_record_write (bytes, n);
  gompy_record.used = 0;
}

/* Whether N more bytes are within the limit.  If not, the last line says so.  */
static int
gompy_record_has_room (uint64_t n)
{
  if (gompy_record.over)
    return 0;
  if (n <= gompy_record.limit && gompy_record.written <= gompy_record.limit - n)
    return 1;
  gompy_record.used = 0;
  gompy_record_put ("{\"is\": \"limit\", \"bytes\": 0, \"limit\": %llu", (unsigned long long) gompy_record.limit);
  gompy_record_end_line (NULL, 0);
  gompy_record.over = 1;
  return 0;
}

/* A number that the environment has; the largest one where it has none.  */
static uint64_t
gompy_record_number (const char *name)
{
  const char *text = secure_getenv (name);
  return text && *text ? strtoull (text, NULL, 10) : UINT64_MAX;
}

/* Seconds of GOMPY_RECORD_WAIT: how long others wait for the end of what is recorded.  */
static double
gompy_record_seconds (void)
{
  const char *text = secure_getenv ("GOMPY_RECORD_WAIT");
  char *end = NULL;
  double seconds = text && *text ? strtod (text, &end) : 0;
  return end && !*end && seconds > 0 && seconds < 1e6 ? seconds : 30;
}

/* Make the file, with its first line, by GOMPY_RECORD_BYTES.  False: errno says why not.  */
static int
gompy_record_open (const char *path)
{
  char program[600];
  int fd;
  gompy_record.room = 1 << 16;
  gompy_record.line = malloc (gompy_record.room);
  gompy_record.chunk = malloc (GOMPY_RECORD_CHUNK);
  if (gompy_record.line == NULL || gompy_record.chunk == NULL)
    {
      errno = ENOMEM;
      return 0;
    }
  fd = gompy_open (path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL, 0600);
  if (!gompy_begin_written (&gompy_record.file, path, fd, O_WRONLY | O_APPEND))
    return 0;
  gompy_record.pid = getpid ();
  gompy_record.limit = gompy_record_number ("GOMPY_RECORD_BYTES");
  ssize_t length = readlink ("/proc/self/exe", program, sizeof program - 1);
  program[length > 0 ? length : 0] = 0;
  gompy_record_put ("{\"is\": \"gompy recording\", \"version\": %d, \"program\": ", GOMPY_RECORD_VERSION);
  gompy_record_string (program);
  gompy_record_end_line (NULL, 0);
  return 1;
}

/* The program ends, with so many regions.  */
static void
gompy_record_close (uint64_t regions)
{
  pthread_mutex_lock (&gompy_record_lock);
  if (!gompy_record.over)
    {
      gompy_record_put ("{\"is\": \"end\", \"regions\": %llu", (unsigned long long) regions);
      gompy_record_end_line (NULL, 0);
    }
  pthread_mutex_unlock (&gompy_record_lock);
}

/* --- contents of memory ------------------------------------------------------------------------------------------- */

static uint64_t
gompy_record_hash (uint64_t h, const char *at, size_t n)
{
  uint64_t word;
  for (; n >= 8; n -= 8, at += 8)
    {
      memcpy (&word, at, 8);
      h = (h ^ word) * 0xff51afd7ed558ccdull;
      h ^= h >> 32;
    }
  for (; n; n--, at++)
    h = (h ^ (unsigned char) *at) * 0xff51afd7ed558ccdull;
  return h ^ h >> 29;
}

typedef int (*gompy_record_peek) (void *device, void *to, uintptr_t from, size_t n);

/* Have the contents of a block in the file, unless they are there.  Returns the blob's number, or -1: they can't be
   read, or the file has no room.  The lock is held, and the line is empty.  */
static long long
gompy_record_contents (struct gompy_record_block *block, void *device, gompy_record_peek peek)
{
  uint64_t hash = 0x9E3779B97F4A7C15ull ^ block->size;
  for (size_t at = 0; at < block->size; at += GOMPY_RECORD_CHUNK)
    {
      size_t n = block->size - at < GOMPY_RECORD_CHUNK ? block->size - at : GOMPY_RECORD_CHUNK;
      if (!peek (device, gompy_record.chunk, block->start + at, n))
        return -1;
      hash = gompy_record_hash (hash, gompy_record.chunk, n);
    }
  if (block->blob && block->hash == hash)
    return (long long) block->blob - 1;
  if (!gompy_record_has_room (block->size + 64))
    return -1;
  gompy_record.used = 0;
  gompy_record_put ("{\"is\": \"blob\", \"blob\": %llu, \"bytes\": %zu", (unsigned long long) gompy_record.blobs,
                    block->size);
  int whole = block->size <= GOMPY_RECORD_CHUNK;
  gompy_record_end_line (gompy_record.chunk, whole ? block->size : 0);
  for (size_t at = 0; !whole && at < block->size; at += GOMPY_RECORD_CHUNK)
    {
      size_t n = block->size - at < GOMPY_RECORD_CHUNK ? block->size - at : GOMPY_RECORD_CHUNK;
      if (!peek (device, gompy_record.chunk, block->start + at, n))
        memset (gompy_record.chunk, 0, n);
      gompy_record_write (gompy_record.chunk, n);
    }
  block->hash = hash;
  block->blob = ++gompy_record.blobs;
  return gompy_record.over ? -1 : (long long) gompy_record.blobs - 1;
}

#endif
