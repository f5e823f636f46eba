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

/* WAITED: what the task has met is over, and not only by chance.  */
static void
gompy_wait_ends (uint64_t task, int waited)
{
  gompy_task = task;
  if (waited && gompy_deferred_now == 0)
    gompy_task_waited (task);
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
GOMPY_WAIT_PLAINLY (GOMP_taskgroup_end, 1)
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

/* --- the tasks of a team's threads ------------------------------------------------------------------------------ */

struct gompy_implicit
{
  void (*function) (void *);
  void *data;
};

static void
gompy_implicit_task (void *p)
{
  const struct gompy_implicit *s = p;
  uint64_t task = gompy_task = gompy_task_new ();
  s->function (s->data);
  gompy_task = GOMPY_TASK_UNKNOWN;  /* the barrier behind it; GOMPY_TEAM of the first thread knows its own again */
  gompy_task_waited (task);
}

#define GOMPY_AS_TASKS                                                                                                 \
  struct gompy_implicit s;                                                                                             \
  s.function = function;                                                                                               \
  s.data = data;                                                                                                       \
  function = gompy_implicit_task;                                                                                      \
  data = &s
#define GOMPY_TEAM(result, name, parameters, arguments, keep, give)                                                    \
  GOMPY_WAIT (result, name, parameters, arguments, GOMPY_AS_TASKS, keep, 0, give)
#define GOMPY_LOOP(name)                                                                                               \
  GOMPY_TEAM (void, GOMP_parallel_loop_##name,                                                                         \
              (void (*function) (void *), void *data, unsigned n, long start, long end, long step, long chunk,         \
               unsigned flags),                                                                                        \
              (function, data, n, start, end, step, chunk, flags), , )
#define GOMPY_RUNTIME_LOOP(name)                                                                                       \
  GOMPY_TEAM (void, GOMP_parallel_loop_##name,                                                                         \
              (void (*function) (void *), void *data, unsigned n, long start, long end, long step, unsigned flags),    \
              (function, data, n, start, end, step, flags), , )
GOMPY_TEAM (void, GOMP_parallel, (void (*function) (void *), void *data, unsigned n, unsigned flags),
            (function, data, n, flags), , )
GOMPY_TEAM (unsigned, GOMP_parallel_reductions, (void (*function) (void *), void *data, unsigned n, unsigned flags),
            (function, data, n, flags), unsigned told =, return told)
GOMPY_TEAM (void, GOMP_parallel_sections,
            (void (*function) (void *), void *data, unsigned n, unsigned count, unsigned flags),
            (function, data, n, count, flags), , )
GOMPY_TEAM (void, GOMP_teams_reg,
            (void (*function) (void *), void *data, unsigned n, unsigned limit, unsigned flags),
            (function, data, n, limit, flags), , )
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

struct gompy_explicit
{
  void (*function) (void *);
  void *data;
};

static void
gompy_explicit_task (void *p)
{
  struct gompy_explicit *s = *(struct gompy_explicit **) p;
  uint64_t outer = gompy_task, now = gompy_deferred_now, task = gompy_task = gompy_task_new ();
  gompy_deferred_now = 0;
  s->function (s->data);
  gompy_task = outer;
  gompy_deferred_now = now;
  gompy_task_waited (task);
  free (s);
}

static void
gompy_copy_pointer (void *to, void *from)
{
  memcpy (to, from, sizeof (void *));
}

/* GOMP_task where the run is checked.  The task's data is copied as libgomp would; what has no copy function may be
   dropped by libgomp, and is lost then.  */
static void
gompy_checked_task (gompy_task_fn stock, void (*function) (void *), void *data, void (*copy) (void *, void *),
                    long size, long align, _Bool deferred, unsigned flags, void **depend, int priority, void *detach)
{
  uint64_t task;
  struct gompy_explicit *s;
  size_t room = sizeof *s + (size_t) size + (size_t) align;
  if (flags & GOMPY_TASK_DETACH)
    gompy_tasks_unseen = 1;
  if (flags & GOMPY_TASK_DEPEND && gompy_deferred_now == 0)
    gompy_task_hears (gompy_task_number ());
  s = flags & GOMPY_TASK_DETACH ? NULL : malloc (room);
  task = gompy_wait_begins ();
  if (s == NULL)
    stock (function, data, copy, size, align, deferred, flags, depend, priority, detach);
  else
    {
      s->function = function;
      s->data = data;
      if (deferred || copy != NULL)
        {
          s->data = (void *) (((uintptr_t) (s + 1) + (uintptr_t) align - 1) & -(uintptr_t) align);
          if (copy != NULL)
            copy (s->data, data);
          else
            memcpy (s->data, data, (size_t) size);
        }
      stock (gompy_explicit_task, &s, copy != NULL ? gompy_copy_pointer : NULL, sizeof s, sizeof s, deferred, flags,
             depend, priority, detach);
    }
  gompy_wait_ends (task, flags & GOMPY_TASK_DEPEND && (!deferred || omp_in_final ()));
}

#endif
