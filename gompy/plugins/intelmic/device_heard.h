/* The device's side of -foffload-check: what teams come to know of each other by locks.

   As device_locks.h has it of the threads of a group, with a team in a thread's place: what one of its threads hears,
   all are taken to know.  Teams are many, so lists are kept in place of clocks.  Included once, by device_locks.h.  */
#ifndef GOMPY_DEVICE_HEARD_H
#define GOMPY_DEVICE_HEARD_H

#define MIC_HEARD 64u

/* Teams that are known of, and up to which of their releases.  */
struct mic_heard
{
  unsigned count;
  int all; /* of more than there is room for */
  struct { uint32_t team; uint16_t releases; } of[MIC_HEARD];
};

static void
mic_raise (_Atomic uint16_t *place, uint16_t to)
{
  uint16_t there = atomic_load (place);
  while (there < to && !atomic_compare_exchange_weak (place, &there, to))
    ;
}

/* Count a release, of a thread or a team; its number.  */
static uint16_t
mic_count (_Atomic uint16_t *releases)
{
  if (atomic_load (releases) < MIC_RELEASES)
    atomic_fetch_add (releases, 1);
  return atomic_load (releases);
}

/* Leave out what no team of a launch can be judged by.  */
static void
mic_drop_heard (struct mic_heard *heard, uint32_t launch)
{
  unsigned kept = 0;
  if (atomic_load (&mic_overlapped) >= launch)
    return; /* teams of another launch that runs may have passed it on */
  for (unsigned i = 0; i < heard->count; i++)
    if (mic_access_teams[heard->of[i].team].launch == launch)
      heard->of[kept++] = heard->of[i];
  heard->count = kept;
  if (kept == 0)
    heard->all = 0; /* of a launch that is over */
}

static void
mic_hear (struct mic_heard *heard, uint32_t team, uint16_t releases)
{
  for (unsigned i = 0; i < heard->count; i++)
    if (heard->of[i].team == team)
      {
        if (heard->of[i].releases < releases)
          heard->of[i].releases = releases;
        return;
      }
  if (heard->count == MIC_HEARD)
    {
      heard->all = 1;
      return;
    }
  heard->of[heard->count].team = team;
  heard->of[heard->count++].releases = releases;
}

static void
mic_hear_all (struct mic_heard *heard, const struct mic_heard *told)
{
  heard->all |= told->all;
  for (unsigned i = 0; i < told->count; i++)
    mic_hear (heard, told->of[i].team, told->of[i].releases);
}

/* A team's list; NULL: no memory, and from here on it may know of any.  */
static struct mic_heard *
mic_heard_of (struct mic_access_team *team)
{
  if (team->heard == NULL && (team->heard = calloc (1, sizeof *team->heard)) == NULL)
    atomic_store (&team->knows, 2);
  return team->heard;
}

/* A team has made a release that anybody may know of, and with it of what it had heard.  */
static void
mic_tell_teams (struct mic_access_team *team, uint16_t releases)
{
  const struct mic_heard *heard = team->heard;
  mic_raise (&team->wild, releases);
  if (heard == NULL)
    return;
  if (heard->all)
    mic_all_know = 1;
  for (unsigned i = 0; i < heard->count; i++)
    mic_raise (&mic_access_teams[heard->of[i].team].wild, heard->of[i].releases);
}

/* Whether a team may know of what another one did, which had made RELEASES.  */
static int
mic_team_may_know (const struct mic_access_team *team, uint32_t other, uint32_t releases)
{
  const struct mic_heard *heard = team->heard;
  uint32_t knows = atomic_load (&team->knows);
  if (releases >= MIC_RELEASES)
    return 1;
  if (releases == atomic_load (&mic_access_teams[other].releases))
    return 0;
  if (mic_all_know || knows > 1 || (knows && atomic_load (&mic_access_teams[other].wild) > releases))
    return 1;
  if (heard == NULL)
    return 0;
  for (unsigned i = 0; i < heard->count; i++)
    if (heard->of[i].team == other)
      return heard->of[i].releases > releases;
  return heard->all;
}

#endif
