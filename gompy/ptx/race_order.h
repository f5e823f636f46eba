/* What orders accesses (races.h): barriers, and flags, which are atomic words that are written behind a fence.  */
#ifndef GOMPY_PTX_RACE_ORDER_H
#define GOMPY_PTX_RACE_ORDER_H

#include "race_grid.h"

static inline void
gompy_clocks_join (struct gompy_clocks *to, const struct gompy_clocks *from)
{
  for (int i = 0; i < GOMPY_RACE_WARPS; i++)
    to->of[i] = to->of[i] > from->of[i] ? to->of[i] : from->of[i];
}

static void gompy_race_see (struct gompy_races *, uint32_t, struct gompy_flag *, uint32_t);

/* What a warp has read of flags is known from here on.  */
static inline void
gompy_race_acquire (struct gompy_races *r, uint32_t warp)
{
  for (uint32_t i = 0; i < r->npending[warp]; i++)
    gompy_race_see (r, warp, r->pending[warp][i].flag, r->pending[warp][i].version);
  r->npending[warp] = 0;
  if (r->passing >> warp & 1)
    {
      const struct gompy_grid_phase *phase = gompy_grid_pass (r, warp);
      for (uint32_t i = 0; i < phase->nseen; i++)
        gompy_race_see (r, warp, phase->seen[i].flag, phase->seen[i].version);
    }
}

/* A warp comes to a barrier.  By the model only a fence tells what flags do; that a barrier does is counted on by much
   that runs well: one thread takes the last ticket, the others go on behind a barrier.  */
static void
gompy_race_come (struct gompy_races *r, uint32_t warp)
{
  gompy_race_end_notes (r);
  gompy_race_acquire (r, warp);
}

/* What it has done is known to who leaves the barrier.  */
static void
gompy_race_join (struct gompy_races *r, uint32_t warp, uint32_t number)
{
  r->met |= 1u << number;
  gompy_clocks_join (&r->meeting[number], &r->knows[warp]);
  if (r->has_fenced[warp])
    {
      gompy_clocks_join (&r->meeting_fenced[number], &r->fenced[warp]);
      r->meeting_has_fenced[number] = 1;
    }
  r->knows[warp].of[warp] = gompy_race_epoch (r); /* what bar.arrive's warp does next is unknown to the others */
}

/* It comes, and may go on before the others do.  */
static void
gompy_race_arrive (struct gompy_races *r, uint32_t warp, uint32_t number)
{
  gompy_race_come (r, warp);
  gompy_race_join (r, warp, number);
}

/* A warp comes to the cluster's barrier, and FIRST of all since it was last complete.  RELAXED: only what is before its
   last fence is known to who leaves.  */
static void
gompy_race_arrive_cluster (struct gompy_races *r, uint32_t warp, uint32_t number, int first, int relaxed)
{
  gompy_race_come (r, warp);
  if (first)
    gompy_race_new_barrier (r, number);
  if (!relaxed)
    gompy_race_join (r, warp, number);
  else if (r->has_fenced[warp])
    {
      r->met |= 1u << number;
      gompy_clocks_join (&r->meeting[number], &r->fenced[warp]);
    }
}

/* It goes on behind it.  */
static void
gompy_race_leave (struct gompy_races *r, uint32_t warp, uint32_t number)
{
  r->leavers[number]++;
  gompy_clocks_join (&r->knows[warp], &r->meeting[number]);
  if (r->meeting_has_fenced[number])
    {
      gompy_clocks_join (&r->fenced[warp], &r->meeting_fenced[number]);
      r->has_fenced[warp] = 1;
    }
}

/* All have left.  */
static void
gompy_race_empty (struct gompy_races *r, uint32_t number)
{
  if (r->leavers[number] == r->nwarps)
    {
      r->ordered_before = r->shared_first = gompy_race_epoch (r);
      for (uint32_t w = 0; w < r->nwarps; w++)
        r->knows[w].of[w] = r->ordered_before;
      gompy_race_new_shared (r);
    }
  r->leavers[number] = 0;
  gompy_race_new_barrier (r, number);
}

