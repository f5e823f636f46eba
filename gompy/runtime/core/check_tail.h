/* The log of `gompy run --check`: its end, as memory that outlives the program.

   What a program has logged is to be known however it ends, also where nobody tells it before (SIGKILL, _exit).  To
   write the log at each launch takes 4 us.  So `gompy run` makes a memfd, whose name is the log's and ".tail", and the
   records that are not written yet are in it.  What is left there when the program has ended is appended to the log:
   gompy/check/tail.py, which has the numbers, too.  Of several processes that have one log it is that of the first;
   the next one may have it when that has ended; others write at each launch, as those do whose log is read while they
   run, and which have no such file.
   Included once, by check_log.h.  */
#ifndef GOMPY_CHECK_TAIL_H
#define GOMPY_CHECK_TAIL_H

#include "gompy/native/descriptors.h"
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#define GOMPY_TAIL_HEAD 4096u
#define GOMPY_TAIL_NAME ".tail"

struct gompy_log_tail
{
  uint32_t owner;  /* the process, 0: none */
  uint32_t unused;
  uint64_t written, logged;  /* bytes: in the log's file; with those that are here, of whole records */
};

static struct gompy_log_tail *gompy_log_tail;

static char *
gompy_tail_bytes (struct gompy_log_tail *tail)
{
  return (char *) tail + GOMPY_TAIL_HEAD;
}

/* Become its owner.  What a process has left that is no more, or that was this one before it executed another program,
   goes to the log's file FD first.  */
static int
gompy_own_tail (struct gompy_log_tail *tail, int fd, size_t room)
{
  uint32_t owner = __atomic_load_n (&tail->owner, __ATOMIC_ACQUIRE), own = (uint32_t) getpid ();
  uint64_t left;
  if (owner != 0 && owner != own && (kill ((pid_t) owner, 0) == 0 || errno != ESRCH))
    return 0;
  if (!__atomic_compare_exchange_n (&tail->owner, &owner, own, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    return 0;
  left = tail->logged - tail->written;
  if (left != 0 && left <= room && gompy_write (fd, gompy_tail_bytes (tail), left) != (ssize_t) left)
    return 0;
  tail->written = tail->logged = (uint64_t) lseek (fd, 0, SEEK_END);
  return 1;
}

/* The tail of the log at PATH, open as FD, with ROOM for records; NULL: it has none, or another process has it.  */
static struct gompy_log_tail *
gompy_open_tail (const char *path, int fd, size_t room)
{
  char name[4096];
  struct stat s;
  struct gompy_log_tail *tail = MAP_FAILED;
  int own = -1;
  if (snprintf (name, sizeof name, "%s" GOMPY_TAIL_NAME, path) < (int) sizeof name)
    own = gompy_open (name, O_RDWR, 0);
  if (own < 0)
    return NULL;
  if (fstat (own, &s) == 0 && s.st_size == (off_t) (GOMPY_TAIL_HEAD + room))
    tail = mmap (NULL, GOMPY_TAIL_HEAD + room, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
  close (own);
  if (tail == MAP_FAILED)
    return NULL;
  if (gompy_own_tail (tail, fd, room))
    return tail;
  munmap (tail, GOMPY_TAIL_HEAD + room);
  return NULL;
}

/* USED bytes are in it, all of whole records.  */
static void
gompy_tail_has (size_t used)
{
  if (gompy_log_tail != NULL)
    __atomic_store_n (&gompy_log_tail->logged, gompy_log_tail->written + used, __ATOMIC_RELEASE);
}

/* Those are in the log's file now.  */
static void
gompy_tail_is_written (size_t used)
{
  if (gompy_log_tail == NULL)
    return;
  gompy_tail_has (used);
  __atomic_store_n (&gompy_log_tail->written, gompy_log_tail->logged, __ATOMIC_RELEASE);
}

#endif
