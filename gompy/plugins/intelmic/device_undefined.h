/* -fsanitize=undefined: reports whose description a region has from the host.

   gcc's front ends make the checks of divisions, shifts and lengths of arrays before a region becomes a function of its
   own.  What describes such a place is a variable to them, which the region maps: a copy, with pointers to the host's
   names of the file and of types.  These functions stand before libubsan's, as the program does in the search order.
   They fetch what is pointed to from the file that the host has it from, and call libubsan's.

   Source: LLVM's compiler-rt as GCC 12 has it (lib/ubsan/ubsan_handlers.h, ubsan_value.h).  */

#ifndef GOMPY_DEVICE_UNDEFINED_H
#define GOMPY_DEVICE_UNDEFINED_H

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "gompy/native/descriptors.h"

enum { GOMPY_LONGEST_TYPE = 256, GOMPY_MOST_TYPES = 2, GOMPY_TOLD_PLACES = 256 };

struct gompy_described_type
{
  uint16_t kind, info;
  char name[GOMPY_LONGEST_TYPE];
};

struct gompy_described
{
  const char *file;
  uint32_t line, column;
  const struct gompy_described_type *types[GOMPY_MOST_TYPES];
};

/* As much as this process has of some bytes.  */
static inline ssize_t
gompy_own_bytes (const void *at, void *to, size_t size)
{
  struct iovec there = { (void *) at, size }, here = { to, size };
  return process_vm_readv (getpid (), &here, 1, &there, 1, 0);
}

/* As much as there is of them in the file that the host has there.  What the loader relocates is not asked for.  */
static inline ssize_t
gompy_bytes_of_host (const void *at, void *to, size_t size)
{
  uintptr_t start, end, offset, address = (uintptr_t) at;
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  /* another descriptor has the same place in the file */
  char *line = NULL;
  size_t room = 0;
  ssize_t got = -1;
  int name, file, again = gompy_again (mic_host_maps, 3);
  FILE *maps = again < 0 ? NULL : fdopen (again, "r");
  pthread_mutex_lock (&lock);
  if (maps != NULL)
    rewind (maps);
  while (maps != NULL && getline (&line, &room, maps) > 0)
    if (sscanf (line, "%lx-%lx %*s %lx %*s %*s %n", &start, &end, &offset, &name) == 3 && start <= address
        && address < end)
      {
        line[strcspn (line, "\n")] = 0;
        file = gompy_open (line + name, O_RDONLY, 0);
        if (file >= 0)
          {
            got = pread (file, to, size, (off_t) (offset + (address - start)));
            close (file);
          }
        break;
      }
  pthread_mutex_unlock (&lock);
  free (line);
  if (maps != NULL)
    fclose (maps);
  else if (again >= 0)
    close (again);
  return got;
}

/* As much as one of the two has; the last byte stays 0.  */
static inline ssize_t
gompy_either_bytes (const void *at, void *to, size_t size)
{
  ssize_t got = gompy_own_bytes (at, to, size - 1);
  return got > 0 ? got : gompy_bytes_of_host (at, to, size - 1);
}

/* A type, whose name gcc puts into quotes.  Of a device that serves another machine the host has something else there.
   */
static inline bool
gompy_fetch_type (const struct gompy_described_type *at, struct gompy_described_type *to)
{
  if (gompy_either_bytes (at, to, sizeof *to) > 0 && to->name[0] == '\'')
    return true;
  *to = (struct gompy_described_type) { 0, 6 << 1 | 1, "'?'" };  /* an integer of 64 bits */
  return false;
}

/* Whether a place of the host's is told for the first time.  libubsan marks what it has told in the description, of
   which each launch has a copy of its own, and each report, too.  Of more places than these each report is told.  */
static inline bool
gompy_is_new_place (const struct gompy_described *data)
{
  static struct gompy_described told[GOMPY_TOLD_PLACES];
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static int count;
  int i;
  pthread_mutex_lock (&lock);
  for (i = 0; i < count; i++)
    if (told[i].file == data->file && told[i].line == data->line && told[i].column == data->column)
      break;
  bool is_new = i == count;
  if (is_new && count < GOMPY_TOLD_PLACES)
    told[count++] = *data;
  pthread_mutex_unlock (&lock);
  return is_new;
}

static inline void
gompy_report_undefined (const char *handler, struct gompy_described *data, int types, uintptr_t first, uintptr_t second)
{
  struct gompy_described_type found[GOMPY_MOST_TYPES] = { 0 };
  struct gompy_described copy = *data;
  char file[4096] = "?", byte;
  bool hosts = gompy_own_bytes (data->file, &byte, 1) != 1;
  if (hosts && !gompy_is_new_place (data) && strstr (handler, "_abort") == NULL)
    return;
  void *library = dlopen ("libubsan.so.1", RTLD_NOW | RTLD_NOLOAD);
  void (*report) (void *, uintptr_t, uintptr_t);
  *(void **) &report = dlsym (library != NULL ? library : RTLD_NEXT, handler);
  if (hosts)
    {
      bool known = true;
      for (int i = 0; i < types; i++)
        {
          known &= gompy_fetch_type (data->types[i], &found[i]);
          copy.types[i] = &found[i];
        }
      if (known)
        gompy_either_bytes (data->file, file, sizeof file);
      copy.file = file;
      report (&copy, first, second);
    }
  else
    report (data, first, second);
  if (library != NULL)
    dlclose (library);
}

#define GOMPY_HANDLER(name, types)                                                                                     \
  __attribute__ ((visibility ("default"))) void __ubsan_handle_##name (struct gompy_described *data, uintptr_t first,  \
                                                                       uintptr_t second)                               \
  {                                                                                                                    \
    gompy_report_undefined ("__ubsan_handle_" #name, data, types, first, second);                                      \
  }

GOMPY_HANDLER (divrem_overflow, 1)
GOMPY_HANDLER (divrem_overflow_abort, 1)
GOMPY_HANDLER (shift_out_of_bounds, 2)
GOMPY_HANDLER (shift_out_of_bounds_abort, 2)
GOMPY_HANDLER (vla_bound_not_positive, 1)
GOMPY_HANDLER (vla_bound_not_positive_abort, 1)
GOMPY_HANDLER (float_cast_overflow, 2)
GOMPY_HANDLER (float_cast_overflow_abort, 2)
GOMPY_HANDLER (builtin_unreachable, 0)

#undef GOMPY_HANDLER

#endif
