/* `gompy run --check`: pages that stay closed while a construct runs that does not touch them.

   To open and close all pages around each construct takes longer than the construct.  While one runs on the emulated
   MIC nobody but the runtime is at work in the process, and the runtime has the program's memory in copies alone, which
   are told of before.  Whatever else comes to such a page faults, and all of them are open from there on.  The emulated
   GPU's kernels run in the process: they have device memory alone, unless the program has registered some of its own,
   or has pinned or managed memory.

   The kernel answers EFAULT where a call to it is given a closed page.  So not held are pages that may have other
   memory, too: those at the ends of a range, unless it is a block of malloc's that has a mapping of its own, and the
   stack; nor any where a signal may have a handler of the program's run meanwhile.
   Included once, by check_watch.h.  */
#ifndef GOMPY_CHECK_WATCH_HOLD_H
#define GOMPY_CHECK_WATCH_HOLD_H

#define GOMPY_HELD_LEAST (16 * GOMPY_PAGE)
#define GOMPY_HELD_FROM_STACK (16ul << 20)
#define GOMPY_HELD_MARGIN (17 * GOMPY_PAGE) /* beside pages that are open: a part that they belong to is read */

/* Of a range that was watched, the pages that are closed; and with those beside them that were, too, until now.  */
struct gompy_held
{
  uintptr_t begin, end, known_begin, known_end;
  int own;  /* both ends are held, too */
  int access;
  unsigned short *steps;  /* in a rest, of struct gompy_watched */
  unsigned char *writes;
};

static struct gompy_held *gompy_helds;  /* in order of their addresses */
static volatile unsigned gompy_held_count;
static int gompy_watch_holds = 1; /* constructs leave closed what they may, as far as is known */
static int gompy_watch_single;  /* no other thread was there when the watch began */
static int gompy_watch_owned;   /* or the emulated GPU's own alone, which slept */

static void gompy_end_watch (void);
static void gompy_rest_untell (uintptr_t begin, uintptr_t end);

/* Neighbours that get one access are one call.  */
struct gompy_protecting
{
  uintptr_t begin, end;
  int access;
};

static void
gompy_protect_next (struct gompy_protecting *p, uintptr_t begin, uintptr_t end, int access)
{
  if (begin >= end)
    return;
  if (p->begin < p->end && (p->end != begin || p->access != access))
    {
      gompy_protect (p->begin, p->end, p->access);
      p->begin = begin;
    }
  else if (p->begin >= p->end)
    p->begin = begin;
  p->end = end;
  p->access = access;
}

static void
gompy_protect_last (const struct gompy_protecting *p)
{
  if (p->begin < p->end)
    gompy_protect (p->begin, p->end, p->access);
}

/* Open what is held.  */
static void
gompy_open_held (void)
{
  struct gompy_protecting p = { 0, 0, 0 };
  for (unsigned i = 0; i < gompy_held_count; i++)
    gompy_protect_next (&p, gompy_helds[i].begin, gompy_helds[i].end, PROT_READ | PROT_WRITE);
  gompy_protect_last (&p);
  gompy_held_count = 0;
}

/* Whether open pages end where held ones begin, or the other way round, of what may be one mapping.  */
static int
gompy_is_cut (uintptr_t begin, uintptr_t end)
{
  for (unsigned i = 0; i < gompy_held_count; i++)
    if (!gompy_helds[i].own && (gompy_helds[i].begin == end || gompy_helds[i].end == begin))
      return 1;
  return 0;
}

/* Open what is held of [BEGIN, END), and leave the rest closed.  */
static void
gompy_open_held_of (uintptr_t begin, uintptr_t end)
{
  unsigned held = 0;
  for (unsigned i = 0; i < gompy_held_count; i++)
    if (begin < gompy_helds[i].end && gompy_helds[i].begin < end)
      {
        gompy_protect (gompy_helds[i].begin, gompy_helds[i].end, PROT_READ | PROT_WRITE);
        gompy_rest_untell (gompy_helds[i].begin, gompy_helds[i].end);
      }
    else
      gompy_helds[held++] = gompy_helds[i];
  gompy_held_count = held;
}

