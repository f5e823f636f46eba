/* The log of `gompy run --check`: what constructs say while checks rest.

   There is no time to read all of that (check_rest.h).  So what a construct says waits until it ends.  If nothing is
   found meanwhile only what it has mapped and what it has unmapped is kept, with its frame: mappings that end before
   anybody asks are not logged, nor are launches and copies.  Whatever else is to be said first, by any thread, has all
   of it said before: a finding, the program's end, a record of a construct that is followed.  The last of the mappings
   that have ended are said before a finding alone (check_ended.h).

   Only where nobody but the check reads the log.  Included once, by check_frames.h.  */
#ifndef GOMPY_CHECK_WITHHELD_H
#define GOMPY_CHECK_WITHHELD_H

#define GOMPY_SAID_RECORDS 48u  /* of a construct */
#define GOMPY_SAID_TEXT 2048u   /* bytes of their payload */
#define GOMPY_SAID_THREADS 64u  /* beyond them a thread's records are logged at once */
#define GOMPY_UNSAID 512u         /* mappings and ends of mappings; then they are logged */

static int gompy_again_wanted;
static volatile int gompy_watch_handles;

/* A frame as it was when its construct ended.  */
struct gompy_unsaid_frame
{
  unsigned users;
  uint32_t thread;
  struct gompy_frame frame;
  size_t size;
  char stack[];
};

static struct gompy_unsaid
{
  struct gompy_record record;
  struct gompy_unsaid_frame *frame;
  uint64_t call;
} *gompy_unsaid;
static unsigned gompy_unsaid_count;

/* What a thread's construct has said so far.  */
struct gompy_said
{
  unsigned count, text;
  int spilled;    /* it was logged by another thread */
  uint64_t call;  /* of the construct */
  struct gompy_record records[GOMPY_SAID_RECORDS];
  char texts[GOMPY_SAID_TEXT];
};

static struct gompy_said *gompy_saids[GOMPY_SAID_THREADS];
static unsigned gompy_said_threads;
static __thread struct gompy_said *gompy_said;
static __thread uint64_t gompy_said_call;
static __thread int gompy_saying;
static __thread int gompy_frame_asked;  /* the construct's frame is to be noted before its next record */
static unsigned gompy_withheld_any;  /* records that are not logged yet */
static pthread_mutex_t gompy_withheld_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t gompy_log_found_frame (struct gompy_frame *);
static void gompy_log_frame_of (uint32_t thread, const struct gompy_frame *f, const void *stack, size_t n);

/* A handler of the program's that ends it, in the midst of what follows, says nothing of this: it would wait for
   itself.  */
static void
gompy_lock_withheld (void)
{
  gompy_saying = 1;
  pthread_mutex_lock (&gompy_withheld_lock);
}

static void
gompy_unlock_withheld (void)
{
  pthread_mutex_unlock (&gompy_withheld_lock);
  gompy_saying = 0;
}

/* Where a thread's construct stands, of which no frame is known: its call returns to PC, if that is not 0.  */
static void
gompy_say_place (uint32_t thread, uint64_t pc)
{
  static const uint64_t registers[2][GOMPY_KEPT_REGISTERS];
  struct gompy_record frame = { .op = GOMPY_EVENT_FRAME, .device = -1, .thread = thread, .where = pc };
  if (pc)
    gompy_log2 (&frame, registers, sizeof registers, NULL, 0);
}

/* Where a call of a construct's returns to; 0: it is not known.  */
static uint64_t
gompy_pc_of (uint64_t call)
{
  return call ? call + 1 : 0;
}

static void
gompy_let_frame_go (struct gompy_unsaid_frame *frame)
{
  if (frame != NULL && --frame->users == 0 && !gompy_watch_handles)  /* the program may be in malloc there */
    free (frame);
}

/* Whether a record says that something is mapped now.  */
static int
gompy_says_new (const struct gompy_record *e)
{
  return e->op == GOMPY_EVENT_ENTRY && e->flags & GOMPY_ENTRY_NEW && !(e->flags & GOMPY_ENTRY_ATTACH);
}

