/* `gompy run --check`: whether the program can be watched, and the begin of that.
   Included once, by check_watch.h.  */
#ifndef GOMPY_CHECK_WATCH_BEGIN_H
#define GOMPY_CHECK_WATCH_BEGIN_H

#define GOMPY_OWN_COUNTS_HERE  /* and found by the drivers */
#include "gompy/native/own_threads.h"
#include <sched.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

#define GOMPY_STACK_REACH (16ul << 20)

/* What is mapped in the process: FD, or the text of its maps, once it is ASKED; -1: that is not to be had.  */
struct gompy_maps
{
  int fd;
  const char *text;
  int asked;
};

/* Memory that only a program under the check needs.  As data of the library it would count everywhere.  */
static void *
gompy_check_room (size_t size)
{
  void *room = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return room == MAP_FAILED ? NULL : room;
}

static struct
{
  char stack[GOMPY_WATCH_STACK];
  unsigned short steps[GOMPY_WATCHED_PAGES];
  unsigned char writes[GOMPY_WATCHED_PAGES];
  struct gompy_watched watches[GOMPY_WATCHED];
  struct gompy_held helds[GOMPY_WATCHED], knowns[GOMPY_WATCHED];
} *gompy_watch_room;

/* What was watched last.  Until the program may have set a handler it cannot have changed what is mapped there,
   either: both are system calls, and those end the watch.  */
static struct gompy_held *gompy_knowns;

static int
gompy_prepare_watch (void)
{
  stack_t now, own = { NULL, 0, GOMPY_WATCH_STACK };
  if (gompy_watch_ready)
    return gompy_watch_ready > 0;
  gompy_watch_ready = -1;
  if (gompy_is_traced ())
    return 0;
  gompy_watch_room = gompy_check_room (sizeof *gompy_watch_room);
  if (gompy_watch_room == NULL)
    return 0;
  gompy_watches = gompy_watch_room->watches;
  gompy_helds = gompy_watch_room->helds;
  gompy_knowns = gompy_watch_room->knowns;
  own.ss_sp = gompy_watch_room->stack;
  dl_iterate_phdr (gompy_find_program, NULL);
  if (gompy_own.end == 0 || (uintptr_t) gompy_watch_return - gompy_own.start >= gompy_own.end - gompy_own.start)
    return 0;
  if (sigaltstack (NULL, &now) != 0 || ((now.ss_flags & SS_DISABLE) && sigaltstack (&own, NULL) != 0))
    return 0;
  if (prctl (GOMPY_DISPATCH, 1, gompy_own.start, gompy_own.end - gompy_own.start, &gompy_dispatch) != 0)
    return 0;
  gompy_watch_thread = gompy_raw_call (SYS_gettid, 0, 0, 0, 0, 0, 0);
  gompy_watch_ready = 1;
  return 1;
}

/* Whether a thread sleeps until another thread makes a system call: it waits for a futex, for any time.
   ID: the name of its folder.  */
static int
gompy_is_in_futex (const char *id)
{
  char path[64], text[160];
  unsigned long number, place, operation, value, timeout;
  int fd;
  ssize_t n;
  snprintf (path, sizeof path, "/proc/self/task/%.20s/syscall", id);
  if ((fd = gompy_open (path, O_RDONLY, 0)) < 0)
    return 0;
  n = read (fd, text, sizeof text - 1);
  close (fd);
  text[n > 0 ? n : 0] = 0;
  return sscanf (text, "%lu %lx %lx %lx %lx", &number, &place, &operation, &value, &timeout) == 5
         && number == SYS_futex && timeout == 0 && gompy_only_waits (operation);
}

/* The same of a thread of the program's.  */
static int
gompy_waits (const char *id)
{
  int waits = gompy_is_in_futex (id);
  gompy_watch_sleepers |= waits;
  return waits;
}

/* Whether a thread of this process is gompy's own, and sleeps, or waits.  ID: the name of its folder; FD: its state.
   *OWN: whether it is one of those that sleep whenever their state says so.  */
