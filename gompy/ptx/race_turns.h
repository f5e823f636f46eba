/* Blocks that run together, each on a host thread of its own, but one at a time: who waits gives its turn to the next
   (race_grid.h).  */
#ifndef GOMPY_PTX_RACE_TURNS_H
#define GOMPY_PTX_RACE_TURNS_H

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

enum { GOMPY_TURN_NEW, GOMPY_TURN_BEGUN, GOMPY_TURN_OVER };

struct gompy_turn { sem_t go; int state; };

struct gompy_turns
{
  pthread_mutex_t lock;
  uint32_t count, at;                   /* at: whose turn it is */
  struct gompy_turn of[];
};

/* Block 0 is the first.  NULL for lack of memory.  */
static struct gompy_turns *
gompy_turns_new (uint32_t count)
{
  struct gompy_turns *t = calloc (1, sizeof *t + count * sizeof *t->of);
  if (!t)
    return NULL;
  pthread_mutex_init (&t->lock, NULL);
  t->count = count;
  for (uint32_t i = 0; i < count; i++)
    sem_init (&t->of[i].go, 0, i == 0);
  return t;
}

static void
gompy_turns_free (struct gompy_turns *t)
{
  for (uint32_t i = 0; t && i < t->count; i++)
    sem_destroy (&t->of[i].go);
  if (t)
    pthread_mutex_destroy (&t->lock);
  free (t);
}

/* The next block's turn, under the lock.  Of a launch that has FAILED only those that have begun are to end.  Whether
   there is one but FROM.  */
static inline int
gompy_turn_give (struct gompy_turns *t, uint32_t from, int failed)
{
  for (uint32_t i = 1; i < t->count; i++)
    {
      uint32_t next = (from + i) % t->count;
      if (t->of[next].state == GOMPY_TURN_BEGUN || (t->of[next].state == GOMPY_TURN_NEW && !failed))
        {
          t->at = next;
          sem_post (&t->of[next].go);
          return 1;
        }
    }
  return 0;
}

static inline void
gompy_turn_wait (struct gompy_turns *t, uint32_t block)
{
  while (sem_wait (&t->of[block].go) && errno == EINTR)
    ;
}

/* Wait for a block's first turn; 0: the launch has failed, it is not to begin.  */
static int
gompy_turn_begin (struct gompy_turns *t, uint32_t block, const int *failed)
{
  int begins;
  pthread_mutex_lock (&t->lock);
  begins = !__atomic_load_n (failed, __ATOMIC_SEQ_CST);
  if (begins)
    t->of[block].state = GOMPY_TURN_BEGUN;
  pthread_mutex_unlock (&t->lock);
  if (begins)
    gompy_turn_wait (t, block);
  return begins;
}

/* A block waits for others.  */
static void
gompy_turn_pass (struct gompy_turns *t, uint32_t block, const int *failed)
{
  int given;
  pthread_mutex_lock (&t->lock);
  given = gompy_turn_give (t, block, __atomic_load_n (failed, __ATOMIC_SEQ_CST));
  pthread_mutex_unlock (&t->lock);
  if (given)
    gompy_turn_wait (t, block);
}

static void
gompy_turn_end (struct gompy_turns *t, uint32_t block, const int *failed)
{
  pthread_mutex_lock (&t->lock);
  t->of[block].state = GOMPY_TURN_OVER;
  gompy_turn_give (t, block, __atomic_load_n (failed, __ATOMIC_SEQ_CST));
  pthread_mutex_unlock (&t->lock);
}

/* The launch has failed for lack of something, maybe in a thread that has no turn: none waits for a block that will
   not begin.  */
static void
gompy_turns_abandon (struct gompy_turns *t)
{
  pthread_mutex_lock (&t->lock);
  if (t->of[t->at].state == GOMPY_TURN_NEW)
    gompy_turn_give (t, t->at, 1);
  pthread_mutex_unlock (&t->lock);
}

#endif
