/* The device's side of -foffload-check: kilobytes whose cells one thread alone has used in a launch.

   Nothing in them can be unordered with what that thread does, so it notes its accesses without a look at each cell.
   Who comes second says so in the kilobyte's word, notes in the cells what the first one has kept elsewhere
   (device_kept.h), and looks at the cells from then on, as the first one does that sees this.  Nobody looks at them
   before he has come in.  Where launches run beside each other nobody owns anything.  Included once, by
   device_access.h.  */
#ifndef GOMPY_DEVICE_OWNED_H
#define GOMPY_DEVICE_OWNED_H

#define MIC_SHARED 0xffffffffu /* in place of a thread */
#define MIC_ENTERED (MIC_SHARED - 1) /* a second one is about to note what the first one has kept */

static _Atomic uint32_t mic_last_owner;
static _Atomic uint32_t mic_overlapped; /* the last launch that ran beside another one */
static __thread uint32_t mic_owner_number;
static __thread uint64_t mic_owner, mic_shared; /* what a kilobyte has that is the thread's; that several have used */

/* The calling thread begins something that is not ordered with all it did before.  */
static void
mic_become_another (void)
{
  uint32_t number = atomic_fetch_add (&mic_last_owner, 1) + 1;
  mic_owner_number = number == 0 || number >= MIC_ENTERED ? 1 : number;
}

static void
mic_name_owner (uint32_t launch)
{
  mic_owner = (uint64_t) launch << 32 | mic_owner_number;
  mic_shared = (uint64_t) launch << 32 | MIC_SHARED;
}

/* The kilobyte was as THERE says, and is of several from here on.  0: it was not.  */
static int
mic_open_block (struct mic_block *block, uint64_t there)
{
  if (!atomic_compare_exchange_strong (&block->owner, &there, mic_shared - 1))
    return 0;
  mic_note_kept (block, 0);
  mic_note_kept (block, 1);
  atomic_store (&block->owner, mic_shared);
  return 1;
}

/* The calling thread is about to look at the cells of a kilobyte, or to note something there, that is not known to be
   its own.  */
static void __attribute__ ((noinline))
mic_come_in (struct mic_block *block)
{
  for (;;)
    {
      uint64_t there = atomic_load (&block->owner);
      if (there == mic_owner || there == mic_shared)
        return;
      if ((uint32_t) there == MIC_ENTERED)
        sched_yield ();
      else if (there >> 32 == mic_owner >> 32 || atomic_load (&mic_overlapped) >= mic_owner >> 32)
        mic_open_block (block, there);
      else
        atomic_compare_exchange_strong (&block->owner, &there, mic_owner);
    }
}

/* The same where that may be known.  */
static inline __attribute__ ((always_inline)) void
mic_come_near (struct mic_block *block)
{
  uint64_t owner = atomic_load_explicit (&block->owner, memory_order_relaxed);
  if (__builtin_expect (owner != mic_owner && owner != mic_shared, 0))
    mic_come_in (block);
}

/* The same where what another thread did is noted.  */
static void
mic_share (struct mic_block *block)
{
  for (uint64_t there; (there = atomic_load (&block->owner)) != mic_shared;)
    if ((uint32_t) there == MIC_ENTERED)
      sched_yield ();
    else
      mic_open_block (block, there);
}

/* Whether the kilobyte is the calling thread's.  */
static inline int
mic_owns (const struct mic_block *block)
{
  return atomic_load_explicit (&block->owner, memory_order_relaxed) == mic_owner;
}

/* Note accesses to all of the bytes of a cell, or to those of MASK, of a kilobyte of the calling thread's.  */
static inline __attribute__ ((always_inline)) void
mic_note_own (_Atomic uint64_t *place, uint32_t *pc_place, unsigned mask, uint32_t pc)
{
  uint64_t word = atomic_load_explicit (place, memory_order_relaxed);
  uint64_t whole = (uint64_t) (((word ^ mic_word) & ~0xffull) == 0) * (word & 0xff);
  *pc_place = pc;
  atomic_store_explicit (place, mic_word | mask | whole, memory_order_release);
}

#endif