#include "check_ended.h"

/* Log a record that has waited.  The lock is held.  */
static void
gompy_say_record (struct gompy_record *e, const void *payload, size_t n)
{
  if (gompy_says_new (e))
    gompy_ended_before_new (e);
  gompy_log2 (e, payload, n, NULL, 0);
}

/* Log what is mapped and unmapped since it was logged.  The lock is held.  */
static void
gompy_say_unsaid (void)
{
  struct gompy_unsaid_frame *said = NULL;
  for (unsigned i = 0; i < gompy_unsaid_count; i++)
    {
      struct gompy_unsaid *h = &gompy_unsaid[i];
      if (h->frame == NULL)
        gompy_say_place (h->record.thread, gompy_pc_of (h->call));
      else if (h->frame != said)
        gompy_log_frame_of (h->frame->thread, &h->frame->frame, h->frame->stack, h->frame->size);
      said = h->frame;
      gompy_say_record (&h->record, NULL, 0);
    }
  for (unsigned i = 0; i < gompy_unsaid_count; i++)
    gompy_let_frame_go (gompy_unsaid[i].frame);
  gompy_withheld_any -= gompy_unsaid_count;
  gompy_unsaid_count = 0;
}

/* Log the frame of the construct that the calling thread is in, or where that stands.  */
static void
gompy_say_frame (void)
{
  struct gompy_frame f;
  memset (&f, 0, sizeof f);
  f.call = gompy_said_call;
  gompy_frame_asked = 0;
  if (gompy_log_found_frame (&f) == 0)
    gompy_say_place (gompy_number_in_log (), gompy_pc_of (gompy_said_call));
}

/* Log what a thread's construct has said.  The lock is held.  */
static void
gompy_say_construct (struct gompy_said *said)
{
  const char *text = said->texts;
  if (said == gompy_said)
    gompy_say_frame ();
  else
    gompy_say_place (said->records[0].thread, gompy_pc_of (said->call));
  for (unsigned i = 0; i < said->count; i++)
    {
      size_t n = said->records[i].payload;
      gompy_say_record (&said->records[i], text, n);
      text += n;
    }
  gompy_withheld_any -= said->count;
  said->count = said->text = 0;
  said->spilled = 1;
}

/* Log all that was withheld.  */
static void
gompy_say_withheld (void)
{
  if (gompy_saying || (!gompy_frame_asked && __atomic_load_n (&gompy_withheld_any, __ATOMIC_RELAXED) == 0)
      || !gompy_is_logging ())  /* a forked child: the lock may be anybody's */
    return;
  gompy_lock_withheld ();
  gompy_say_unsaid ();
  for (unsigned i = 0; i < gompy_said_threads; i++)
    if (gompy_saids[i]->count)
      gompy_say_construct (gompy_saids[i]);
  if (gompy_frame_asked)
    gompy_say_frame ();
  gompy_unlock_withheld ();
}

/* A record is logged next, and what waited has been: log what has ended unlogged, as far as it may be about that.  */
static void
gompy_say_ended_before (const struct gompy_record *e)
{
  static const struct gompy_record frame = { .op = GOMPY_EVENT_FRAME };
  int new = gompy_says_new (e), about;
  if (__atomic_load_n (&gompy_ended_count, __ATOMIC_RELAXED) == 0)
    return;
  gompy_lock_withheld ();
  about = new || gompy_may_be_of_ended (e);
  gompy_unlock_withheld ();
  if (!about)
    return;
  gompy_before_record (&frame, NULL, 1);  /* check_again.h: the thread's own frame, which cannot come amid another */
  gompy_lock_withheld ();
  if (new)
    gompy_ended_before_new (e);
  else
    gompy_say_ended ();
  gompy_unlock_withheld ();
}

