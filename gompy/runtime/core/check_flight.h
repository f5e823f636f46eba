/* `gompy run --check`: what the program uses while a region runs beside it.

   Between a region with nowait and its end the runtime copies what the region has mapped, at times that the program
   does not know.  So what it writes there, and what it reads of what is copied back, is a race.  Only mappings that
   such a region itself has made count.  Beside that the task that has met the region is not to use it before it has
   waited, whenever the region runs (check_deferred.h).

   A program made with -foffload-check tells of its accesses; of any other the pages are watched (check_watch.h) while
   one thread of it is awake.  Where neither sees it, as while the emulated GPU works, what the program has written is
   found when the region's results come: the host has not what it had at the launch.  Included once, by check_stale.h.
   */
#ifndef GOMPY_CHECK_FLIGHT_H
#define GOMPY_CHECK_FLIGHT_H

#include "check_log.h"
#include "check_tasks.h"
#include "check_deferred.h"

#define GOMPY_FLIGHTS 256u
#define GOMPY_LIBRARY_REACH 64u  /* so far a library may read around what it is given */
#define GOMPY_FLIGHT_KEPT (16u << 20)  /* bytes of which the contents are kept */

struct gompy_flight
{
  uintptr_t host, target;
  size_t size;
  int device;
  int back;       /* it will be copied to the host */
  int begun;      /* its region has been launched */
  int told;
  int depend;     /* its region has depend clauses */
  uint64_t construct;
  uint64_t queues;     /* a bit for each that the program may wait for (check_queues.h); 0: a region with nowait */
  unsigned char *had;  /* what the host had at the launch, until that is compared; or NULL */
};

static void *gompy_room_take (size_t size, int *new);
static void gompy_room_put (void *block, size_t size);
static int gompy_read_host (void *to, uintptr_t from, size_t size);

static struct gompy_flight gompy_flights[GOMPY_FLIGHTS];
static unsigned gompy_flight_count;

/* A construct has made a mapping.  */
static void
gompy_flight_new (uint64_t construct, int device, uintptr_t host, uintptr_t target, size_t size, int back)
{
  if (gompy_flight_count < GOMPY_FLIGHTS && size != 0)
    gompy_flights[gompy_flight_count++]
      = (struct gompy_flight){ .host = host, .target = target, .size = size, .device = device, .back = back,
                               .construct = construct };
}

/* One of them is over.  */
static void
gompy_flight_drop (unsigned i)
{
  gompy_room_put (gompy_flights[i].had, gompy_flights[i].size);
  gompy_flights[i] = gompy_flights[--gompy_flight_count];
}

/* The region is over, and nothing is copied back yet: whether the program has written meanwhile.  */
static void
gompy_flight_compare (struct gompy_flight *f)
{
  unsigned char part[512];
  size_t at, i, n;
  for (at = 0; f->had != NULL && !f->told && at < f->size; at += n)
    {
      n = f->size - at < sizeof part ? f->size - at : sizeof part;
      if (!gompy_read_host (part, f->host + at, n))
        break;
      if (memcmp (part, f->had + at, n) == 0)
        continue;
      for (i = 0; part[i] == f->had[at + i]; i++)
        ;
      f->told = 1;
      gompy_log (GOMPY_EVENT_FLIGHT, 1, f->device, NULL, NULL, f->host, f->size, f->target, at + i,
                 f->depend ? GOMPY_FLIGHT_DEPEND : 0);
      gompy_deferred_told (f->device, f->host, f->size);
    }
  gompy_room_put (f->had, f->size);
  f->had = NULL;
}

/* [BEGIN, BEGIN + SIZE) is about to be copied from a device.  */
static void
gompy_flight_returns (int device, uintptr_t begin, size_t size)
{
  for (unsigned i = 0; i < gompy_flight_count; i++)
    {
      struct gompy_flight *f = &gompy_flights[i];
      if (f->begun && f->device == device && f->host < begin + size && begin < f->host + f->size)
        gompy_flight_compare (f);
    }
}

/* Its region runs beside the program from here on; not LATER: only if it was deferred.  */
static void
gompy_flight_begins (uint64_t construct, int later)
{
  for (unsigned i = 0; i < gompy_flight_count; i++)
    if (gompy_flights[i].construct == construct && !gompy_flights[i].begun)
      {
        struct gompy_flight *f = &gompy_flights[i];
        int new;
        int noted = gompy_deferred_mapped (f->device, f->host, f->size, f->target);
        if (!noted && !later)
          continue;
        f->depend = noted & GOMPY_DEFERRED_DEPENDS;
        f->told = noted & GOMPY_DEFERRED_TOLD;
        f->begun = 1;
        f->had = f->size <= GOMPY_FLIGHT_KEPT ? gompy_room_take (f->size, &new) : NULL;
        if (f->had != NULL && !gompy_read_host (f->had, f->host, f->size))
          {
            gompy_room_put (f->had, f->size);
            f->had = NULL;
          }
      }
}