/* All warps of the block have come to a barrier, and go on: what was before, each knows of each.  */
static void
gompy_race_meet (struct gompy_races *r)
{
  struct gompy_clocks fenced = { { 0 } }, all; /* also of warps that there are not: copies of a size are quicker */
  uint8_t has_fenced = 0;
  r->ordered_before = r->shared_first = gompy_race_epoch (r);
  for (int w = 0; w < GOMPY_RACE_WARPS; w++)
    all.of[w] = r->ordered_before - 1;
  for (uint32_t w = 0; w < r->nwarps; w++)
    {
      r->knows[w] = all;
      r->knows[w].of[w] = r->ordered_before;
      has_fenced |= r->has_fenced[w];
    }
  gompy_race_new_shared (r);
  if (!has_fenced)
    return;
  for (uint32_t w = 0; w < r->nwarps; w++)
    if (r->has_fenced[w])
      gompy_clocks_join (&fenced, &r->fenced[w]);
  for (uint32_t w = 0; w < r->nwarps; w++)
    {
      r->fenced[w] = fenced;
      r->has_fenced[w] = 1;
    }
}

/* bar.warp.sync: the lanes' accesses before it come before those behind it.  (Also of lanes outside of its mask.)  */
static void
gompy_race_warp_sync (struct gompy_races *r, uint32_t warp)
{
  gompy_race_end_notes (r);
  gompy_race_acquire (r, warp);
  r->knows[warp].of[warp] = gompy_race_epoch (r);
  r->syncs[warp] = (r->syncs[warp] + GOMPY_SYNC) & (GOMPY_STAMP - 1);
}

/* membar, fence.  */
static void
gompy_race_fence (struct gompy_races *r, uint32_t warp)
{
  gompy_race_end_notes (r);
  gompy_race_acquire (r, warp);
  gompy_clocks_join (&r->fenced[warp], &r->knows[warp]);
  r->has_fenced[warp] = 1;
  r->knows[warp].of[warp] = gompy_race_epoch (r);
}

/* Whether a line of 128 bytes may have some.  */
static inline int
gompy_race_flags_near (const struct gompy_races *r, uint64_t address)
{
  return r->flag_lines[address >> 13 & 63] >> (address >> 7 & 63) & 1;
}

/* It may have some, so accesses by the compiler's libraries are told.  */
static inline void
gompy_race_near (struct gompy_races *r, uint64_t address)
{
  r->flag_lines[address >> 13 & 63] |= 1ull << (address >> 7 & 63);
}

/* Programs have flags by the thousand: each word that a graph's edges update behind a fence is one.  Without memory for
   more chains they grow longer.  */
static __attribute__ ((noinline)) void
gompy_race_more_flags (struct gompy_races *r)
{
  uint32_t bits = r->flag_bits + 2;
  struct gompy_flag **more = calloc ((size_t) 1 << bits, sizeof *more);
  if (!more)
    return;
  for (size_t i = 0; i < (size_t) 1 << r->flag_bits; i++)
    while (r->flags[i])
      {
        struct gompy_flag *flag = r->flags[i], **at = &more[gompy_flag_chain (flag->address, bits)];
        r->flags[i] = flag->next;
        flag->next = *at;
        *at = flag;
      }
  free (r->flags);
  r->flags = more;
  r->flag_bits = bits;
}

/* Room for a flag; NULL for lack of memory.  */
static struct gompy_flag *
gompy_race_new_flag (struct gompy_races *r, uint64_t address)
{
  struct gompy_flags_chunk **at = r->filling ? &r->filling : &r->chunks;
  struct gompy_flag *flag;
  if (*at && (*at)->used == GOMPY_FLAGS_CHUNK)
    at = &(*at)->next;
  if (!*at && !(*at = calloc (1, sizeof **at)))
    return NULL;
  r->filling = *at;
  flag = &r->filling->flags[r->filling->used++];
  flag->next = NULL;
  flag->address = address;
  flag->version = flag->count = flag->nbehind = flag->visited = 0;
  flag->room = 1;
  flag->blocks = &flag->one;
  gompy_race_near (r, address);
  r->nflags++;
  r->own_flags++;
  return flag;
}