/* The calling thread's, or NULL.  The lock is held.  */
static struct gompy_said *
gompy_said_here (void)
{
  if (gompy_said == NULL && gompy_said_threads < GOMPY_SAID_THREADS)
    {
      gompy_said = gompy_check_room (sizeof *gompy_said);
      if (gompy_said != NULL)
        gompy_saids[gompy_said_threads++] = gompy_said;
    }
  return gompy_said;
}

/* Whether the calling thread is IN_CONSTRUCT, all of whose records have one frame, and nothing of it is logged for
   now.  */
static int
gompy_withholds (int in_construct)
{
  return gompy_rests && in_construct && gompy_again_wanted && !gompy_saying
         && (gompy_said == NULL || !gompy_said->spilled);
}

/* A record is about to be logged.  Whether that need not be done for now.  */
static int
gompy_withhold (const struct gompy_record *e, const void *payload, size_t n, int in_construct)
{
  struct gompy_said *said;
  int done = 0;
  if (gompy_saying || e->op == GOMPY_EVENT_FRAME || e->op == GOMPY_EVENT_BEHIND || e->op == GOMPY_EVENT_RESTED)
    return 0;
  if (gompy_withholds (in_construct))
    {
      gompy_lock_withheld ();
      said = gompy_said_here ();
      if (said != NULL && !said->spilled && said->count < GOMPY_SAID_RECORDS && n <= GOMPY_SAID_TEXT - said->text
          && (e->op == GOMPY_EVENT_ENTRY || e->op == GOMPY_EVENT_REMOVE || e->op == GOMPY_EVENT_EXIT
              || e->op == GOMPY_EVENT_UPDATE || e->op == GOMPY_EVENT_LAUNCH
              || (e->op == GOMPY_EVENT_COPY && n > 0)))  /* what it has may be a pointer, by which memory is named */
        {
          struct gompy_record *r = &said->records[said->count++];
          *r = *e;
          r->payload = (uint32_t) n;
          r->thread = gompy_number_in_log ();
          said->call = gompy_said_call;
          memcpy (said->texts + said->text, payload, n);
          said->text += n;
          gompy_withheld_any++;
          done = 1;
        }
      gompy_unlock_withheld ();
      done |= e->op == GOMPY_EVENT_COPY;
    }
  if (!done)
    {
      gompy_say_withheld ();
      gompy_say_ended_before (e);
    }
  return done;
}

/* Whether a record says that something is mapped now that another removes: all of that, or a part that the same
   construct has named besides.  */
static int
gompy_is_removed (const struct gompy_record *e, const struct gompy_record *by)
{
  return gompy_says_new (e) && e->device == by->device
         && (e->start == by->start || e->start - by->start < by->size);
}

/* Do not log what maps what a record of a CALL removes, of what waits.  Whether something does.  The lock is held.  */
static int
gompy_take_back (const struct gompy_record *e, uint64_t call)
{
  int any = 0;
  for (unsigned i = gompy_unsaid_count; i-- > 0;)
    if (gompy_is_removed (&gompy_unsaid[i].record, e))
      {
        gompy_keep_ended (&gompy_unsaid[i].record, gompy_unsaid[i].call, gompy_unsaid[i].frame, e, call);
        memmove (&gompy_unsaid[i], &gompy_unsaid[i + 1], (--gompy_unsaid_count - i) * sizeof *gompy_unsaid);
        gompy_withheld_any--;
        any = 1;
      }
  return any;
}

static struct gompy_unsaid_frame *
gompy_hold_frame (uint64_t call, uint32_t thread)
{
  struct gompy_frame f;
  struct gompy_unsaid_frame *frame;
  size_t n;
  memset (&f, 0, sizeof f);
  f.call = call;
  if ((n = gompy_find_frame (&f)) == 0 || (frame = malloc (sizeof *frame + n)) == NULL)
    return NULL;
  frame->users = 0;
  frame->thread = thread;
  frame->frame = f;
  frame->size = n;
  memcpy (frame->stack, (void *) f.sp, n);
  return frame;
}

