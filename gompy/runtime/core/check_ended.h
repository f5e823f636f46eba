/* The log of `gompy run --check`: the last mappings that have ended unlogged, as checks rested.

   What is mapped and unmapped again in a rest is not logged (check_withheld.h).  A region may have kept its address,
   and use that later; then it is to be told what was there, and who has removed it.  So the last such mappings are
   kept, and logged before a finding that may be of them.

   The analysis takes the last mapping that was at an address.  So they are logged in their order, and before anything
   new is mapped at one of their addresses, unless that hides them wholly.  Included once, by check_withheld.h.  */
#ifndef GOMPY_CHECK_ENDED_H
#define GOMPY_CHECK_ENDED_H

#define GOMPY_ENDED 16u
/* Frames that are copied for mappings of which none is held: so many, and then one for so many mappings.  */
#define GOMPY_ENDED_FRAMES 64u
#define GOMPY_ENDED_PER_FRAME 16u
/* They are logged as of a thread that there is not, for the frames of the others to stay as they are.  */
#define GOMPY_ENDED_THREAD (UINT32_MAX - 1)

static struct gompy_ended
{
  struct gompy_record begin, end;    /* without an op: they are logged, or none has been here */
  uint64_t begin_call, end_call;
  struct gompy_unsaid_frame *frame;  /* in which it began, or NULL; it stays until the next one comes here, as handlers
                                        may log, and cannot free */
  uint64_t number;
} gompy_ended[GOMPY_ENDED];
static unsigned gompy_ended_count;   /* that are not logged */
static uint64_t gompy_ended_number;  /* of the last one, counted from 1 */
static uint64_t gompy_ended_copied;  /* frames */

static int
gompy_are_near (uint64_t start, uint64_t size, uint64_t other, uint64_t other_size)
{
  return start - other < (other_size ? other_size : 1) || other - start < (size ? size : 1);
}

static int
gompy_is_within (uint64_t start, uint64_t size, uint64_t other, uint64_t other_size)
{
  return start - other <= other_size && size <= other_size - (start - other);
}

/* Whether a record is about memory of a mapping's, on either side.  */
static int
gompy_is_about (const struct gompy_record *e, const struct gompy_record *begin)
{
  return e->device == begin->device
         && (gompy_are_near (e->start, e->size, begin->start, begin->size)
             || (e->address && gompy_are_near (e->address, e->size, begin->address, begin->size)));
}

/* Whether a new mapping has all of the memory that another had, on both sides: no finding will be of that one.  */
static int
gompy_hides (const struct gompy_record *e, const struct gompy_record *begin)
{
  return e->device == begin->device && gompy_is_within (begin->start, begin->size, e->start, e->size)
         && gompy_is_within (begin->address, begin->size, e->address, e->size);
}

/* Log them.  The lock is held.  */
static void
gompy_say_ended (void)
{
  while (gompy_ended_count)
    {
      struct gompy_ended *h = NULL;
      for (struct gompy_ended *i = gompy_ended; i < gompy_ended + GOMPY_ENDED; i++)
        if (i->begin.op && (h == NULL || i->number < h->number))
          h = i;
      if (h->frame != NULL)
        gompy_log_frame_of (GOMPY_ENDED_THREAD, &h->frame->frame, h->frame->stack, h->frame->size);
      else
        gompy_say_place (GOMPY_ENDED_THREAD, gompy_pc_of (h->begin_call));
      h->begin.thread = h->end.thread = GOMPY_ENDED_THREAD;
      gompy_log2 (&h->begin, NULL, 0, NULL, 0);
      gompy_say_place (GOMPY_ENDED_THREAD, gompy_pc_of (h->end_call));
      gompy_log2 (&h->end, NULL, 0, NULL, 0);
      h->begin.op = 0;
      gompy_ended_count--;
    }
}

