/* Locks that lanes of one warp take from each other, as programs for sm_70 and later may: by atomicCAS and atomicExch,
   with a look before each try, a ticket, one of some locks, two at once, in a function, in a loop, with a barrier
   behind.  */
#include "locks.h"

__device__ void
take (int *lock)
{
  while (atomicCAS (lock, 0, 1) != 0)
    ;
  __threadfence ();
}

__device__ void
give (int *lock)
{
  __threadfence ();
  atomicExch (lock, 0);
}

__global__ void
by_cas (counters *c)
{
  take (&c->lock);
  *(volatile int *) &c->sum += 1;
  give (&c->lock);
}

__global__ void
by_exch (counters *c)
{
  while (atomicExch (&c->lock, 1))
    __nanosleep (20);
  __threadfence ();
  *(volatile int *) &c->sum += threadIdx.x % 3;
  __threadfence ();
  *(volatile int *) &c->lock = 0;
}

/* A look before each try, but for the first.  */
__global__ void
with_a_look (counters *c)
{
  if (atomicCAS (&c->lock, 0, 1))
    do
      while (*(volatile int *) &c->lock)
        ;
    while (atomicCAS (&c->lock, 0, 1));
  __threadfence ();
  *(volatile int *) &c->sum += 2;
  give (&c->lock);
  __syncthreads ();
  if (threadIdx.x == 0)
    atomicAdd (&c->sums[0], 1);
}

__global__ void
by_ticket (counters *c)
{
  int own = atomicAdd (&c->ticket, 1);
  while (*(volatile int *) &c->serving != own)
    ;
  __threadfence ();
  *(volatile int *) &c->sum = *(volatile int *) &c->sum * 3 + 1;
  __threadfence ();
  atomicAdd (&c->serving, 1);
}

/* One of some locks by lane, in turns, by some of the lanes, with a loop and a branch while it is held.  */
__global__ void
of_some (counters *c, int turns)
{
  for (int turn = 0; turn < turns; turn++)
    {
      int which = (threadIdx.x + turn) % 8;
      if (threadIdx.x % 5 == turn)
        continue;
      take (&c->locks[which]);
      volatile int *sum = &c->sums[which];
      for (int i = 0; i < (int) threadIdx.x % 4; i++)
        *sum = *sum + 1;
      if (threadIdx.x & 1)
        *sum = *sum + 10;
      give (&c->locks[which]);
    }
}

__global__ void
two_at_once (counters *c)
{
  int one = threadIdx.x % 4, other = 4 + threadIdx.x % 3;
  take (&c->locks[one]);
  take (&c->locks[other]);
  *(volatile int *) &c->sums[one] += 1;
  *(volatile int *) &c->sums[other] += 1;
  give (&c->locks[other]);
  give (&c->locks[one]);
}

__device__ __noinline__ int
more (volatile int *sum, int by)
{
  return by > 60 ? *sum + 1 : *sum + 3;
}

/* A call while the lock is held.  */
__global__ void
with_a_call (counters *c)
{
  take (&c->lock);
  *(volatile int *) &c->sum = more (&c->sum, threadIdx.x);
  give (&c->lock);
}

__global__ void
one_after_the_other (counters *c)
{
  take (&c->lock);
  *(volatile int *) &c->sum += 1;
  give (&c->lock);
  take (&c->lock);
  *(volatile int *) &c->sum += 100000;
  give (&c->lock);
}

int
main ()
{
  SAME (after ([] (counters *c) { by_cas<<<blocks, threads>>> (c); }).sum, all);
  SAME (after ([] (counters *c) { by_exch<<<blocks, threads>>> (c); }).sum, all);
  counters c = after ([] (counters *c) { with_a_look<<<blocks, threads>>> (c); });
  SAME (c.sum, 2 * all);
  SAME (c.sums[0], blocks);
  SAME (after ([] (counters *c) { by_ticket<<<blocks, threads>>> (c); }).sum, by_turns ());

  c = after ([] (counters *c) { of_some<<<blocks, threads>>> (c, 4); });
  check_some (c);

  c = after ([] (counters *c) { two_at_once<<<blocks, threads>>> (c); });
  for (int i = 0; i < 7; i++)
    SAME (c.sums[i], i < 4 ? all / 4 : all / 3);
  SAME (after ([] (counters *c) { with_a_call<<<blocks, threads>>> (c); }).sum, blocks * (61 * 3 + 35));
  SAME (after ([] (counters *c) { one_after_the_other<<<blocks, threads>>> (c); }).sum, all * 100001);
  std::printf ("locks: right\n");
}