/* Of what a construct that ends has said leave what it has mapped, and not unmapped again, and the other way round.
   Whether its frame is wanted for the latter.  The lock is held.  */
static int
gompy_leave_lasting (struct gompy_said *said)
{
  int wanted = 0;
  unsigned left = 0;
  uint64_t dead = 0;
  for (unsigned i = 0; i < said->count; i++)
    for (unsigned j = i; said->records[i].op == GOMPY_EVENT_REMOVE && j-- > 0;)
      if (!(dead >> j & 1) && gompy_is_removed (&said->records[j], &said->records[i]))
        {
          dead |= 1ull << i | 1ull << j;
          wanted |= gompy_keep_ended (&said->records[j], said->call, NULL, &said->records[i], said->call);
        }
  for (unsigned i = 0; i < said->count; i++)
    {
      const struct gompy_record *e = &said->records[i];
      if (dead >> i & 1 || (e->op == GOMPY_EVENT_REMOVE ? gompy_take_back (e, said->call) : !gompy_says_new (e)))
        continue;
      said->records[left] = *e;
      said->records[left++].payload = 0;
    }
  gompy_withheld_any -= said->count - left;
  said->count = left;
  said->text = 0;
  return wanted;
}

/* Keep that, with its FRAME, which those have, too, that have ended in it and have numbers from ENDED on.  The lock is
   held.  */
static void
gompy_hold_lasting (struct gompy_said *said, struct gompy_unsaid_frame *frame, uint64_t ended)
{
  unsigned users = said->count + gompy_give_ended_frame (frame, said->call, ended);
  if (gompy_unsaid_count + said->count > GOMPY_UNSAID)  /* its frame would go in the midst of it, with what has that */
    gompy_say_unsaid ();
  for (unsigned i = 0; i < said->count; i++)
    gompy_unsaid[gompy_unsaid_count++] = (struct gompy_unsaid){ said->records[i], frame, said->call };
  if (frame != NULL)
    frame->users = users;
  if (users == 0)  /* another thread has logged it meanwhile */
    free (frame);
  said->count = 0;
}

/* Whether a construct's records have names with them, and it has mapped something: these belong together.  */
static int
gompy_said_names (const struct gompy_said *said)
{
  int new = 0, named = 0;
  for (unsigned i = 0; i < said->count; i++)
    {
      new |= gompy_says_new (&said->records[i]);
      named |= said->records[i].op == GOMPY_EVENT_ENTRY && said->records[i].payload;
    }
  return new && named;
}

/* The program's code runs next, or has run until now: the thread's construct has ended; CALL: another begins.  */
static void
gompy_withheld_ends (uint64_t call)
{
  struct gompy_said *said = gompy_said;
  struct gompy_unsaid_frame *frame;
  uint64_t ended;
  unsigned lasts;
  int wanted = 0;
  gompy_said_call = call;
  gompy_frame_asked = 0;
  if (said == NULL || gompy_saying || !gompy_is_logging ())
    return;
  if (said->count && (!gompy_rests || gompy_said_names (said)))
    gompy_say_withheld ();
  gompy_lock_withheld ();
  if (gompy_unsaid == NULL && said->count)
    gompy_unsaid = gompy_check_room (GOMPY_UNSAID * sizeof *gompy_unsaid);
  ended = gompy_ended_number + 1;
  if (gompy_unsaid != NULL)
    wanted = gompy_leave_lasting (said);
  gompy_ended_copied += (unsigned) wanted;
  lasts = said->count;
  gompy_unlock_withheld ();
  if (lasts && gompy_unsaid == NULL)
    gompy_say_withheld ();
  else if (lasts || wanted)
    {
      frame = gompy_hold_frame (said->call, said->records[0].thread);
      gompy_lock_withheld ();
      gompy_hold_lasting (said, frame, ended);
      gompy_unlock_withheld ();
    }
  said->spilled = 0;
}

#endif
