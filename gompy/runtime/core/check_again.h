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

static int gompy_again_wanted;

/* What constructs have said, and how often.  */
static struct { uint64_t hash, pc; unsigned times; } gompy_again_known[GOMPY_AGAIN_KNOWN];

static struct
{
  unsigned count;     /* records that wait */
  int said;           /* they have been logged before, all that the construct says */
  uint64_t call;      /* of it */
  uint64_t pc;        /* where that returns to, as was seen when it was logged */
  struct gompy_record records[GOMPY_AGAIN_RECORDS];
} gompy_waiting;

/* Whether a construct that begins may say what it has said before.  */
static int
gompy_may_come_again (void)
{
  return gompy_again_wanted && __libc_single_threaded && gompy_is_logging () && gompy_frame_deferred == NULL
         && gompy_waiting.count == 0 && gompy_waiting.call != 0;
}

/* Log what waits, and before it the frame, in which WITHIN says that the thread still is.  */
static uint64_t
gompy_say_again (int within)
{
  struct gompy_frame f;
  unsigned count = gompy_waiting.count;
  struct gompy_record frame = { .op = GOMPY_EVENT_FRAME, .device = -1, .where = gompy_waiting.pc };
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
  else if (frame.where)
    {
      frame.thread = gompy_waiting.records[0].thread;
      gompy_log2 (&frame, f.registers, sizeof f.registers, NULL, 0);
    }
  for (unsigned i = 0; i < count; i++)
    gompy_log2 (&gompy_waiting.records[i], NULL, 0, NULL, 0);
  return f.pc;
}

/* What waits is all that its construct says.  */
static void
gompy_all_again (void)
{
  uint64_t hash = gompy_hash (gompy_waiting.records, gompy_waiting.count * sizeof gompy_waiting.records[0]);
  unsigned place = (unsigned) (hash % GOMPY_AGAIN_KNOWN);
  if (gompy_again_known[place].hash != hash)
    gompy_again_known[place].times = 0;
  if (gompy_again_known[place].times == GOMPY_AGAIN_TIMES)
    {
      gompy_waiting.said = 1;
      gompy_waiting.pc = gompy_again_known[place].pc;
      return;
    }
  gompy_again_known[place].hash = hash;
  gompy_again_known[place].times++;
  gompy_again_known[place].pc = gompy_say_again (1);
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
  gompy_waiting.records[gompy_waiting.count] = *e;
  gompy_waiting.records[gompy_waiting.count++].thread = gompy_number_in_log ();
  if (launch)
    gompy_all_again ();
  return 1;
}

/* Before a record is logged.  Whether that need not be done: it waits, or what waited and itself are logged.  */
static int
gompy_before_record (const struct gompy_record *e, int payload)
{
  if (gompy_frame_state == GOMPY_FRAME_DUE)
    {
      if (!payload && gompy_waits_again (e))
        return 1;
      gompy_say_again (1);
    }
  else if (gompy_waiting.count)
    gompy_say_again (0);
  return 0;
}

/* The program's code runs next, unless INSIDE; OUTERMOST: a construct begins that is in no other, by a CALL.  */
static void
gompy_end_again (int inside, int outermost, uintptr_t call)
{
  if (outermost && gompy_waiting.said)
    gompy_waiting.count = gompy_waiting.said = 0;
  else if (gompy_frame_state == GOMPY_FRAME_DUE && (inside || !gompy_waiting.said))
    gompy_say_again (1);
  if (outermost)
    gompy_waiting.call = call;
}

#endif
