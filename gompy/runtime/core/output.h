/* The host's buffered output goes out before a region's.

   A region prints in the device's process, at the latest when it ends, while what the program printed before may still
   be in stdio's or libgfortran's buffer (stdout is a pipe or a file).  So a launch writes out what is there; with
   nothing there it costs two loads and a compare.  */
#ifndef GOMPY_OUTPUT_H
#define GOMPY_OUTPUT_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdio_ext.h>

/* Fortran's write and print statements that the thread is in: libgfortran holds the unit's lock then.  */
static __thread int gompy_statements;
/* A statement has ended since the last flush of unit 6.  */
static int gompy_units_written;

static inline void
gompy_flush_units (void)
{
  static void (*flush) (int *);
  int unit = 6;
  if (gompy_statements != 0)
    return;
  __atomic_store_n (&gompy_units_written, 0, __ATOMIC_RELAXED);
  if (flush == NULL)
    flush = (void (*) (int *)) dlsym (RTLD_DEFAULT, "_gfortran_flush_i4");
  if (flush != NULL)
    flush (&unit);
}

/* Another thread that is printing right now is not waited for: its output and the region's have no order.  */
static inline void
gompy_flush_stdout (void)
{
  if (ftrylockfile (stdout) != 0)
    return;
  fflush_unlocked (stdout);
  funlockfile (stdout);
}

static inline void
gompy_output_first (void)
{
  if (__builtin_expect (__fpending (stdout) != 0, 0))
    gompy_flush_stdout ();
  if (__builtin_expect (__atomic_load_n (&gompy_units_written, __ATOMIC_RELAXED) != 0, 0))
    gompy_flush_units ();
}

/* libgfortran's own, for the two below that stand before it.  */
static inline void
gompy_statement (void **real, const char *name, void *transfer)
{
  if (*real == NULL)
    *real = dlsym (RTLD_NEXT, name);
  ((void (*) (void *)) *real) (transfer);
}

static inline void
gompy_begin_statement (void *transfer)
{
  static void *real;
  gompy_statements++;
  gompy_statement (&real, "_gfortran_st_write", transfer);
}

static inline void
gompy_end_statement (void *transfer)
{
  static void *real;
  gompy_statement (&real, "_gfortran_st_write_done", transfer);
  gompy_statements--;
  __atomic_store_n (&gompy_units_written, 1, __ATOMIC_RELAXED);
}

#endif