/* Memory that is freed has no flags: nobody reads them any more.  What others have read of them stays known.  */
static void
gompy_race_drop_flags (struct gompy_races *r, uint64_t address, uint64_t size)
{
  for (uint64_t word = address & ~3ull; r->nflags && word < address + size; word += 4)
    {
      struct gompy_flag **at = &r->flags[gompy_flag_chain (word, r->flag_bits)];
      if (!gompy_race_flags_near (r, word))
        {
          word |= 124; /* the last one of its line */
          continue;
        }
      while (*at)
        if ((*at)->address - address < size && (*at)->address - word < 4)
          {
            r->own_flags -= (*at)->blocks[0].run == r->self;
            r->nflags--;
            *at = (*at)->next;
          }
        else
          at = &(*at)->next;
    }
}

static struct gompy_flag **
gompy_race_flag (struct gompy_races *r, uint64_t address)
{
  struct gompy_flag **at = &r->flags[gompy_flag_chain (address, r->flag_bits)];
  while (*at && (*at)->address != address)
    at = &(*at)->next;
  return at;
}

/* What the block has written of a flag itself, or NULL.  Where blocks run one after the other that is the last.  */
static struct gompy_flag_block *
gompy_flag_own (const struct gompy_races *r, struct gompy_flag *flag)
{
  for (uint32_t i = flag->count; i-- > 0;)
    if (flag->blocks[i].run == r->self)
      return &flag->blocks[i];
    else if (!r->grid)
      return NULL;
  return NULL;
}

/* A warp writes an atomic word: who reads it later knows what the warp's last fence knew.  */
static void
gompy_race_publish (struct gompy_races *r, uint32_t warp, uint64_t address)
{
  struct gompy_flag **at, *flag;
  struct gompy_flag_block *block;
  if (!r->has_fenced[warp])
    return;
  at = gompy_race_flag (r, address);
  if (!*at)
    {
      if (r->nflags >> r->flag_bits)
        {
          gompy_race_more_flags (r);
          at = gompy_race_flag (r, address);
        }
      if (!(*at = gompy_race_new_flag (r, address)))
        return;
    }
  flag = *at;
  flag->version++;
  block = gompy_flag_own (r, flag);
  if (!block)
    {
      if (flag->count == flag->room)
        {
          uint32_t room = 2 * flag->room + 4;
          void *more = realloc (flag->blocks == &flag->one ? NULL : flag->blocks, room * sizeof *flag->blocks);
          if (!more)
            return;
          if (flag->blocks == &flag->one)
            memcpy (more, &flag->one, sizeof flag->one);
          flag->blocks = more;
          flag->room = room;
        }
      block = &flag->blocks[flag->count++];
      memset (block, 0, sizeof *block);
      block->run = r->self;
      block->since = flag->version;
    }
  gompy_clocks_join (&block->clocks, &r->fenced[warp]);
  for (uint32_t i = 0; i < r->nseen; i++)
    if (r->seen[i].flag != flag)
      gompy_race_saw (r, flag->behind, &flag->nbehind, sizeof flag->behind / sizeof *flag->behind, r->seen[i].flag,
                      r->seen[i].version);
}

/* Whether a word is one.  */
static int
gompy_race_is_flag (struct gompy_races *r, uint64_t address)
{
  return r->nflags && gompy_race_flags_near (r, address) && *gompy_race_flag (r, address) != NULL;
}

/* A warp has read one, with what had been written there as VERSION.  */
static void
gompy_race_see (struct gompy_races *r, uint32_t warp, struct gompy_flag *flag, uint32_t version)
{
  const struct gompy_flag_block *own = gompy_flag_own (r, flag);
  r->heard |= flag->count && flag->blocks[0].run != r->self;
  if (own && own->since <= version)
    gompy_clocks_join (&r->knows[warp], &own->clocks);
  gompy_race_saw (r, r->seen, &r->nseen, GOMPY_RACE_KNOWN, flag, version);
}

