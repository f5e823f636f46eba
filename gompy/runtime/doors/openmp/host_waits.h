/* Stands before libgomp's functions in which threads wait for tasks, or other tasks run: `gompy run --check` has to
   know which task uses memory, and what it has waited for (core/check_deferred.h).  Without checks each is a jump.  */
#ifndef GOMPY_HOST_WAITS_H
#define GOMPY_HOST_WAITS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "core/check_stale.h"
#include "core/stock_symbol.h"

#define GOMPY_TASK_DEPEND (1u << 3)  /* GOMP_TASK_FLAG_DEPEND, _DETACH: gomp-constants.h */
#define GOMPY_TASK_DETACH (1u << 13)

extern int omp_in_final (void);

#define GOMPY_STOCK(name) static __typeof__ (&name) stock; if (stock == NULL) stock = gompy_stock_symbol (#name)

/* --- waiting ---------------------------------------------------------------------------------------------------- */

/* Other tasks may run here next.  The number of the task that waits.  */
static uint64_t
gompy_wait_begins (void)
{
  uint64_t task = gompy_task_number ();
  gompy_task = GOMPY_TASK_UNKNOWN;
  return task;
}

/* WAITED: what the task has met is over, and not only by chance; in a taskgroup, since GROUP of them had begun.  */
static void
gompy_wait_ends_in (uint64_t task, int waited, unsigned group)
{
  gompy_task = task;
  if (waited && gompy_deferred_now == 0)
    gompy_task_waited (task, group);
}

static void
gompy_wait_ends (uint64_t task, int waited)
{
  gompy_wait_ends_in (task, waited, 0);
}

/* BEFORE: what a call of libgomp's function needs, where the run is checked; KEEP and GIVE: its result.  */
#define GOMPY_WAIT(result, name, parameters, arguments, before, keep, waited, give)                                    \
  __attribute__ ((visibility ("default"))) result                                                                      \
  name parameters                                                                                                      \
  {                                                                                                                    \
    GOMPY_STOCK (name);                                                                                                \
    if (!gompy_checking)                                                                                               \
      return stock arguments;                                                                                          \
    uint64_t task = gompy_wait_begins ();                                                                              \
    before;                                                                                                            \
    keep stock arguments;                                                                                              \
    gompy_wait_ends (task, waited);                                                                                    \
    give;                                                                                                              \
  }
#define GOMPY_WAIT_PLAINLY(name, waited) GOMPY_WAIT (void, name, (void), (), , , waited, )
#define GOMPY_WAIT_FOR(name, parameter) GOMPY_WAIT (void, name, (parameter given), (given), , , 1, )
#define GOMPY_WAIT_TELLS(result, name) GOMPY_WAIT (result, name, (void), (), , result told =, 1, return told)
void GOMP_taskwait (void);
void GOMP_taskyield (void);
void GOMP_taskwait_depend (void **);
GOMPY_WAIT_PLAINLY (GOMP_taskwait, 1)
GOMPY_WAIT_PLAINLY (GOMP_taskyield, 0)
GOMPY_WAIT_PLAINLY (GOMP_barrier, 1)
GOMPY_WAIT_PLAINLY (GOMP_loop_end, 1)
GOMPY_WAIT_PLAINLY (GOMP_sections_end, 1)
GOMPY_WAIT_FOR (GOMP_taskwait_depend, void **)
GOMPY_WAIT_FOR (GOMP_single_copy_end, void *)
GOMPY_WAIT_FOR (GOMP_workshare_task_reduction_unregister, bool)
GOMPY_WAIT_TELLS (bool, GOMP_barrier_cancel)
GOMPY_WAIT_TELLS (bool, GOMP_loop_end_cancel)
GOMPY_WAIT_TELLS (bool, GOMP_sections_end_cancel)
GOMPY_WAIT_TELLS (void *, GOMP_single_copy_start)

/* --- taskgroup -------------------------------------------------------------------------------------------------- */

void GOMP_taskgroup_start (void);
void GOMP_taskgroup_end (void);

__attribute__ ((visibility ("default"))) void
GOMP_taskgroup_start (void)
{
  GOMPY_STOCK (GOMP_taskgroup_start);
  gompy_task_group++;
  stock ();
}

/* It waits for what has been met within it alone.  */
__attribute__ ((visibility ("default"))) void
GOMP_taskgroup_end (void)
{
  GOMPY_STOCK (GOMP_taskgroup_end);
  unsigned group = gompy_task_group;
  gompy_task_group -= group != 0;
  if (!gompy_checking)
    {
      stock ();
      return;
    }
  uint64_t task = gompy_wait_begins ();
  stock ();
  gompy_wait_ends_in (task, 1, group);
}

/* --- the tasks of a team's threads ------------------------------------------------------------------------------ */

struct gompy_implicit
{
  void *first;  /* as in the data itself: libgomp looks for task reductions there */
  void (*function) (void *);
  void *data;
};

static void
gompy_implicit_task (void *p)
{
  const struct gompy_implicit *s = p;
  uint64_t task = gompy_task = gompy_task_new ();
  unsigned group = gompy_task_group;
  gompy_task_group = 0;
  s->function (s->data);
  gompy_task = GOMPY_TASK_UNKNOWN;  /* the barrier behind it; GOMPY_TEAM of the first thread knows its own again */
  gompy_task_group = group;
  gompy_task_waited (task, 0);
}