static int
gompy_sleeps (const char *id, int fd, int *own)
{
  char text[128], *name;
  int queue;
  ssize_t n;
  *own = 0;
  for (int tries = 0; tries < GOMPY_SLEEP_TRIES; tries++)
    {
      n = pread (fd, text, sizeof text - 1, 0);
      text[n > 0 ? n : 0] = 0;
      name = strchr (text, '(');
      if (name == NULL || atol (text) != atol (id)  /* it has ended, or what stayed open is another file now */
          || strncmp (name + 1, GOMPY_OWN_THREADS, sizeof GOMPY_OWN_THREADS - 1) != 0)
        {
          *own = 0;
          return n > 0 && gompy_waits (id);
        }
      queue = strncmp (name + 1, GOMPY_QUEUE_THREAD, sizeof GOMPY_QUEUE_THREAD - 1) == 0;
      *own = !queue;
      if ((name = strrchr (name, ')')) == NULL)
        return 0;
      if (strncmp (name, ") S", 3) == 0 && (!queue || gompy_is_in_futex (id)))
        return 1;
      usleep (100);
    }
  return 0;
}

/* What the emulated GPU counts of its threads.  */
static struct gompy_own_counts gompy_own_counts_here;

static unsigned
gompy_own_threads_here (void)
{
  return __atomic_load_n (&gompy_own_counts_here.threads, __ATOMIC_SEQ_CST);
}

/* How many threads the process has, or 0.  Their folder stays open, as the way to it costs more than the answer.  */
static unsigned
gompy_count_threads (void)
{
  static struct gompy_kept tasks = { -1, 0, 0 };
  struct stat s;
  if (!gompy_is_marked (&gompy_log_process))
    {
      if (stat ("/proc/self/task", &s) != 0)  /* what stays open is the parent's */
        return 0;
    }
  else if (fstat (tasks.fd, &s) != 0 || s.st_dev != tasks.device || s.st_ino != tasks.inode)
    {
      gompy_keep (&tasks, gompy_open ("/proc/self/task", O_RDONLY | O_DIRECTORY, 0));
      if (tasks.fd < 0 || fstat (tasks.fd, &s) != 0)
        return 0;
    }
  return s.st_nlink > 2 ? (unsigned) s.st_nlink - 2 : 0;
}

/* The process's threads but the one that asked last, if all are gompy's own: their states stay open, too.  */
#define GOMPY_OWN_TASKS 8u
static struct gompy_own_task
{
  struct gompy_kept state;
  char id[24];
} gompy_own_tasks[GOMPY_OWN_TASKS];
static unsigned gompy_own_task_count;

static int
gompy_open_state (const char *id)
{
  char path[64];
  snprintf (path, sizeof path, "/proc/self/task/%.20s/stat", id);
  return gompy_open (path, O_RDONLY, 0);
}

static void
gompy_forget_tasks (void)
{
  while (gompy_own_task_count > 0)
    gompy_close_kept (&gompy_own_tasks[--gompy_own_task_count].state);
}

/* Whether the other threads, THREADS with the CALLER, sleep as far as is known; -1: they are to be looked for.  */
static int
gompy_known_sleep (unsigned threads, long caller)
{
  int own, sleep = 1;
  if (gompy_own_task_count == 0 || gompy_own_task_count + 1 != threads || !gompy_is_marked (&gompy_log_process))
    return -1;
  for (unsigned i = 0; i < gompy_own_task_count; i++)
    {
      if (atol (gompy_own_tasks[i].id) == caller)
        return -1;
      sleep &= gompy_sleeps (gompy_own_tasks[i].id, gompy_own_tasks[i].state.fd, &own);
      if (!own)
        return -1;
    }
  return sleep;
}

/* Whether all others, THREADS with the caller, are the emulated GPU's own and sleep: they count themselves.  One of
   them that asks is awake.  A false answer means nothing.  */