/* A warp reads one with acquire order.  */
static void
gompy_race_learn (struct gompy_races *r, uint32_t warp, uint64_t address)
{
  struct gompy_flag *flag = r->nflags ? *gompy_race_flag (r, address) : NULL;
  gompy_race_end_notes (r);
  if (flag)
    gompy_race_see (r, warp, flag, flag->version);
}

/* A warp reads one without: what that tells is known behind a fence.  */
static void
gompy_race_look (struct gompy_races *r, uint32_t warp, uint64_t address)
{
  struct gompy_flag *flag = r->nflags && gompy_race_flags_near (r, address) ? *gompy_race_flag (r, address) : NULL;
  if (flag)
    gompy_race_saw (r, r->pending[warp], &r->npending[warp], GOMPY_RACE_PENDING, flag, flag->version);
}

/* Whether a flag, as it was seen, tells of an access of a former block's.  What a flag tells of that block itself may
   have come later than it was seen: of what the block had seen it needs none, as it had that in its own clocks.  The
   flag at ADDRESS tells of its own atomic writes, too, which come after the fence.  */
static int
gompy_flag_tells (struct gompy_races *r, const struct gompy_flag_seen *seen, const struct gompy_touch *touch,
                  uint64_t address, uint32_t run, int depth)
{
  struct gompy_flag *flag = seen->flag;
  if (flag->visited == r->visit && seen->version <= flag->visited_version)
    return 0;
  flag->visited = r->visit;
  flag->visited_version = seen->version;
  if (depth == GOMPY_RACE_DEPTH)
    return 1;
  for (uint32_t i = 0; i < flag->count; i++)
    if (flag->blocks[i].run == run)
      {
        if (flag->blocks[i].since <= seen->version
            && (flag->blocks[i].clocks.of[gompy_who_warp (touch->who)] >= touch->epoch
                || (touch->who & GOMPY_WHO_STRONG && flag->address >> 2 == address >> 2)))
          return 1;
        break;
      }
  for (uint32_t i = 0; i < flag->nbehind; i++)
    if (flag->behind[i].run != run && gompy_flag_tells (r, &flag->behind[i], touch, address, run, depth + 1))
      return 1;
  return 0;
}

/* The operation of a stream that an epoch is of.  */
static inline const struct gompy_work *
gompy_race_work (const struct gompy_races *r, int32_t epoch)
{
  return &r->works[gompy_race_of_epoch (&r->works->first, sizeof *r->works, r->nworks, epoch)];
}

/* Whether an access of another block, or of another operation, is known to come before this one's.  ADDRESS: of the
   word, or 0.  */
static __attribute__ ((noinline)) int
gompy_race_told (struct gompy_races *r, const struct gompy_touch *touch, uint64_t address)
{
  uint32_t run;
  if (touch->epoch < r->own_first)
    {
      const struct gompy_work *work = gompy_race_work (r, touch->epoch);
      return !r->order || r->order->before[work->stream] >= work->ticket;
    }
  run = r->runs[gompy_race_run (r, touch->epoch)].home;
  if (gompy_grid_tells (r, touch, run))
    return 1;
  r->visit++;
  if (r->nseen == GOMPY_RACE_KNOWN)
    return 1; /* more than can be remembered */
  for (uint32_t i = 0; i < r->nseen; i++)
    if (gompy_flag_tells (r, &r->seen[i], touch, address, run, 0))
      return 1;
  return 0;
}

/* Whether an access comes before one of a warp's lane that WRITES or not, by what orders them.  */
static inline int
gompy_race_ordered (struct gompy_races *r, const struct gompy_touch *touch, uint32_t warp, uint32_t lane, int writes,
                    int in_step)
{
  uint32_t other = gompy_who_warp (touch->who), its = gompy_who_lane (touch->who);
  if (!gompy_race_own (r, touch->epoch))
    return gompy_race_told (r, touch, r->judged);
  if (other != warp)
    return touch->epoch <= r->knows[warp].of[other];
  if (in_step || its == lane || gompy_all_first (its == GOMPY_WHO_ALL, lane == GOMPY_WHO_ALL, writes))
    return 1;
  return touch->epoch < r->knows[warp].of[warp];
}

#endif
