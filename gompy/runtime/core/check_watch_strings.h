/* `gompy run --check`: memory that the program fills or copies as a whole, by one instruction (memset, memcpy, calloc).

   All that the instruction is about to write counts as written at its first fault, and pages that have nothing newer
   then are opened by one call.  Where a page has something newer beside that, the handler itself writes this page's
   part: a single step would end after each byte.
   Included once, by check_watch.h.  */
#ifndef GOMPY_CHECK_WATCH_STRINGS_H
#define GOMPY_CHECK_WATCH_STRINGS_H

#include "gompy/native/string_stores.h"

/* What the program is about to write by one instruction, at an address in W.  Programs that tell of their accesses tell
   of these, too.  */
static int
gompy_writes_string (const struct gompy_watched *w, const greg_t *registers, uintptr_t address, struct gompy_string *s)
{
  if (gompy_access.hooked
      || !gompy_is_string_store ((const unsigned char *) registers[REG_RIP], registers, address, s))
    return 0;
  if (s->size > w->end - s->to)
    s->size = w->end - s->to;
  return s->to >= w->begin;
}

/* Open the pages from PAGE on that the program fills up to END and that have nothing newer.  Whether PAGE has not.  */
static int
gompy_open_filled (struct gompy_watched *w, uintptr_t page, uintptr_t end)
{
  uintptr_t next = page;
  while (next < end && gompy_is_closed (next) && gompy_is_harmless (next, next + GOMPY_PAGE))
    next += GOMPY_PAGE;
  if (next == page)
    return 0;
  gompy_open_watched (w, page, next);
  return 1;
}

/* Write what the instruction does in the page of its next byte.  False: its source is not to be had.  */
static int
gompy_make_string (const struct gompy_watched *w, greg_t *registers, const struct gompy_string *s)
{
  uintptr_t page = s->to & -GOMPY_PAGE;
  size_t left = page + GOMPY_PAGE - s->to, n = (s->size < left ? s->size : left) / s->unit * s->unit;
  greg_t value = registers[REG_RAX];
  if (n == 0 || !gompy_has_parts () || (s->from != 0 && (gompy_meets_watch (s->from, n)
                                                         || !gompy_read_host (gompy_part, s->from, n))))
    return 0;
  gompy_protect (page, page + GOMPY_PAGE, PROT_READ | PROT_WRITE);
  if (s->from != 0)
    memcpy ((void *) s->to, gompy_part, n);
  else
    for (size_t i = 0; i < n; i += s->unit)
      memcpy ((char *) s->to + i, &value, s->unit);
  gompy_protect (page, page + GOMPY_PAGE, w->access);
  registers[REG_RDI] += (greg_t) n;
  registers[REG_RSI] += s->from != 0 ? (greg_t) n : 0;
  registers[REG_RCX] -= (greg_t) (n / s->unit);
  return 1;
}

/* A fault of such an instruction.  Whether it goes on.  */
static int
gompy_watch_string (struct gompy_watched *w, greg_t *registers, const struct gompy_string *s, int in_program)
{
  uintptr_t page = s->to & -GOMPY_PAGE;
  size_t here = page + GOMPY_PAGE - s->to < s->size ? page + GOMPY_PAGE - s->to : s->size;
  gompy_flight_judge (s->to, here, 1, in_program, (uintptr_t) registers[REG_RIP]);
  gompy_note_write (s->to, s->size);
  return gompy_open_filled (w, page, s->to + s->size) || gompy_make_string (w, registers, s);
}

#endif
