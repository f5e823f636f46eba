/* The device's side of -foffload-check: what threads of a group come to know of each other by locks.

   As vector clocks have it.  A thread's releases are counted, and its accesses bear that count.  A lock has, for each
   thread of a group, the count up to which it has heard of that one; who takes the lock hears of it, and of all that
   the one had heard who gave it back.  Releases whose takers are not seen, atomic operations and fences, may have told
   everybody: the group's word for that is `wild`.  So is a lock that threads of other groups take.  Included once, by
   device_access.h.  */
#ifndef GOMPY_DEVICE_LOCKS_H
#define GOMPY_DEVICE_LOCKS_H

#include <pthread.h>
#include "device_heard.h"

#define MIC_LOCK_CHAINS 1024u
#define MIC_LOCKS 65536u /* further ones are as atomic operations */

struct mic_lock
{
  uintptr_t lock;
  uint32_t group; /* whose threads `known` tells of */
  uint16_t known[MIC_GROUP];
  struct mic_heard heard; /* by teams */
  struct mic_lock *next;
};

static pthread_mutex_t mic_locks_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct mic_lock *mic_locks[MIC_LOCK_CHAINS];
static struct mic_group *mic_locking_groups;
static _Atomic uint32_t mic_last_group;
static uint32_t mic_locks_made;

static void
mic_tell_all (struct mic_group *group, const uint16_t *known)
{
  for (unsigned i = 0; i < MIC_GROUP; i++)
    mic_raise (&group->wild[i], known[i]);
}

/* The calling thread may make known to everybody what it has done, and what it knows.  */
static void
mic_release_wild (struct mic_group *group)
{
  mic_raise (&group->wild[mic_place.number], mic_count (&group->releases[mic_place.number]));
  if (group->known[mic_place.number] != NULL)
    mic_tell_all (group, group->known[mic_place.number]);
}

/* The same of a team.  */
static void
mic_release_team (struct mic_access_team *team)
{
  uint16_t releases = mic_count (&team->releases);
  if (team->heard == NULL)
    {
      mic_raise (&team->wild, releases);
      return;
    }
  pthread_mutex_lock (&mic_locks_mutex);
  mic_tell_teams (team, releases);
  pthread_mutex_unlock (&mic_locks_mutex);
}

/* The calling thread's team is over.  */
static void
mic_forget_team (struct mic_group *group)
{
  if (group == NULL)
    return;
  free (mic_access_teams[group->team].heard);
  mic_access_teams[group->team].heard = NULL;
}

/* What the calling thread knows of each of its group; NULL: no memory.  */
static uint16_t *
mic_known (struct mic_group *group)
{
  uint16_t **place = &group->known[mic_place.number];
  if (*place == NULL)
    *place = calloc (MIC_GROUP, sizeof **place);
  return *place;
}

/* The record of a lock; NULL: there is none, and none to be made.  */
static struct mic_lock *
mic_find_lock (uintptr_t lock, int make)
{
  struct mic_lock **chain = &mic_locks[(lock >> 3 ^ lock >> 13) % MIC_LOCK_CHAINS], *found = *chain;
  while (found != NULL && found->lock != lock)
    found = found->next;
  if (found != NULL || !make || mic_locks_made == MIC_LOCKS || (found = calloc (1, sizeof *found)) == NULL)
    return found;
  mic_locks_made++;
  found->lock = lock;
  found->next = *chain;
  return *chain = found;
}

/* Threads of another group have the lock now: those that its record tells of may hear from them.  */
static void
mic_spill_lock (struct mic_lock *lock)
{
  struct mic_group *group = mic_locking_groups;
  while (group != NULL && group->id != lock->group)
    group = group->next_locking;
  if (group != NULL)
    mic_tell_all (group, lock->known);
}

/* The calling thread is about to give a lock back.  */
static void
mic_give_lock (struct mic_group *group, uintptr_t lock)
{
  uint16_t *known = mic_known (group);
  struct mic_access_team *team = &mic_access_teams[group->team];
  uint16_t releases = mic_count (&team->releases);
  struct mic_lock *record;
  pthread_mutex_lock (&mic_locks_mutex);
  record = known != NULL ? mic_find_lock (lock, 1) : NULL;
  if (record == NULL)
    {
      mic_release_wild (group);
      mic_tell_teams (team, releases);
      atomic_store (&team->knows, 2);
    }
  else
    {
      if (group->id == 0)
        {
          group->id = atomic_fetch_add (&mic_last_group, 1) + 1;
          group->next_locking = mic_locking_groups;
          mic_locking_groups = group;
        }
      if (record->group != group->id)
        {
          mic_spill_lock (record);
          memset (record->known, 0, sizeof record->known);
          record->group = group->id;
        }
      mic_drop_heard (&record->heard, team->launch);
      if (team->heard != NULL)
        mic_hear_all (&record->heard, team->heard);
      mic_hear (&record->heard, group->team, releases);
      known[mic_place.number] = mic_count (&group->releases[mic_place.number]);
      for (unsigned i = 0; i < MIC_GROUP; i++)
        if (record->known[i] < known[i])
          record->known[i] = known[i];
    }
  pthread_mutex_unlock (&mic_locks_mutex);
}

/* It has taken one.  */
static void
mic_take_lock (struct mic_group *group, uintptr_t lock)
{
  struct mic_lock *record;
  struct mic_heard *heard;
  uint16_t *known;
  pthread_mutex_lock (&mic_locks_mutex);
  record = mic_find_lock (lock, 0);
  if (record == NULL && mic_locks_made == MIC_LOCKS)
    atomic_store (&mic_access_teams[group->team].knows, 2);  /* one that is not followed */
  if (record != NULL && (heard = mic_heard_of (&mic_access_teams[group->team])) != NULL)
    mic_hear_all (heard, &record->heard);
  if (record != NULL && (record->group != group->id || (known = mic_known (group)) == NULL))
    mic_spill_lock (record);
  else if (record != NULL)
    for (unsigned i = 0; i < MIC_GROUP; i++)
      if (known[i] < record->known[i])
        known[i] = record->known[i];
  pthread_mutex_unlock (&mic_locks_mutex);
}

/* Whether the calling thread may know of what another one of its group did, which had made OWN releases.  */
static int
mic_may_know (struct mic_group *group, unsigned number, uint32_t own)
{
  const uint16_t *known = group->known[mic_place.number];
  return own >= MIC_RELEASES || atomic_load (&group->wild[number]) > own || (known != NULL && known[number] > own);
}

static void
mic_free_group (struct mic_group *group)
{
  struct mic_group **place = &mic_locking_groups;
  if (group == NULL)
    return;
  if (group->id != 0)
    {
      pthread_mutex_lock (&mic_locks_mutex);
      while (*place != group)
        place = &(*place)->next_locking;
      *place = group->next_locking;
      pthread_mutex_unlock (&mic_locks_mutex);
    }
  for (unsigned i = 0; i < MIC_GROUP; i++)
    free (group->known[i]);
  free (group);
}

#endif
