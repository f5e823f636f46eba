/* Stores of kernels to memory that is watched (GOMPY_CUDA_STORES): which ranges, and the lines that tell them.

   The file that the variable names has a range a line, address and bytes in hexadecimal.  It is read when a kernel
   begins.  FILE.log gets a line of JSON for each store to one of them, in the order in which they were done.  */
#ifndef GOMPY_PTX_STORES_H
#define GOMPY_PTX_STORES_H

#include "gompy/native/descriptors.h"
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GOMPY_STORE_LINES = 1000000, GOMPY_STORE_RANGES = 4096 };

struct gompy_stores
{
  FILE *log;
  uint64_t low, high;                   /* what all ranges lie in */
  uint32_t count, lines;
  struct { uint64_t start, size; } range[GOMPY_STORE_RANGES];
};

static void
gompy_stores_close (struct gompy_stores *s)
{
  if (s->log)
    fclose (s->log);
  s->log = NULL;
}

/* Begin: read the ranges of the file PATH.  0: nothing is watched.  */
static int
gompy_stores_open (struct gompy_stores *s, const char *path)
{
  char name[4096];
  FILE *file = gompy_fopen (path);
  uint64_t start, size;
  int fd;
  s->count = s->lines = 0;
  s->low = UINT64_MAX;
  s->high = 0;
  if (!file)
    return 0;
  while (s->count < GOMPY_STORE_RANGES && fscanf (file, "%" SCNx64 " %" SCNx64, &start, &size) == 2)
    if (size)
      {
	s->range[s->count].start = start;
	s->range[s->count++].size = size;
	s->low = start < s->low ? start : s->low;
	s->high = start + size > s->high ? start + size : s->high;
      }
  fclose (file);
  if (!s->count || snprintf (name, sizeof (name), "%s.log", path) >= (int) sizeof (name))
    return 0;
  fd = gompy_open (name, O_WRONLY | O_APPEND | O_CREAT, 0600);
  s->log = fd < 0 ? NULL : fdopen (fd, "a");
  if (fd >= 0 && s->log == NULL)
    close (fd);
  return s->log != NULL;
}

/* Whether a store meets what is watched.  */
static int
gompy_stores_meet (const struct gompy_stores *s, uint64_t address, uint64_t size)
{
  if (address >= s->high || address + size <= s->low)
    return 0;
  for (uint32_t i = 0; i < s->count; i++)
    if (address < s->range[i].start + s->range[i].size && s->range[i].start < address + size)
      return 1;
  return 0;
}

/* Tell one that has been done.  PLACE, of the source, has no sign that JSON would want escaped.  */
static void
gompy_stores_tell (struct gompy_stores *s, uint64_t address, uint32_t size, const char *place, int line,
		   const uint32_t *block, const uint32_t *thread)
{
  const unsigned char *bytes = (const unsigned char *) (uintptr_t) address;
  if (s->lines++ >= GOMPY_STORE_LINES)
    return;
  fprintf (s->log, "{\"address\": %" PRIu64 ", \"value\": \"", address);
  for (uint32_t i = 0; i < size; i++)
    fprintf (s->log, "%02x", bytes[i]);
  fputs ("\", \"place\": \"", s->log);
  for (; *place; place++)
    if ((unsigned char) *place >= ' ' && *place != '"' && *place != '\\')
      fputc (*place, s->log);
  fprintf (s->log, ":%d\", \"who\": \"block (%u,%u,%u), thread (%u,%u,%u)\"}\n", line, block[0], block[1], block[2],
	   thread[0], thread[1], thread[2]);
}

#endif