#define GOMPY_AS_TASKS(word)                                                                                           \
  struct gompy_implicit s;                                                                                             \
  s.first = word;                                                                                                      \
  s.function = function;                                                                                               \
  s.data = data;                                                                                                       \
  function = gompy_implicit_task;                                                                                      \
  data = &s
#define GOMPY_TEAM(result, name, parameters, arguments)                                                                \
  GOMPY_WAIT (result, name, parameters, arguments, GOMPY_AS_TASKS (NULL), , 0, )
#define GOMPY_LOOP(name)                                                                                               \
  GOMPY_TEAM (void, GOMP_parallel_loop_##name,                                                                         \
              (void (*function) (void *), void *data, unsigned n, long start, long end, long step, long chunk,         \
               unsigned flags),                                                                                        \
              (function, data, n, start, end, step, chunk, flags))
#define GOMPY_RUNTIME_LOOP(name)                                                                                       \
  GOMPY_TEAM (void, GOMP_parallel_loop_##name,                                                                         \
              (void (*function) (void *), void *data, unsigned n, long start, long end, long step, unsigned flags),    \
              (function, data, n, start, end, step, flags))
GOMPY_TEAM (void, GOMP_parallel, (void (*function) (void *), void *data, unsigned n, unsigned flags),
            (function, data, n, flags))
GOMPY_WAIT (unsigned, GOMP_parallel_reductions, (void (*function) (void *), void *data, unsigned n, unsigned flags),
            (function, data, n, flags), GOMPY_AS_TASKS (*(void **) data), unsigned told =, 0, return told)
GOMPY_TEAM (void, GOMP_parallel_sections,
            (void (*function) (void *), void *data, unsigned n, unsigned count, unsigned flags),
            (function, data, n, count, flags))
GOMPY_TEAM (void, GOMP_teams_reg,
            (void (*function) (void *), void *data, unsigned n, unsigned limit, unsigned flags),
            (function, data, n, limit, flags))
GOMPY_LOOP (static)
GOMPY_LOOP (dynamic)
GOMPY_LOOP (guided)
GOMPY_LOOP (nonmonotonic_dynamic)
GOMPY_LOOP (nonmonotonic_guided)
GOMPY_RUNTIME_LOOP (runtime)
GOMPY_RUNTIME_LOOP (nonmonotonic_runtime)
GOMPY_RUNTIME_LOOP (maybe_nonmonotonic_runtime)

/* --- explicit tasks --------------------------------------------------------------------------------------------- */

typedef void (*gompy_task_fn) (void (*) (void *), void *, void (*) (void *, void *), long, long, _Bool, unsigned,
                               void **, int, void *);

/* What a task is given instead of its data: this, and the data behind it, where libgomp puts both.  So nothing is to be
   freed where libgomp drops the task, as a cancelled one, and nothing has been copied where it never makes it.  */
struct gompy_explicit
{
  void (*function) (void *);
  const void *data;  /* where that is for now */
  void (*copy) (void *, void *);
  size_t room;       /* from this to the data */
};

static void
gompy_explicit_task (void *p)
{
  struct gompy_explicit *s = p;
  uint64_t outer = gompy_task, now = gompy_deferred_now, task = gompy_task = gompy_task_new ();
  unsigned group = gompy_task_group;
  gompy_deferred_now = 0;
  gompy_task_group = 0;
  s->function ((char *) p + s->room);
  gompy_task = outer;
  gompy_task_group = group;
  gompy_deferred_now = now;
  gompy_task_waited (task, 0);
}

/* The compiler's function copies objects of C++.  */
static void
gompy_copy_task (void *to, void *from)
{
  struct gompy_explicit *s = from;
  memcpy (to, s, sizeof *s);
  s->copy ((char *) to + s->room, (void *) s->data);
}

/* GOMP_task where the run is checked.  */
static void
gompy_checked_task (gompy_task_fn stock, void (*function) (void *), void *data, void (*copy) (void *, void *),
                    long size, long align, _Bool deferred, unsigned flags, void **depend, int priority, void *detach)
{
  const size_t least = __alignof__ (struct gompy_explicit), by = (size_t) align > least ? (size_t) align : least;
  const size_t room = (sizeof (struct gompy_explicit) + by - 1) & -by;
  struct gompy_explicit head = { function, data, copy, room }, *s = NULL;
  void *block = NULL;
  uint64_t task;
  if (flags & GOMPY_TASK_DETACH)
    gompy_tasks_unseen = 1;
  if (flags & GOMPY_TASK_DEPEND && gompy_deferred_now == 0)
    gompy_task_hears (gompy_task_number ());
  if (copy == NULL && !deferred)
    head.room = (size_t) ((char *) data - (char *) &head);  /* it runs at once, and has the data where that is */
  if (!(flags & GOMPY_TASK_DETACH))
    s = copy != NULL || !deferred ? &head : (block = malloc (room + (size_t) size + by));
  task = gompy_wait_begins ();
  if (s == NULL)
    stock (function, data, copy, size, align, deferred, flags, depend, priority, detach);
  else
    {
      if (block != NULL)
        {
          s = (struct gompy_explicit *) (((uintptr_t) block + by - 1) & -by);
          *s = head;
          if (size != 0)
            memcpy ((char *) s + room, data, (size_t) size);
        }
      stock (gompy_explicit_task, s, copy != NULL ? gompy_copy_task : NULL, (long) (room + (size_t) size), (long) by,
             deferred, flags, depend, priority, detach);
    }
  gompy_wait_ends (task, flags & GOMPY_TASK_DEPEND && (!deferred || omp_in_final ()));
  free (block);
}

#endif
