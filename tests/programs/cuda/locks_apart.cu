/* Locks that lanes of one warp take from each other, taken in one function and given back in another: by a class, a
   function that tries once, functions that call such functions, a reader of a ticket; with the lock's address in memory,
   and with work in a function of its own, which is called from several places.  */
#include "locks.h"

#define APART __device__ __noinline__

class mutex
{
  int *word;

public:
  APART explicit mutex (int *word) : word (word) {}
  APART void
  lock ()
  {
    while (atomicCAS (word, 0, 1) != 0)
      ;
    __threadfence ();
  }
  APART void
  unlock ()
  {
    __threadfence ();
    atomicExch (word, 0);
  }
};

template <typename T> class guard
{
  T &held;

public:
  APART explicit guard (T &held) : held (held) { held.lock (); }
  APART ~guard () { held.unlock (); }
};

APART bool
try_take (int *lock)
{
  return atomicCAS (lock, 0, 1) == 0;
}

APART void
give (int *lock)
{
  __threadfence ();
  *(volatile int *) lock = 0;
}

/* How often it was tried.  */
APART int
take (int *lock)
{
  int tries = 1;
  while (atomicExch (lock, 1))
    {
      __nanosleep (tries < 100 ? tries : 100);
      tries++;
    }
  __threadfence ();
  return tries;
}

APART int
draw (counters *c)
{
  int own = atomicAdd (&c->ticket, 1);
  while (*(volatile int *) &c->serving != own)
    ;
  __threadfence ();
  return own;
}

APART void
next (counters *c)
{
  __threadfence ();
  atomicAdd (&c->serving, 1);
}

__global__ void
by_class (counters *c)
{
  mutex m (&c->lock);
  m.lock ();
  *(volatile int *) &c->sum += 1;
  m.unlock ();
}

__global__ void
by_guard (counters *c)
{
  mutex m (&c->lock);
  guard<mutex> g (m);
  *(volatile int *) &c->sum += 2;
}

__global__ void
by_trying (counters *c)
{
  while (!try_take (&c->lock))
    ;
  __threadfence ();
  *(volatile int *) &c->sum += 3;
  give (&c->lock);
}

__global__ void
by_ticket (counters *c)
{
  draw (c);
  *(volatile int *) &c->sum = *(volatile int *) &c->sum * 3 + 1;
  next (c);
}

__global__ void
through_memory (counters *c)
{
  int tries = take (c->where);
  *(volatile int *) &c->sum += 1;
  give (c->where);
  if (tries < 1)
    c->sum = -1000;
}

/* Of some locks, by some lanes, in turns.  */
__global__ void
of_some (counters *c, int turns)
{
  for (int turn = 0; turn < turns; turn++)
    {
      int which = (threadIdx.x + turn) % 8;
      if (threadIdx.x % 5 == turn)
        continue;
      int tries = take (&c->locks[which]);
      volatile int *sum = &c->sums[which];
      for (int i = 0; i < (int) threadIdx.x % 4; i++)
        *sum = *sum + 1;
      if (threadIdx.x & 1)
        *sum = *sum + 10;
      give (&c->locks[which]);
      atomicMax (&c->tries, tries);
    }
}

APART void
add (counters *c, int which, int by)
{
  mutex m (&c->locks[which]);
  m.lock ();
  *(volatile int *) &c->sums[which] += by;
  m.unlock ();
}

/* Functions that take and give it themselves, called by lanes that have gone different ways.  */
__global__ void
in_functions (counters *c)
{
  if (threadIdx.x % 3 == 0)
    add (c, threadIdx.x % 2, 1);
  else
    add (c, 2 + threadIdx.x % 2, 100);
  __syncthreads ();
  if (threadIdx.x == 0)
    add (c, 4, 1);
}

int
main ()
{
  SAME (after ([] (counters *c) { by_class<<<blocks, threads>>> (c); }).sum, all);
  SAME (after ([] (counters *c) { by_guard<<<blocks, threads>>> (c); }).sum, 2 * all);
  SAME (after ([] (counters *c) { by_trying<<<blocks, threads>>> (c); }).sum, 3 * all);
  SAME (after ([] (counters *c) { by_ticket<<<blocks, threads>>> (c); }).sum, by_turns ());
  SAME (after ([] (counters *c) { through_memory<<<blocks, threads>>> (c); }).sum, all);

  counters c = after ([] (counters *c) { of_some<<<blocks, threads>>> (c, 4); });
  check_some (c);
  SAME (c.tries > 1, true);

  c = after ([] (counters *c) { in_functions<<<blocks, threads>>> (c); });
  SAME (c.sums[0], all / 6);
  SAME (c.sums[1], all / 6);
  SAME (c.sums[2], all / 3 * 100);
  SAME (c.sums[3], all / 3 * 100);
  SAME (c.sums[4], blocks);
  std::printf ("locks_apart: right\n");
}
