/* wakes [ROUNDS [MICROSECONDS [SPREAD [MEANS]]]]: there and back between two processes after a rest, by each means that Linux has.

   Gives the floor of a launch on a device that is another process: what the wake-ups alone take.  The other process is
   pinned to this one's processor, then to another; of futexes it is also left where the system puts it.
   Prints the median and the lowest tenth in ns.
   gcc -O2 wakes.c -o wakes; chrt -f 10 ./wakes keeps other programs out.  */

#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "rest.h"
#include "timing.h"

struct side
{
  uint32_t word __attribute__ ((aligned (128)));
  int in, out; /* descriptors of it that its partner writes, and it reads */
};

static struct side *sides; /* of the one that asks, of the one that answers */

/* struct futex_waitv, which older headers lack.  */
struct waited
{
  uint64_t value, address;
  uint32_t flags, reserved;
};

static void
futex_sleep (struct side *s, uint32_t seen)
{
  while (__atomic_load_n (&s->word, __ATOMIC_ACQUIRE) == seen)
    syscall (SYS_futex, &s->word, FUTEX_WAIT, seen, NULL, NULL, 0);
}

static void
futex_post (struct side *s)
{
  __atomic_add_fetch (&s->word, 1, __ATOMIC_SEQ_CST);
  syscall (SYS_futex, &s->word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void
vector_sleep (struct side *s, uint32_t seen)
{
  struct waited w = { seen, (uintptr_t) &s->word, 2 /* 32 bits */, 0 };
  while (__atomic_load_n (&s->word, __ATOMIC_ACQUIRE) == seen)
    if (syscall (449, &w, 1, 0, NULL, 0) < 0) /* futex_waitv, Linux 5.16 */
      sched_yield ();
}

static void
read_sleep (struct side *s, uint32_t seen)
{
  uint64_t n;
  (void) seen;
  if (read (s->in, &n, sizeof n) < 0)
    _exit (1);
}

static void
write_post (struct side *s)
{
  uint64_t one = 1;
  if (write (s->out, &one, sizeof one) < 0)
    _exit (1);
}

static void
look (struct side *s, uint32_t seen)
{
  while (__atomic_load_n (&s->word, __ATOMIC_ACQUIRE) == seen)
    __builtin_ia32_pause ();
}

static void
store (struct side *s)
{
  __atomic_add_fetch (&s->word, 1, __ATOMIC_SEQ_CST);
}

static void
make_pipe (struct side *s)
{
  int fds[2];
  if (pipe (fds) != 0)
    exit (1);
  s->in = fds[0];
  s->out = fds[1];
}

static void
make_eventfd (struct side *s)
{
  s->in = s->out = eventfd (0, 0);
}

static void
make_sockets (struct side *s)
{
  int fds[2];
  if (socketpair (AF_UNIX, SOCK_STREAM, 0, fds) != 0)
    exit (1);
  s->in = fds[0];
  s->out = fds[1];
}

static const struct means
{
  const char *name;
  void (*make) (struct side *);
  void (*sleep) (struct side *, uint32_t);
  void (*post) (struct side *);
  int looks; /* needs a processor for each */
} all[] = {
  { "futex", 0, futex_sleep, futex_post, 0 },
  { "futex_waitv", 0, vector_sleep, futex_post, 0 },
  { "eventfd", make_eventfd, read_sleep, write_post, 0 },
  { "pipe", make_pipe, read_sleep, write_post, 0 },
  { "socketpair", make_sockets, read_sleep, write_post, 0 },
  { "both look", 0, look, store, 1 },
};

static const struct place
{
  const char *name;
  int last, free; /* the other process's: the last processor, not the first; where the system wants both */
} places[] = { { "one", 0, 0 }, { "two", 1, 0 }, { "free", 0, 1 } };

enum { PLACES = sizeof places / sizeof places[0] };

static cpu_set_t allowed;

static void
put (pid_t pid, int last, int free)
{
  cpu_set_t one;
  int cpu = last ? CPU_SETSIZE - 1 : 0;
  while (!CPU_ISSET (cpu, &allowed))
    cpu += last ? -1 : 1;
  CPU_ZERO (&one);
  CPU_SET (cpu, &one);
  sched_setaffinity (pid, sizeof one, free ? &allowed : &one);
}

static void
measure (const struct means *m, const struct place *place, const struct rest *rest, int rounds)
{
  double *times = malloc (rounds * sizeof *times);
  pid_t child;
  sides[0].word = sides[1].word = 0;
  for (int i = 0; i < 2 && m->make; i++)
    m->make (&sides[i]);
  put (0, 0, place->free);
  child = fork ();
  if (child == 0)
    {
      prctl (PR_SET_PDEATHSIG, SIGKILL);
      for (uint32_t seen = 0;; seen++)
	{
	  m->sleep (&sides[1], seen);
	  m->post (&sides[0]);
	}
    }
  /* From here: to do it itself it had to run first, on the processor that this one does not leave while it looks, at a
     real-time priority and without a rest.  */
  put (child, place->last, place->free);
  for (int i = 0; i < rounds; i++)
    {
      uint32_t seen = __atomic_load_n (&sides[0].word, __ATOMIC_ACQUIRE);
      double begin;
      take_rest (rest);
      begin = now ();
      m->post (&sides[1]);
      m->sleep (&sides[0], seen);
      times[i] = now () - begin;
    }
  kill (child, SIGKILL);
  waitpid (child, NULL, 0);
  for (int i = 0; i < 2 && m->make; i++)
    {
      close (sides[i].in);
      if (sides[i].out != sides[i].in)
	close (sides[i].out);
    }
  qsort (times, rounds, sizeof *times, by_size);
  printf ("%-12s %-9s %8.0f %8.0f\n", m->name, place->name, times[rounds / 2], times[rounds / 10]);
  free (times);
}

int
main (int argc, char **argv)
{
  int rounds = argc > 1 ? atoi (argv[1]) : 200;
  const struct rest rest = rest_of (argc, argv, 2);
  sched_getaffinity (0, sizeof allowed, &allowed);
  sides = mmap (NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (sides == MAP_FAILED || rounds < 10)
    return 1;
  alarm (120); /* looking for ever at a real-time priority keeps all others out */
  printf ("%-12s %-9s %8s %8s\n", "means", "processor", "median", "lowest");
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    for (const struct place *p = places; p < places + PLACES; p++)
      if ((!p->free || all[i].sleep == futex_sleep) && (argc < 5 || !strcmp (argv[4], all[i].name)))
	if (p->last ? CPU_COUNT (&allowed) > 1 : !all[i].looks)
	  measure (&all[i], p, &rest, rounds);
  return 0;
}
