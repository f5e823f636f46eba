/* When the next request is due, of one that comes again and again after rests of one length.

   A program with a rhythm (a frame, a step of a control loop, a sleep) rests for the same time before each launch.  Who
   knows that wakes up by itself a little earlier and looks, and costs the program no wake-up.  Numbers are nanoseconds.
   The spread is the mean deviation, as in TCP's timer of retransmission (RFC 6298).  Included by device_apart.pxi.  */
#ifndef GOMPY_DEVICE_RHYTHM_H
#define GOMPY_DEVICE_RHYTHM_H

#include <stdint.h>

#define MIC_RHYTHM_LEAST 200000ull    /* shorter rests are looked through, or not worth it */
#define MIC_RHYTHM_MOST 100000000ull
#define MIC_RHYTHM_SURE 2             /* rests of one length before the next one is foretold */
#define MIC_RHYTHM_TRUST 8            /* so many others in a row, less MIC_RHYTHM_SURE, are forgiven at most */
#define MIC_RHYTHM_LOOKS 32           /* who waits looks through one of so many parts of a rest, */
#define MIC_RHYTHM_SHORT 30000ull     /* ... but no shorter, */
#define MIC_RHYTHM_LONG 150000ull     /* ... and no longer than this */

struct mic_rhythm
{
  uint64_t length; /* of a rest */
  uint64_t spread;
  uint64_t late;   /* how much later than asked for a sleep ends */
  uint32_t score;
};

/* A rest has ended that took so long.  */
static inline void
mic_rhythm_note (struct mic_rhythm *r, uint64_t rest)
{
  uint64_t off = rest > r->length ? rest - r->length : r->length - rest;
  if (rest < MIC_RHYTHM_LEAST)
    return;
  if (rest <= MIC_RHYTHM_MOST && off <= r->length / 16)
    {
      r->length = rest > r->length ? r->length + off / 4 : r->length - off / 4;
      r->spread = (3 * r->spread + off) / 4;
      r->score += r->score < MIC_RHYTHM_TRUST;
    }
  else if (r->score > 0)
    r->score--;
  else
    {
      r->length = rest <= MIC_RHYTHM_MOST ? rest : 0;
      r->spread = r->length / 256;
    }
}

/* Whether the end of a rest can be foretold: looking is worth it from *from to *to after its begin.  */
static inline int
mic_rhythm_due (const struct mic_rhythm *r, uint64_t *from, uint64_t *to)
{
  uint64_t most = r->length / MIC_RHYTHM_LOOKS, part = 3 * r->spread;
  if (r->score < MIC_RHYTHM_SURE)
    return 0;
  most = most < MIC_RHYTHM_SHORT ? MIC_RHYTHM_SHORT : most > MIC_RHYTHM_LONG ? MIC_RHYTHM_LONG : most;
  if (part > most / 2)
    part = most / 2;
  *from = r->length - part;
  *to = *from + most;
  return 1;
}

/* A sleep that was to end at `asked` ended at `now`.  */
static inline void
mic_rhythm_overslept (struct mic_rhythm *r, uint64_t asked, uint64_t now)
{
  uint64_t late = now > asked ? now - asked : 0;
  if (late > MIC_RHYTHM_LONG)
    late = MIC_RHYTHM_LONG;
  r->late = (3 * r->late + late) / 4;
}

#endif