static int
gompy_own_sleep (unsigned threads)
{
  if (!gompy_is_marked (&gompy_log_process))
    return 0;
  for (unsigned looks = 0; looks < GOMPY_OWN_LOOKS; looks++)
    {
      if (__atomic_load_n (&gompy_own_counts_here.threads, __ATOMIC_SEQ_CST) + 1u != threads)
        return 0;
      if (__atomic_load_n (&gompy_own_counts_here.awake, __ATOMIC_SEQ_CST) == 0)
        return gompy_count_threads () == threads;  /* one counted before may not have been there yet, but another */
      sched_yield ();
    }
  return 0;
}

/* Whether no other thread of the process does anything.  */
static int
gompy_is_alone (void)
{
  struct dirent *entry;
  DIR *tasks;
  long caller = gompy_raw_call (SYS_gettid, 0, 0, 0, 0, 0, 0);
  int alone = 1, own, known, fds[GOMPY_OWN_TASKS];
  unsigned threads = gompy_count_threads (), count = 0, others = 0;
  gompy_watch_sleepers = gompy_watch_single = gompy_watch_owned = 0;
  if (threads <= 1)
    return gompy_watch_single = threads == 1;
  if (gompy_own_sleep (threads))
    return gompy_watch_owned = 1;
  if ((known = gompy_known_sleep (threads, caller)) >= 0)
    return gompy_watch_owned = known;
  if (gompy_is_marked (&gompy_log_process))
    gompy_forget_tasks ();
  gompy_watch_sleepers = 0;
  if ((tasks = gompy_opendir ("/proc/self/task")) == NULL)
    return 0;
  while (alone && (entry = readdir (tasks)) != NULL)
    {
      int fd;
      if (entry->d_name[0] == '.' || atol (entry->d_name) == caller)
        continue;
      fd = gompy_open_state (entry->d_name);
      alone = fd >= 0 && gompy_sleeps (entry->d_name, fd, &own);
      others++;
      if (alone && own && count < GOMPY_OWN_TASKS)
        {
          snprintf (gompy_own_tasks[count].id, sizeof gompy_own_tasks[count].id, "%.20s", entry->d_name);
          fds[count++] = fd;
        }
      else if (fd >= 0)
        close (fd);
    }
  closedir (tasks);
  gompy_watch_owned = alone && count == others;
  known = gompy_watch_owned && count > 0 && gompy_is_marked (&gompy_log_process);
  for (unsigned i = 0; i < count; i++)
    if (known)
      gompy_keep (&gompy_own_tasks[i].state, fds[i]);
    else
      close (fds[i]);
  gompy_own_task_count = known ? count : gompy_own_task_count;
  return alone;
}

/* Whether one thread alone is awake, and its signals do not keep ours out.  */
static int
gompy_may_watch (void)
{
  return gompy_is_alone () && gompy_prepare_watch () && !gompy_has_handlers (GOMPY_HANDLERS_BLOCK)
	 && gompy_raw_call (SYS_gettid, 0, 0, 0, 0, 0, 0) == gompy_watch_thread;
}

/* Whether a range is on the calling thread's stack, and may not be closed: a handler could not begin there.  */
static int
gompy_must_be_open (uintptr_t begin, uintptr_t end)
{
  uintptr_t here = (uintptr_t) __builtin_frame_address (0) & -GOMPY_PAGE;
  return end > here && begin < here + GOMPY_STACK_REACH && gompy_has_handlers (GOMPY_HANDLERS_HERE);
}

static int
gompy_open_maps (struct gompy_maps *maps)
{
  enum { ROOM = 1 << 17 };
  static char *text;
  struct gompy_mapping_query query;
  size_t have = 0;
  ssize_t n;
  maps->text = NULL;
  if ((maps->fd = gompy_open ("/proc/self/maps", O_RDONLY, 0)) < 0)
    return 0;
  if (gompy_ask_mapping (maps->fd, (uintptr_t) &query, &query))
    return 1;
  if (text == NULL)
    text = gompy_check_room (ROOM);
  while (text != NULL && have < ROOM - 1 && (n = read (maps->fd, text + have, ROOM - 1 - have)) > 0)
    have += (size_t) n;
  if (text != NULL)
    text[have] = 0;
  maps->text = text;
  close (maps->fd);
  return text != NULL;
}

