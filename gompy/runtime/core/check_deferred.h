/* `gompy run --check`: what a task does beside a region with nowait that it has made, until it waits.

   When such a region runs is chance.  The task that has met its directive is not to write what the region copies, nor
   to read what it copies back, before it has waited: taskwait, a barrier, the end of a taskgroup around it, or an
   undeferred task with depend clauses.  So each is told, whether the region has begun by then, or is over.  Only copies
   that the region itself makes count; which these are is known when it begins, and until then the task's first accesses
   are kept.

   Tasks have numbers (doors/openmp/host_waits.h).  Where the order of tasks is not seen, as with detached ones, nothing
   is told.  One that has made a task which depends on others may hear from it that they are over.
   Included once, by check_flight.h.  */
#ifndef GOMPY_CHECK_DEFERRED_H
#define GOMPY_CHECK_DEFERRED_H

#define GOMPY_DEFERRED 256u

struct gompy_deferred
{
  uintptr_t host, target;
  size_t size;
  uint64_t task;    /* which has met the directive */
  unsigned group;   /* in so many taskgroups of its own */
  uint64_t number;  /* of the directive's encounter */
  int device, back, depend;
  int mapped;       /* the region has begun, and has mapped it itself */
  int over;
  int heard;        /* the task may hear of its end */
  int used;         /* accesses that are kept: a bit for reads, the next for writes */
  uintptr_t pc[2];
  size_t at[2];
};

static struct gompy_deferred gompy_deferreds[GOMPY_DEFERRED];
static unsigned gompy_deferred_count;
static uint64_t gompy_deferred_last;
static __thread uint64_t gompy_deferred_now;  /* that of the region which the runtime is at work for; or 0 */

static void
gompy_deferred_drop (unsigned i)
{
  gompy_deferreds[i] = gompy_deferreds[--gompy_deferred_count];
}

/* A region with nowait is met, and [HOST, HOST + SIZE) is to be copied, BACK to the host or only from there.  */
static void
gompy_deferred_new (uint64_t number, int device, uintptr_t host, size_t size, int back, int depend)
{
  if (gompy_deferred_count < GOMPY_DEFERRED && size != 0 && gompy_task_number () != GOMPY_TASK_UNKNOWN)
    gompy_deferreds[gompy_deferred_count++]
      = (struct gompy_deferred){ .host = host, .size = size, .task = gompy_task_number (), .group = gompy_task_group,
                                 .number = number, .device = device, .back = back, .depend = depend };
}

static void
gompy_deferred_tell (struct gompy_deferred *d, int writes, size_t at, uintptr_t pc)
{
  gompy_log (GOMPY_EVENT_FLIGHT, writes, d->device, NULL, (void *) pc, d->host, d->size, d->target, at,
             (d->back ? GOMPY_FLIGHT_BACK : 0) | (d->depend ? GOMPY_FLIGHT_DEPEND : 0));
}

#define GOMPY_DEFERRED_NOTED 1
#define GOMPY_DEFERRED_DEPENDS 2
#define GOMPY_DEFERRED_TOLD 4

/* The region that the thread is at work for begins, and has mapped something itself: what is known of that.  */
static int
gompy_deferred_mapped (int device, uintptr_t host, size_t size, uintptr_t target)
{
  int noted = 0;
  for (unsigned i = gompy_deferred_count; gompy_deferred_now != 0 && i-- > 0;)
    {
      struct gompy_deferred *d = &gompy_deferreds[i];
      if (d->number != gompy_deferred_now || d->device != device || d->host >= host + size || host >= d->host + d->size)
        continue;
      noted |= GOMPY_DEFERRED_NOTED | (d->depend ? GOMPY_DEFERRED_DEPENDS : 0);
      d->mapped = 1;
      d->target = target;
      for (int writes = 1; writes >= 0; writes--)
        if (d->used & 1 << writes && (writes || d->back))
          {
            gompy_deferred_tell (d, writes, d->at[writes], d->pc[writes]);
            gompy_deferred_drop (i);
            noted |= GOMPY_DEFERRED_TOLD;
            break;
          }
    }
  return noted;
}

/* It has ended, or another one keeps its mapping of HOST (not 0): nothing is copied back then.  */
static void
gompy_deferred_ends (uint64_t number, uintptr_t host)
{
  for (unsigned i = gompy_deferred_count; number != 0 && i-- > 0;)
    {
      struct gompy_deferred *d = &gompy_deferreds[i];
      if (d->number != number || (host != 0 && d->host != host))
        continue;
      d->over = 1;
      if (host != 0 || !d->mapped || d->heard)
        gompy_deferred_drop (i);
    }
}

/* A task has waited for all that it has met, in a taskgroup since GROUP of them had begun.  */
static int
gompy_deferred_waited (uint64_t task, unsigned group)
{
  unsigned before = gompy_deferred_count;
  for (unsigned i = gompy_deferred_count; i-- > 0;)
    if (gompy_deferreds[i].task == task && gompy_deferreds[i].group >= group)
      gompy_deferred_drop (i);
  return gompy_deferred_count != before;
}

/* A task has made one that depends on others.  */
static void
gompy_deferred_heard (uint64_t task)
{
  for (unsigned i = gompy_deferred_count; i-- > 0;)
    if (gompy_deferreds[i].task == task)
      {
        gompy_deferreds[i].heard = 1;
        if (gompy_deferreds[i].over)
          gompy_deferred_drop (i);
      }
}

/* What concerns [HOST, HOST + SIZE) has been told.  */
static void
gompy_deferred_told (int device, uintptr_t host, size_t size)
{
  for (unsigned i = gompy_deferred_count; i-- > 0;)
    {
      struct gompy_deferred *d = &gompy_deferreds[i];
      if (d->device == device && d->mapped && d->host < host + size && host < d->host + d->size)
        gompy_deferred_drop (i);
    }
}

#endif