/* Memory is about to be used, by a copy or in a call to the kernel; WRITES: it is written.  */
static void
gompy_need_held (uintptr_t begin, size_t size, int writes)
{
  int seen = gompy_handlers_seen;
  if (gompy_rests && gompy_rest_watches == GOMPY_REST_HOLDS && !gompy_watch_on)
    {
      gompy_open_held_of (begin, begin + size);
      return;
    }
  for (unsigned i = 0; i < gompy_held_count; i++)
    if (begin < gompy_helds[i].end && gompy_helds[i].begin < begin + size
        && (writes || gompy_helds[i].access == PROT_NONE))
      {
        gompy_end_watch ();
        gompy_handlers_seen = seen;  /* the runtime alone has been at work */
        return;
      }
}

/* The target construct's entry, which ends the watch.  */
extern const char gompy_entry_of_target[] __asm__ ("GOMP_target_ext");
#define GOMPY_ENTRY_SIZE 64u  /* of its code, where it makes its frame */

/* Whether an access to the stack, at SP, is such an entry's, so that its page need be closed no longer.  No page of the
   stack is held.  */
static int
gompy_is_entry (uintptr_t pc, uintptr_t address, uintptr_t sp)
{
  return pc - (uintptr_t) gompy_entry_of_target < GOMPY_ENTRY_SIZE
         && address - (sp - GOMPY_WATCH_STACK) < 2 * GOMPY_WATCH_STACK;
}

/* The longest row of pages of a range that are closed, less its ends.  Where other variables share its first page the
   program may come to that one after each construct.  */
static struct gompy_held
gompy_longest_closed (const struct gompy_watched *w)
{
  uintptr_t begin = w->begin + GOMPY_PAGE, end = w->end - GOMPY_PAGE;
  struct gompy_held longest = { begin, begin, begin, begin, 0, w->access };
  if (!w->opened && w->own)
    return (struct gompy_held){ w->begin, w->end, w->begin, w->end, 1, w->access };
  if (!w->opened)
    return (struct gompy_held){ begin, end, w->begin, w->end, 0, w->access };
  for (uintptr_t page = begin; page < end; page += GOMPY_PAGE)
    if (w->steps[(page - w->begin) / GOMPY_PAGE] == GOMPY_WATCH_OPEN)
      begin = page + GOMPY_PAGE;
    else if (page + GOMPY_PAGE - begin > longest.end - longest.begin)
      longest = (struct gompy_held){ begin, page + GOMPY_PAGE, begin, page + GOMPY_PAGE, 0, w->access };
  if (longest.end - longest.begin <= 2 * GOMPY_HELD_MARGIN)
    longest.end = longest.begin;
  else
    {
      longest.known_begin = longest.begin += GOMPY_HELD_MARGIN;
      longest.known_end = longest.end -= GOMPY_HELD_MARGIN;
    }
  return longest;
}

/* Those of a range's pages that may stay closed; none: BEGIN and END are the same.  */
static struct gompy_held
gompy_may_hold (const struct gompy_watched *w)
{
  uintptr_t here = (uintptr_t) __builtin_frame_address (0);
  struct gompy_held none = { .begin = w->end, .end = w->end }, longest;
  if (w->held)
    return w->opened ? none : (struct gompy_held){ w->begin, w->end, w->begin, w->end, w->own, w->access, w->steps,
                                                   w->writes };
  if (w->end - w->begin < GOMPY_HELD_LEAST
      || (w->end > here - GOMPY_HELD_FROM_STACK && w->begin < here + GOMPY_HELD_FROM_STACK))
    return none;
  longest = gompy_longest_closed (w);
  return longest.end - longest.begin >= GOMPY_HELD_LEAST - 2 * GOMPY_PAGE ? longest : none;
}