/* Something new is mapped, which is logged next.  The lock is held.  */
static void
gompy_ended_before_new (const struct gompy_record *e)
{
  int about = 0;
  for (struct gompy_ended *h = gompy_ended; gompy_ended_count && h < gompy_ended + GOMPY_ENDED; h++)
    if (h->begin.op && gompy_hides (e, &h->begin))
      {
        h->begin.op = 0;
        gompy_ended_count--;
      }
    else
      about |= h->begin.op && gompy_is_about (e, &h->begin);
  if (about)
    gompy_say_ended ();
}

/* Whether a record may be a finding of what one of them had.  The lock is held.  */
static int
gompy_may_be_of_ended (const struct gompy_record *e)
{
  int about = e->op == GOMPY_EVENT_TEXT;  /* its address is in the text, if it has one */
  if (e->op == GOMPY_EVENT_ABSENT || e->op == GOMPY_EVENT_FLIGHT || (e->op == GOMPY_EVENT_STALE && e->kind != 0))
    for (struct gompy_ended *h = gompy_ended; h < gompy_ended + GOMPY_ENDED; h++)
      about |= h->begin.op && gompy_is_about (e, &h->begin);
  return about;
}

/* Where a mapping is kept: in place of what it hides, else where there is room, else of the oldest one of the same two
   calls, as in a loop, else of the oldest one.  */
static struct gompy_ended *
gompy_ended_place (const struct gompy_record *begin, uint64_t begin_call, uint64_t end_call)
{
  struct gompy_ended *best = gompy_ended;
  int best_rank = -1;
  for (struct gompy_ended *h = gompy_ended; h < gompy_ended + GOMPY_ENDED; h++)
    {
      int rank = h->begin.op == 0 ? 2 : h->begin_call == begin_call && h->end_call == end_call;
      if (rank < 2 && gompy_hides (begin, &h->begin))
        return h;
      if (rank > best_rank || (rank == best_rank && h->number < best->number))
        {
          best = h;
          best_rank = rank;
        }
    }
  return best;
}

/* Keep what began by a record, in a call and in a FRAME, which is given up for that, or NULL; and has ended by
   another.  Whether it has no frame and is worth one.  The lock is held.  */
static int
gompy_keep_ended (const struct gompy_record *begin, uint64_t begin_call, struct gompy_unsaid_frame *frame,
                  const struct gompy_record *end, uint64_t end_call)
{
  struct gompy_ended *h;
  if (begin->start != end->start || (begin_call == 0 && frame == NULL) || end_call == 0)
    {
      gompy_let_frame_go (frame);  /* a part of it, or nothing tells where that was */
      return 0;
    }
  h = gompy_ended_place (begin, begin_call, end_call);
  if (frame == NULL && h->frame != NULL && h->begin_call == begin_call && h->begin.start == begin->start)
    frame = h->frame;  /* the names that it has for it are right still */
  else
    gompy_let_frame_go (h->frame);
  gompy_ended_count += h->begin.op == 0;
  *h = (struct gompy_ended){ *begin, *end, begin_call, end_call, frame, ++gompy_ended_number };
  h->begin.payload = h->end.payload = 0;
  return frame == NULL && gompy_ended_copied < GOMPY_ENDED_FRAMES + gompy_ended_number / GOMPY_ENDED_PER_FRAME;
}

/* The FRAME of a call in which mappings have begun and ended, the first of them by its NUMBER.  How many have it.  The
   lock is held.  */
static unsigned
gompy_give_ended_frame (struct gompy_unsaid_frame *frame, uint64_t call, uint64_t number)
{
  unsigned users = 0;
  for (struct gompy_ended *h = gompy_ended; frame != NULL && h < gompy_ended + GOMPY_ENDED; h++)
    if (h->begin.op && h->frame == NULL && h->number >= number && h->begin_call == call && h->end_call == call
        && h->begin.thread == frame->thread)
      {
        h->frame = frame;
        users++;
      }
  return users;
}

#endif
