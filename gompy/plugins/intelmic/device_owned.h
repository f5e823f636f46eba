/* The device's side of -foffload-check: kilobytes whose cells one thread alone has used in a launch.

   Nothing in them can be unordered with what that thread does, so it notes its accesses without a look at each cell.
   Who comes second says so in the kilobyte's word and looks at the cells from then on, as the first one does that sees
   this.  Where launches run beside each other nobody owns anything.  Included once, by device_access.h.  */
#ifndef GOMPY_DEVICE_OWNED_H
#define GOMPY_DEVICE_OWNED_H

#define MIC_SHARED 0xffffffffu /* in place of a thread */

static _Atomic uint32_t mic_last_owner;
static _Atomic uint32_t mic_overlapped; /* the last launch that ran beside another one */
static __thread uint32_t mic_owner_number;
static __thread uint64_t mic_owner, mic_shared; /* what a kilobyte has that is the thread's; that several have used */

/* The calling thread begins something that is not ordered with all it did before.  */
static void
mic_become_another (void)
{
  uint32_t number = atomic_fetch_add (&mic_last_owner, 1) + 1;
  mic_owner_number = number == 0 || number == MIC_SHARED ? 1 : number;
}

static void
mic_name_owner (uint32_t launch)
{
  mic_owner = (uint64_t) launch << 32 | mic_owner_number;
  mic_shared = (uint64_t) launch << 32 | MIC_SHARED;
}

/* The calling thread is about to note something in the cells of a kilobyte that is not known to be its own.  */
static void __attribute__ ((noinline))
mic_come_in (struct mic_block *block)
{
  uint64_t there = atomic_load (&block->owner), wanted;
  do
    {
      if (there == mic_owner || there == mic_shared)
        return;
      wanted = there >> 32 == mic_owner >> 32 || atomic_load (&mic_overlapped) >= mic_owner >> 32 ? mic_shared
                                                                                                  : mic_owner;
    }
  while (!atomic_compare_exchange_weak (&block->owner, &there, wanted));
}

/* The same where what another thread did is noted.  */
static void
mic_share (struct mic_block *block)
{
  atomic_store (&block->owner, mic_shared);
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