/* A construct begins that may leave the pages alone.  System calls pass from here on.  */
static void
gompy_hold_watch (void)
{
  struct gompy_protecting p = { 0, 0, 0 };
  unsigned held = 0;
  int alone;
  for (unsigned i = 0; i < gompy_watch_count; i++)
    {
      struct gompy_held h = gompy_may_hold (&gompy_watches[i]);
      if (h.begin < h.end)
        gompy_helds[held++] = h;
    }
  alone = gompy_watch_single || gompy_watch_owned;
  if (held == 0 || !alone || gompy_stepping_count || gompy_has_handlers (GOMPY_HANDLERS_ANY))
    {
      gompy_watch_holds &= held == 0 && alone;
      gompy_end_watch ();
      return;
    }
  gompy_watch_holds = 1;
  /* The watch goes on meanwhile: this function's own frame may be in a page that is closed.  */
  for (unsigned h = 0, i = 0; i < gompy_watch_count; i++)
    {
      const struct gompy_watched *w = &gompy_watches[i];
      uintptr_t begin = w->begin;
      if (h < held && gompy_helds[h].end <= w->end)
        {
          gompy_protect_next (&p, begin, gompy_helds[h].begin, PROT_READ | PROT_WRITE);
          begin = gompy_helds[h++].end;
        }
      gompy_protect_next (&p, begin, w->end, PROT_READ | PROT_WRITE);
    }
  gompy_protect_last (&p);
  if (!gompy_watch_on)  /* an access of its own has ended it */
    return;
  gompy_held_count = held;
  gompy_watch_on = 0;
  gompy_dispatch = 0;
  gompy_watch_count = 0;
}

/* Of a range what is held, which is known to be one that can be watched, as it was; none: BEGIN and END are the same.
   What is held of others that it meets is open then.  */
static struct gompy_held
gompy_held_of (uintptr_t begin, uintptr_t end)
{
  struct gompy_held of = { end, end, end, end, 0, 0 };
  for (unsigned i = 0; i < gompy_held_count; i++)
    if (gompy_helds[i].known_begin <= begin && end <= gompy_helds[i].known_end)
      return (struct gompy_held){ begin, end, begin, end, 0, 0 };
  for (unsigned i = 0; i < gompy_held_count; i++)
    if (begin < gompy_helds[i].end && gompy_helds[i].begin < end)
      {
        if (of.begin < of.end || gompy_helds[i].begin < begin || end < gompy_helds[i].end)
          {
            gompy_open_held ();
            return (struct gompy_held){ end, end, end, end, 0, 0 };
          }
        of = gompy_helds[i];
      }
  return of;
}

/* Whether all that is held of a range is to be watched again.  */
static int
gompy_is_held_again (const struct gompy_held *h)
{
  for (unsigned i = 0; i < gompy_watch_count; i++)
    if (gompy_watches[i].begin <= h->begin && h->end <= gompy_watches[i].end && gompy_watches[i].access == h->access)
      return 1;
  return 0;
}

/* Close all ranges, which are in order of their addresses, but what is held; what is held of others is open then.  */
static void
gompy_close_watched (void)
{
  struct gompy_protecting p = { 0, 0, 0 };
  unsigned held = 0;
  for (unsigned i = 0; i < gompy_held_count; i++)
    if (gompy_is_held_again (&gompy_helds[i]))
      gompy_helds[held++] = gompy_helds[i];
    else
      gompy_protect_next (&p, gompy_helds[i].begin, gompy_helds[i].end, PROT_READ | PROT_WRITE);
  for (unsigned h = 0, i = 0; i < gompy_watch_count; i++)
    {
      const struct gompy_watched *w = &gompy_watches[i];
      uintptr_t begin = w->begin;
      for (; h < held && gompy_helds[h].end <= w->end; h++)
        {
          gompy_protect_next (&p, begin, gompy_helds[h].begin, w->access);
          begin = gompy_helds[h].end;
        }
      gompy_protect_next (&p, begin, w->end, w->access);
    }
  gompy_protect_last (&p);
  gompy_held_count = 0;
}

#endif
