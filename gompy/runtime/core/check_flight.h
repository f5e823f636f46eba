/* `gompy run --check`: what the program uses while a region runs beside it.

   Between a region with nowait and its end the runtime copies what the region has mapped, at times that the program
   does not know.  So what it writes there, and what it reads of what is copied back, is a race.  Only mappings that
   such a region itself has made count.  A program made with -foffload-check tells of its accesses; of any other the
   pages are watched (check_watch.h) while one thread of it is awake.  Included once, by check_stale.h.  */
#ifndef GOMPY_CHECK_FLIGHT_H
#define GOMPY_CHECK_FLIGHT_H

#include "check_log.h"

#define GOMPY_FLIGHTS 256u
#define GOMPY_LIBRARY_REACH 64u  /* so far a library may read around what it is given */

struct gompy_flight
{
  uintptr_t host, target;
  size_t size;
  int device;
  int back;       /* it will be copied to the host */
  int begun;      /* its region has been launched */
  int told;
  uint64_t construct;
};

static struct gompy_flight gompy_flights[GOMPY_FLIGHTS];
static unsigned gompy_flight_count;

/* A construct has made a mapping.  */
static void
gompy_flight_new (uint64_t construct, int device, uintptr_t host, uintptr_t target, size_t size, int back)
{
  if (gompy_flight_count < GOMPY_FLIGHTS && size != 0)
    gompy_flights[gompy_flight_count++]
      = (struct gompy_flight){ host, target, size, device, back, 0, 0, construct };
}

/* Its region runs beside the program from here on.  */
static void
gompy_flight_begins (uint64_t construct)
{
  for (unsigned i = 0; i < gompy_flight_count; i++)
    if (gompy_flights[i].construct == construct)
      gompy_flights[i].begun = 1;
}

/* The construct has ended: what has not begun by now will not.  */
static void
gompy_flight_made (uint64_t construct)
{
  for (unsigned i = gompy_flight_count; i-- > 0;)
    if (gompy_flights[i].construct == construct && !gompy_flights[i].begun)
      gompy_flights[i] = gompy_flights[--gompy_flight_count];
}

/* The mapping has ended, or is no longer that region's.  */
static void
gompy_flight_ends (int device, uintptr_t host)
{
  for (unsigned i = gompy_flight_count; i-- > 0;)
    if (gompy_flights[i].device == device && gompy_flights[i].host == host)
      gompy_flights[i] = gompy_flights[--gompy_flight_count];
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
}

/* How many run beside the program, and have not been told of.  */
static unsigned
gompy_flights_begun (void)
{
  unsigned n = 0;
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
  return 0;
}

/* The program uses memory, or, not IN_PROGRAM, a library does.  */
static void
gompy_flight_judge (uintptr_t address, size_t size, int writes, int in_program, uintptr_t pc)
{
  for (unsigned i = 0; i < gompy_flight_count; i++)
    {
      struct gompy_flight *f = &gompy_flights[i];
      if (!f->begun || f->told || !(writes || f->back) || f->host >= address + size || address >= f->host + f->size
          || (!in_program && !writes
              && (address - f->host >= f->size || address - f->host < GOMPY_LIBRARY_REACH
                  || f->host + f->size - address <= GOMPY_LIBRARY_REACH)))
        continue;
      f->told = 1;
      gompy_log (GOMPY_EVENT_FLIGHT, writes, f->device, NULL, (void *) pc, f->host, f->size, f->target,
                 address > f->host ? address - f->host : 0, 0);
    }
}

#endif