/* The construct has ended: what has not begun by now will not.  */
static void
gompy_flight_made (uint64_t construct)
{
  for (unsigned i = gompy_flight_count; i-- > 0;)
    if (gompy_flights[i].construct == construct && !gompy_flights[i].begun)
      gompy_flight_drop (i);
}

/* The mapping has ended, or is no longer that region's.  */
static void
gompy_flight_ends (int device, uintptr_t host)
{
  for (unsigned i = gompy_flight_count; i-- > 0;)
    if (gompy_flights[i].device == device && gompy_flights[i].host == host && !gompy_flights[i].queues)
      {
        gompy_flight_compare (&gompy_flights[i]);
        gompy_flight_drop (i);
      }
}

/* Widen [*LOW, *HIGH) by what is to be looked at.  */
static void
gompy_flight_bounds (uintptr_t *low, uintptr_t *high)
{
  for (unsigned i = 0; i < gompy_flight_count; i++)
    {
      const struct gompy_flight *f = &gompy_flights[i];
      if (!f->begun || f->told)
        continue;
      *low = f->host < *low ? f->host : *low;
      *high = f->host + f->size > *high ? f->host + f->size : *high;
    }
  for (unsigned i = 0; i < gompy_deferred_count; i++)
    {
      const struct gompy_deferred *d = &gompy_deferreds[i];
      *low = d->host < *low ? d->host : *low;
      *high = d->host + d->size > *high ? d->host + d->size : *high;
    }
}

/* How many run beside the program, or may, and have not been told of.  */
static unsigned
gompy_flights_begun (void)
{
  unsigned n = gompy_deferred_count;
  for (unsigned i = 0; i < gompy_flight_count; i++)
    n += gompy_flights[i].begun && !gompy_flights[i].told;
  return n;
}

/* Whether one of them concerns [BEGIN, END).  */
static int
gompy_flight_meets (uintptr_t begin, uintptr_t end)
{
  for (unsigned i = 0; i < gompy_flight_count; i++)
    {
      const struct gompy_flight *f = &gompy_flights[i];
      if (f->begun && !f->told && f->host < end && begin < f->host + f->size)
        return 1;
    }
  for (unsigned i = 0; i < gompy_deferred_count; i++)
    if (gompy_deferreds[i].host < end && begin < gompy_deferreds[i].host + gompy_deferreds[i].size)
      return 1;
  return 0;
}

/* Whether any of it may concern a loop's accesses.  */
static int
gompy_is_in_flight (void)
{
  return gompy_flight_count || gompy_deferred_count;
}

/* Whether an access is none of a range's: a library may read around what it is given.  */
static int
gompy_is_beside (uintptr_t host, size_t range, uintptr_t address, size_t size, int writes, int in_program)
{
  return host >= address + size || address >= host + range
         || (!in_program && !writes
             && (address - host >= range || address - host < GOMPY_LIBRARY_REACH
                 || host + range - address <= GOMPY_LIBRARY_REACH));
}

/* The task that runs here uses memory that a region copies which it has met, and has not waited for.  */
static void
gompy_deferred_judge (uintptr_t address, size_t size, int writes, int in_program, uintptr_t pc)
{
  uint64_t task = gompy_deferred_count ? gompy_task_number () : GOMPY_TASK_UNKNOWN;
  for (unsigned i = task == GOMPY_TASK_UNKNOWN ? 0 : gompy_deferred_count; i-- > 0;)
    {
      struct gompy_deferred *d = &gompy_deferreds[i];
      size_t at = address > d->host ? address - d->host : 0;
      if (d->task != task || !(writes || d->back)
          || gompy_is_beside (d->host, d->size, address, size, writes, in_program))
        continue;
      if (d->mapped)
        {
          for (unsigned k = 0; k < gompy_flight_count; k++)
            gompy_flights[k].told |= gompy_flights[k].host == d->host && gompy_flights[k].device == d->device;
          gompy_deferred_tell (d, writes, at, pc);
          gompy_deferred_drop (i);
        }
      else if (!(d->used & 1 << writes))
        {
          d->used |= 1 << writes;
          d->pc[writes] = pc;
          d->at[writes] = at;
        }
    }
}

/* The program uses memory, or, not IN_PROGRAM, a library does.  */
static void
gompy_flight_judge (uintptr_t address, size_t size, int writes, int in_program, uintptr_t pc)
{
  gompy_deferred_judge (address, size, writes, in_program, pc);
  for (unsigned i = 0; i < gompy_flight_count; i++)
    {
      struct gompy_flight *f = &gompy_flights[i];
      if (!f->begun || f->told || !(writes || f->back)
          || gompy_is_beside (f->host, f->size, address, size, writes, in_program))
        continue;
      f->told = 1;
      gompy_log (GOMPY_EVENT_FLIGHT, writes, f->device, NULL, (void *) pc, f->host, f->size, f->target,
                 address > f->host ? address - f->host : 0,
                 (f->queues ? GOMPY_FLIGHT_QUEUED : 0) | (f->back ? GOMPY_FLIGHT_BACK : 0)
                 | (f->depend ? GOMPY_FLIGHT_DEPEND : 0));
      gompy_deferred_told (f->device, f->host, f->size);
    }
}

#include "check_queues.h"

#endif
