/* `gompy run --check`: which task of OpenMP runs in a thread (doors/openmp/host_waits.h).  */
#ifndef GOMPY_CHECK_TASKS_H
#define GOMPY_CHECK_TASKS_H

#define GOMPY_TASK_UNKNOWN UINT64_MAX

static __thread uint64_t gompy_task;  /* 0: one that was there before this library has seen any */
static __thread unsigned gompy_task_group;  /* how many taskgroups that task is in, of its own */
static uint64_t gompy_tasks_numbered;
static int gompy_tasks_unseen;  /* some are ordered by what is not seen */

static uint64_t
gompy_task_new (void)
{
  return __atomic_add_fetch (&gompy_tasks_numbered, 1, __ATOMIC_RELAXED);
}

/* The number of the task that runs here, or GOMPY_TASK_UNKNOWN.  */
static uint64_t
gompy_task_number (void)
{
  if (gompy_task == 0)
    gompy_task = gompy_task_new ();
  return gompy_task;
}

#endif
