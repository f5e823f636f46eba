/* Masks of processors, as both sides use them: a device begins on the processor where its host waits for it.

   The scheduler puts a new process on an idle processor, where nothing that it reads is in a cache.  Each time that
   one side waits for the other, an idle processor has to be waked then, 25 to 50 us on a virtual machine.  So until
   the device has its first thread for regions, the host's thread that waits for it stays where it is, and the device's
   main thread is there, too.  The process is born with that mask; it takes its own, which the control block has,
   before a library looks at it, and whenever code that is not ours may run on its main thread.  Threads that are born
   meanwhile take it first of all, which moves nobody.  For its end the host has the device beside itself again.  */

#ifndef GOMPY_INTELMIC_PROCESSORS_H
#define GOMPY_INTELMIC_PROCESSORS_H

#include <sched.h>
#include <string.h>

#include "protocol.h"

/* Take the mask `own` again.  One of all processors that the thread's cpuset has is not kept as such, so that it
   follows the cpuset's changes.  */
static void
mic_take_mask (const unsigned long *own)
{
  unsigned long all[MIC_MASK_WORDS];
  memset (all, 0xff, sizeof all);
  if (sched_setaffinity (0, sizeof all, (cpu_set_t *) all) == 0
      && sched_getaffinity (0, sizeof all, (cpu_set_t *) all) == 0 && memcmp (all, own, sizeof all) == 0)
    return;
  sched_setaffinity (0, MIC_MASK_WORDS * sizeof *own, (const cpu_set_t *) own);
}

/* The mask of the processor where the caller is.  0: the system does not say.  */
static int
mic_only_here (unsigned long *only)
{
  uint32_t here = mic_processor ();
  if (here == 0 || (here - 1) / 64 >= MIC_MASK_WORDS)
    return 0;
  memset (only, 0, MIC_MASK_WORDS * sizeof *only);
  only[(here - 1) / 64] = 1ul << (here - 1) % 64;
  return 1;
}

/* Have the thread `id` run on those processors.  */
static void
mic_give_mask (int id, const unsigned long *processors)
{
  sched_setaffinity (id, MIC_MASK_WORDS * sizeof *processors, (const cpu_set_t *) processors);
}

/* Have the calling thread stay on the processor where it is; `own`: the mask that it had, for mic_take_mask.
   0, without an effect: it has no other one, or the system does not say.  */
static int
mic_stay_here (unsigned long *own)
{
  unsigned long only[MIC_MASK_WORDS];
  if (!mic_only_here (only) || sched_getaffinity (0, MIC_MASK_WORDS * sizeof *own, (cpu_set_t *) own) != 0)
    return 0;
  return memcmp (only, own, sizeof only) != 0 && sched_setaffinity (0, sizeof only, (const cpu_set_t *) only) == 0;
}

#endif
