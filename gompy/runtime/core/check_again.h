/* The log of `gompy run --check`: regions that are launched again as before, with what is mapped already.

   A loop that launches a region ten thousand times would say the same ten thousand times.  So what has been said a few
   times word for word waits until the next construct begins, and is left out then.  Whatever else is to be said first
   has it said before: a finding, a copy, the program's end.  The program's frame is not looked for either until then.

   Only while the program has one thread, as no other can look for a thread's frame; and only where nobody but the
   check reads the log.  Included once, by check_log.h.  */
#ifndef GOMPY_CHECK_AGAIN_H
#define GOMPY_CHECK_AGAIN_H

#include <sys/single_threaded.h>

#define GOMPY_AGAIN_RECORDS 32u
#define GOMPY_AGAIN_KNOWN 256u
#define GOMPY_AGAIN_TIMES 4u  /* so often a construct is logged */

struct gompy_said_often
{
  uint64_t hash;   /* of what a construct has said */
  uint64_t pc;     /* where its call returns to */
  unsigned times;
};

static struct
{
  struct gompy_said_often known[GOMPY_AGAIN_KNOWN];
  struct gompy_record records[GOMPY_AGAIN_RECORDS];  /* that wait */
} *gompy_again_room;

static struct
{
  unsigned count;     /* records that wait */
  int said;           /* they have been logged before, all that the construct says */
  uint64_t call;      /* of it */
  uint64_t pc;        /* where that returns to, as was seen when it was logged */
} gompy_waiting;

/* The last region that was left out, unless another has been logged since: a finding of the host's tells which region
   was the last.  It is logged as of a thread that there is not, for the frames of the others to stay as they are.  */
static struct { struct gompy_record launch; uint64_t pc; } gompy_left_out;
#define GOMPY_AGAIN_THREAD UINT32_MAX

/* Whether a construct that begins may say what it has said before.  */
static int
gompy_may_come_again (void)
{
  if (gompy_again_room == NULL && gompy_again_wanted)
    gompy_again_room = gompy_check_room (sizeof *gompy_again_room);
  return gompy_again_room != NULL && !gompy_rests && __libc_single_threaded && gompy_is_logging ()
         && gompy_frame_deferred == NULL && gompy_waiting.count == 0 && gompy_waiting.call != 0;
}

/* What waits is not logged; its last record is the region's.  */
static void
gompy_leave_out (void)
{
  gompy_left_out.launch = gompy_again_room->records[gompy_waiting.count - 1];
  gompy_left_out.pc = gompy_waiting.pc;
  gompy_waiting.count = gompy_waiting.said = 0;
}

/* Log the last region, if that was left out.  */
static void
gompy_say_left_out (void)
{
  struct gompy_record launch = gompy_left_out.launch;
  if (launch.op == 0)
    return;
  gompy_left_out.launch.op = 0;
  launch.thread = GOMPY_AGAIN_THREAD;
  gompy_say_place (GOMPY_AGAIN_THREAD, gompy_left_out.pc);
  gompy_log2 (&launch, NULL, 0, NULL, 0);
}

/* Log what waits, and before it the frame, in which WITHIN says that the thread still is.  */
static uint64_t
gompy_say_again (int within)
{
  struct gompy_frame f;
  unsigned count = gompy_waiting.count;
  memset (&f, 0, sizeof f);
  gompy_waiting.count = gompy_waiting.said = 0;
  if (within)
    {
      gompy_frame_state = GOMPY_FRAME_NOTED;
      f.call = gompy_waiting.call;
      if (gompy_log_found_frame (&f) == 0)
        {
          memset (&f, 0, sizeof f);
          gompy_log_found_frame (&f);
        }
    }
  else
    gompy_say_place (gompy_again_room->records[0].thread, gompy_waiting.pc);
  for (unsigned i = 0; i < count; i++)
    gompy_log2 (&gompy_again_room->records[i], NULL, 0, NULL, 0);
  return f.pc;
}

/* What waits is all that its construct says.  */
static void
gompy_all_again (void)
{
  uint64_t hash = gompy_hash (gompy_again_room->records, gompy_waiting.count * sizeof gompy_again_room->records[0]);
  struct gompy_said_often *said = &gompy_again_room->known[hash % GOMPY_AGAIN_KNOWN];
  if (said->hash != hash)
    said->times = 0;
  if (said->times == GOMPY_AGAIN_TIMES)
    {
      gompy_waiting.said = 1;
      gompy_waiting.pc = said->pc;
      return;
    }
  said->hash = hash;
  said->times++;
  said->pc = gompy_say_again (1);
}

/* A record without payload is about to be logged.  Whether it waits.  */
static int
gompy_waits_again (const struct gompy_record *e)
{
  int launch = e->op == GOMPY_EVENT_LAUNCH;
  if (gompy_waiting.said || gompy_waiting.count == GOMPY_AGAIN_RECORDS || e->what[0] || !__libc_single_threaded
      || (!launch
          && (e->op != GOMPY_EVENT_ENTRY
              || e->flags & (GOMPY_ENTRY_NEW | GOMPY_ENTRY_ATTACH | GOMPY_ENTRY_UNMAPPED))))
    return 0;
  gompy_again_room->records[gompy_waiting.count] = *e;
  gompy_again_room->records[gompy_waiting.count++].thread = gompy_number_in_log ();
  if (launch)
    gompy_all_again ();
  return 1;
}

/* Before a record is logged, with N bytes.  Whether that need not be done: it waits, or what waited and itself are
   logged.  */
static int
gompy_before_record (const struct gompy_record *e, const void *payload, size_t n)
{
  if (gompy_withhold (e, payload, n, gompy_frame_is_one ()))
    return 1;
  if (gompy_frame_state == GOMPY_FRAME_DUE)
    {
      if (n == 0 && gompy_waits_again (e))
        return 1;
      gompy_say_again (1);
    }
  else if (gompy_waiting.count)
    gompy_say_again (0);
  if (e->op == GOMPY_EVENT_LAUNCH)
    gompy_left_out.launch.op = 0;
  else if (e->op == GOMPY_EVENT_STALE && e->kind != 0)
    gompy_say_left_out ();
  return 0;
}

/* The program's code runs next, unless INSIDE; OUTERMOST: a construct begins that is in no other, by a CALL.  */
static void
gompy_end_again (int inside, int outermost, uintptr_t call)
{
  if (outermost && gompy_waiting.said)
    gompy_leave_out ();
  else if (gompy_frame_state == GOMPY_FRAME_DUE && (inside || !gompy_waiting.said))
    gompy_say_again (1);
  if (outermost)
    gompy_waiting.call = call;
}

#endif