static void
gompy_close_maps (const struct gompy_maps *maps)
{
  if (maps->asked > 0 && maps->text == NULL)
    close (maps->fd);
}

/* Whether a line of /proc/self/maps is of pages of the usual size; larger ones (hugetlb) are closed whole only.  */
static int
gompy_has_usual_pages (const char *line)
{
  size_t length = strcspn (line, "\n"), before = strcspn (line, "/");
  char path[1024];
  struct statfs s;
  if (before >= length)
    return 1;
  snprintf (path, sizeof path, "%.*s", (int) (length - before), line + before);
  if (statfs (path, &s) == 0)
    return s.f_type != HUGETLBFS_MAGIC;
  return strncmp (path, "/anon_hugepage", 14) != 0 && strncmp (path, "/memfd:", 7) != 0;
}

/* Of the pages of [BEGIN, END), those at the front that are private, of usual size, and may be read and written.  */
static uintptr_t
gompy_watchable (struct gompy_maps *maps, uintptr_t begin, uintptr_t end)
{
  struct gompy_mapping_query query;
  uintptr_t thread, at = begin;
  __asm__ ("mov %%fs:0, %0" : "=r" (thread));
  if (begin < thread + GOMPY_PAGE && thread - 2 * 65536 < end)
    return begin;
  if (!maps->asked)
    maps->asked = gompy_open_maps (maps) ? 1 : -1;
  if (maps->asked < 0)
    return begin;
  while (maps->text == NULL && at < end && gompy_ask_mapping (maps->fd, at, &query)
         && (query.flags & 15) == GOMPY_MAPPING_RW_PRIVATE && query.page_size == GOMPY_PAGE)
    at = query.end;
  for (const char *line = maps->text; line != NULL && *line; line = strchr (line, '\n'))
    {
      char *p;
      uintptr_t low, high;
      line += *line == '\n';
      low = strtoull (line, &p, 16);
      if (*p != '-')
        break;
      high = strtoull (p + 1, &p, 16);
      if (low <= at && at < high && strncmp (p, " rw-p", 5) == 0 && gompy_has_usual_pages (p))
        at = high;
      if (at >= end)
        return end;
    }
  return at < end ? at : end;
}

static int
gompy_is_known (uintptr_t begin, uintptr_t end)
{
  for (unsigned i = 0; i < gompy_known_count; i++)
    if (gompy_knowns[i].begin <= begin && end <= gompy_knowns[i].end)
      return 1;
  return 0;
}

static void
gompy_know_watched (void)
{
  for (gompy_known_count = 0; gompy_known_count < gompy_watch_count; gompy_known_count++)
    gompy_knowns[gompy_known_count] = (struct gompy_held){ .begin = gompy_watches[gompy_known_count].begin,
                                                           .end = gompy_watches[gompy_known_count].end };
}

/* Whether a range can be watched.  What is held of it is known to be, and closed.  */
static int
gompy_can_watch (struct gompy_maps *maps, uintptr_t begin, uintptr_t end)
{
  struct gompy_held of = gompy_held_of (begin, end);
  if (of.begin == begin && of.end == end)
    return 1;
  return !gompy_must_be_open (begin, end)
         && (gompy_is_known (begin, end)
             || (gompy_watchable (maps, begin, of.begin) == of.begin && gompy_watchable (maps, of.end, end) == end));
}

/* Whether pages that can be watched are a block of malloc's, and nothing else.  What is held is as it was.  */
static int
gompy_has_own_block (uintptr_t begin, uintptr_t end)
{
  for (unsigned i = 0; i < gompy_held_count; i++)
    if (gompy_helds[i].begin <= begin && begin < gompy_helds[i].end)
      return gompy_helds[i].own && gompy_helds[i].begin == begin && gompy_helds[i].end == end;
  return end - begin >= GOMPY_HELD_LEAST && gompy_is_own_block (begin, end);
}

static void
gompy_watch_pages (struct gompy_maps *maps, uintptr_t begin, uintptr_t end, int access)
{
  struct gompy_watched *w = &gompy_watches[gompy_watch_count];
  static size_t used;
  size_t pages;
  begin &= -GOMPY_PAGE;
  end = (end + GOMPY_PAGE - 1) & -GOMPY_PAGE;
  if (gompy_watch_count == 0)
    used = 0;
  for (unsigned i = 0; i < gompy_watch_count; i++)  /* what another variable has in its pages already */
    {
      if (begin >= gompy_watches[i].begin && begin < gompy_watches[i].end)
        begin = gompy_watches[i].end;
      if (end > gompy_watches[i].begin && end <= gompy_watches[i].end)
        end = gompy_watches[i].begin;
      if (begin < gompy_watches[i].begin && end > gompy_watches[i].end)
        end = gompy_watches[i].begin;
    }
  if (begin >= end || gompy_watch_count == GOMPY_WATCHED)
    return;
  if (!gompy_can_watch (maps, begin, end))
    return;
  pages = (end - begin) / GOMPY_PAGE;
  if (used + pages > GOMPY_WATCHED_PAGES)
    pages = GOMPY_WATCHED_PAGES - used;
  if (pages == 0)
    return;
  w->begin = begin;
  w->end = begin + pages * GOMPY_PAGE;
  w->looks = w->ahead = 0;
  w->opened = w->held = 0;
  w->next = 0;
  w->access = access;
  w->own = gompy_has_own_block (w->begin, w->end);
  w->steps = gompy_watch_room->steps + used;
  w->writes = gompy_watch_room->writes + used;
  memset (w->steps, 0, pages * sizeof *w->steps);
  memset (w->writes, 0, pages);
  used += pages;
  gompy_watch_count++;
}

static int
gompy_by_address (const void *a, const void *b)
{
  uintptr_t x = ((const struct gompy_watched *) a)->begin, y = ((const struct gompy_watched *) b)->begin;
  return (x > y) - (x < y);
}

static const struct gompy_kernel_action gompy_watch_action
  = { gompy_on_watch, SA_SIGINFO | SA_ONSTACK | SA_NODEFER | 0x04000000, gompy_watch_return, GOMPY_WATCH_MASK };

/* Pages were held, and the emulated GPU may have set a handler of its own meanwhile.  */
static void
gompy_renew_held_actions (void)
{
  for (unsigned i = 0; i < 3 && gompy_held_count && gompy_watch_owned; i++)
    if (gompy_watch_signals[i] == SIGSEGV)
      gompy_renew_action (i, &gompy_watch_action);
}

static void
gompy_begin_watch (void)
{
  unsigned long before;
  int out;
  if (gompy_watch_count == 0)
    {
      gompy_end_watch ();
      return;
    }
  out = gompy_keep_handlers_out (&before);
  for (unsigned i = 0; i < 3 && !gompy_actions_ours; i++)
    if (gompy_watch_signals[i] != SIGTRAP || !gompy_trap_due)  /* it is ours still */
      gompy_set_action (i, &gompy_watch_action, &gompy_old_actions[i]);
  gompy_renew_held_actions ();
  gompy_actions_ours = 1;
  qsort (gompy_watches, gompy_watch_count, sizeof *gompy_watches, gompy_by_address);
  gompy_know_watched ();
  gompy_watch_on = 1;
  gompy_dispatch = 1;  /* before: a handler of a signal may make a system call at any time */
  gompy_close_watched ();
  if (out)
    gompy_let_handlers_in (&before);
}

#endif
