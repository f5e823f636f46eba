/* The shared memory between the host's plugin and the device process: layouts and numbers that both sides use.

   One memfd per device holds the control block (CONTROL_SIZE bytes) and, behind it, the arena.  Each side maps both
   where it likes; a device pointer is an address in the device's mapping.  Everything here has a fixed layout, and
   fields are grouped by who writes them, so that an empty launch moves two cache lines between the processors.  */

#ifndef GOMPY_INTELMIC_PROTOCOL_H
#define GOMPY_INTELMIC_PROTOCOL_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

#define MIC_MAGIC 0x43494d59504d4f47ull
#define MIC_ABI 22u

/* Launch slots 0..63; slot 64 carries commands to the device's main thread; in those from 65 on the workers of the
   queue say what they run.  */
#define MIC_SLOTS 64
#define MIC_COMMAND_SLOT 64
#define MIC_FIRST_WORKER 65
#define MIC_WORKERS 32
#define MIC_ALL_SLOTS (MIC_FIRST_WORKER + MIC_WORKERS)
#define MIC_CELLS 256 /* of the queue, a power of 2 */
#define MIC_TEAMS 4096 /* most teams of a region that may run at the same time */
#define MIC_CONTROL_SIZE (2ull << 20) /* a huge page: the arena behind it may use such */
#define MIC_SCRATCH (1ull << 20) /* the upper half of the control block's space: for the fault handler */
#define MIC_TEXT_SIZE 8192
#define MIC_MASK_WORDS 128 /* 8192 processors, what Linux can have */

/* What a request asks for.  */
#define MIC_OP_RUN 1    /* args: function, its argument, number of teams (0: the device chooses), thread limit,
                           of an OpenACC region its sizes (mic_launched_size) */
#define MIC_OP_KERNEL 13 /* args: a kernel by clang, and its words, KERNEL_WORDS_DIRECT at most: the device
                            has to fetch no other line of memory than the slot's */
#define MIC_OP_THREAD 2 /* start the thread of slot args[0], or the queue's first worker */
#define MIC_OP_LOAD 3   /* the image is args[1] bytes at arena offset args[0], or the file that `text` names; args[2]:
                           where the names are that an image by clang is asked for, 0: it has tables; args[3]: also
                           one of indirect functions; by clang: how many of its last variables are such;
                           args[4]: its regions may call functions of the host */
#define MIC_OP_UNLOAD 4 /* args[0]: handle */
#define MIC_OP_READ 5   /* device address args[0] to arena offset args[1], args[2] bytes */
#define MIC_OP_WRITE 6  /* arena offset args[1] to device address args[0], args[2] bytes */
#define MIC_OP_QUIT 7
#define MIC_OP_POISON 9 /* the same for libasan: what may not be accessed */
#define MIC_OP_INDIRECT 10 /* args: arena offset of host addresses of functions, their number, image number */
#define MIC_OP_PROTECT 8 /* arena offset args[0], args[1] bytes (0: nothing but what waits, mic_guards), args[2]: 1 read
                            and write, 0 no access */
#define MIC_OP_MAP 12 /* map args[2] bytes of the shared file from offset args[1] at address args[0]; offset 0: unmap */
#define MIC_OP_POPULATE 11 /* enter args[1] bytes at arena offset args[0], which have pages, in its page tables */

/* Life of the device (mic_control.state).  */
#define MIC_STARTING 0u
#define MIC_READY 1u
#define MIC_FAILED 2u

/* How it died (mic_control.death.kind).  */
#define MIC_DEATH_NONE 0
#define MIC_DEATH_SIGNAL 1
#define MIC_DEATH_EXIT 2
#define MIC_DEATH_SANITIZER 3 /* `text` says what it found */

/* In `done`: a region calls a function of the host (reverse offload) and waits until the host has taken the bit away.
   Requests are numbered below it.  */
#define MIC_CALL 0x80000000u

struct mic_slot
{
  /* Written by the host.  `request` counts up and is the futex that the device sleeps on.  */
  uint32_t request __attribute__ ((aligned (128)));
  uint32_t host_sleeps;
  uint32_t op;
  uint32_t host_cpu;      /* the processor of the thread that waits, when it last said so; waiting.pxi */
  uint64_t args[6];

  /* Written by the device.  `done` follows `request` and is the futex that the host sleeps on.  */
  uint32_t done __attribute__ ((aligned (128)));
  uint32_t device_sleeps;
  uint32_t device_cpu;    /* of the slot's thread, in the same way */
  uint32_t caller_sleeps; /* on `done`, a thread that has set MIC_CALL */
  int64_t result[6];
  uint64_t call[5];       /* with MIC_CALL: function, number of entries, addresses, sizes, kinds; all of the device */
};

/* A region of the queue: its place is position % MIC_CELLS.  */
struct mic_cell
{
  /* Written by the host.  */
  uint64_t function __attribute__ ((aligned (128)));
  uint64_t variables;
  uint64_t teams;
  uint64_t limit;
  uint32_t host_sleeps;
  uint32_t host_cpu;

  /* Written by the device: position + 1 when the region has ended; the futex that the host sleeps on.  */
  uint32_t done __attribute__ ((aligned (128)));
  uint32_t device_cpu;
};

/* Regions that are waited for later (nowait), in the order of their coming; the device's workers take them from the
   front.  `watch` says who will look for regions that come: nobody while it is 0.

   No region is forgotten: the host stores `tail`, then reads `watch`; a worker that stops watching clears its bit, then
   reads `tail`, with a full barrier between on both sides.  So either the worker sees the region, or the host sees that
   nobody watches; then it sets MIC_PATROLS on behalf of the worker that it calls, counts `calls` up, and wakes one that
   sleeps on `calls`.  A call is answered by the one worker that counts `answered` up to it; without a worker that
   sleeps, by the next one that would, for each compares the two before.  */
struct mic_queue
{
  /* Written by the host.  */
  uint32_t tail __attribute__ ((aligned (128))); /* regions that have come */
  uint32_t host_cpu;
  /* Written by both.  */
  uint32_t calls __attribute__ ((aligned (128)));
  uint32_t watch;
  /* Written by the device.  */
  uint32_t head __attribute__ ((aligned (128))); /* regions that a worker has taken */
  uint32_t answered;
  uint32_t device_cpu;
  struct mic_cell cells[MIC_CELLS];
};
#define MIC_LOOKS 1u   /* a worker looks at `tail` all the time */
#define MIC_PATROLS 2u /* one does so now and then, while others run regions */

/* What is known of each byte of the arena (GOMPY_CHECK): marks lie behind the arena in the memfd, a byte each; behind
   those, of pages of images (below) and of whole pages (page_marks.h).  A page is without access until it is used; then
   the device looks at its marks.  device_marks.h has what follows.  */
#define MIC_MARK_CLOSED 0 /* not in use */
#define MIC_MARK_GOOD 1
#define MIC_MARK_UNSET 2 /* nothing has written it */
#define MIC_MARK_STALE 3 /* the host has written its own copy since they were the same */
#define MIC_MARK_COPIED 7 /* the host has copied it within the device from where nothing had written; exact only */

/* What new memory is filled with: all its bytes alike, or, where they are spread, 8 bytes by their offset.  */
#define MIC_FILL 0xcb
#define MIC_SPREAD 0x9e3779b97f4a7c15ull /* 2^64 by the golden ratio */

static inline uint64_t
mic_filled_with (uint64_t offset)
{
  return (offset / 8 + 1) * MIC_SPREAD;
}

/* Whether some of N bytes that nobody has told to have written are not as they were filled at OFFSET.  A library wrote
   there, whose code tells nothing: then it wrote all of them.  One of them may be by chance what it was.  */
static inline int
mic_written_untold (const void *memory, const unsigned char *marks, size_t n, uint64_t offset, int spread)
{
  const unsigned char *bytes = memory;
  for (size_t i = 0; i < n; i++, offset++)
    if (marks[i] == MIC_MARK_UNSET
        && bytes[i] != (spread ? (unsigned char) (mic_filled_with (offset) >> 8 * (offset & 7)) : MIC_FILL))
      return 1;
  return 0;
}

/* What was good stays so until the host changes marks: it counts that, by parts of the arena that share a count where
   they are as far apart as all counts reach.  */
#define MIC_CHANGES 1024u
#define MIC_CHANGE_SHIFT 16

/* Pages of images have marks, too, where variables of theirs are out of date: behind the arena's, a page's in the order
   of this list, all of them good but those.  Pages and variables are in no order; where an image has gone, its pages'
   places are free.  */
#define MIC_OUTER_PAGES 64u
#define MIC_OUTER_FREE 1ull /* no page's address */
#define MIC_OUTER_VARIABLES 256u
#define MIC_OUTER_BYTES (MIC_OUTER_PAGES * 4096ull) /* of their marks */
#define MIC_EXACT_BYTES 9 /* addresses for each byte of memory with -foffload-check (device_access.h counts them) */
#define MIC_EXACT_FIXED (448ull << 20) /* and these besides, however little memory there is */
struct mic_outer
{
  uint32_t count; /* the last one is complete before it is counted */
  uint32_t variable_count;
  uint64_t pages[MIC_OUTER_PAGES];
  struct mic_variable { uint64_t start, size; } variables[MIC_OUTER_VARIABLES];
};

#define MIC_READS 16 /* the host has bits for 32 */
/* And what else a region may be found to do: two accesses that nothing orders, the earlier one first.  */
#define MIC_RACE_WRITE_WRITE 4
#define MIC_RACE_WRITE_READ 5
#define MIC_RACE_READ_WRITE 6

/* A region has done what it should not.  */
struct mic_read
{
  uint32_t mark;
  int32_t slot;
  uint64_t address;
  uint64_t pc;
  uint64_t stack;
  uint64_t image_pc;
  uint64_t other_pc; /* of a race: the earlier access */
};

/* Pages that are to be opened or closed before a region, or a command, is begun.  Where there are marks such changes
   wait for that, as a command for each would cost two wake-ups.  The host adds them at `tail`, in their order; whoever
   begins something on the device makes those from `head` on.  */
#define MIC_GUARDS 256u /* a power of 2 */
struct mic_guard
{
  uint64_t offset;
  uint64_t size;
  uint64_t access; /* as in MIC_OP_PROTECT */
};
struct mic_guards
{
  uint32_t tail __attribute__ ((aligned (128)));
  uint32_t head __attribute__ ((aligned (128)));
  uint32_t error; /* errno of a change that the kernel refused, until the host has told it */
  uint32_t stay_open; /* one was refused: pages may be open that should not be (page_marks.h) */
  uint64_t ns;        /* that changes, and first accesses to pages, have taken */
  struct mic_guard list[MIC_GUARDS];
};

struct mic_death
{
  uint32_t kind;
  int32_t signo;
  int32_t code;      /* si_code, or the status given to exit */
  int32_t slot;      /* launch slot of the thread, -1: not known */
  uint64_t address;  /* si_addr */
  uint64_t pc;       /* of the fault */
  uint64_t stack;    /* stack pointer */
  uint64_t image_pc; /* nearest address inside an image, 0: none found */
  uint64_t outer_pc; /* where image_pc is the image's call of a library: the next one outwards, 0: none found */
  int32_t tid;
  int32_t sender;    /* si_pid of a signal that a process sent */
  int32_t core;      /* its process leaves a core, which takes its time */
  int32_t overflow;  /* the stack pointer is where the stack is no longer */
};

struct mic_control
{
  uint64_t magic;
  uint32_t abi;
  int32_t device;       /* number of this device */
  int32_t host_pid;
  int32_t tool;         /* runs under OFFLOAD_EMUL_RUN */
  uint64_t arena_size;
  uint64_t split;       /* from here on the arena has large blocks, on huge pages where the system allows */
  uint64_t arena_base;  /* device address of the arena, set by the device */
  int32_t device_pid;
  uint32_t restarts;    /* how often the device started over because its addresses met the host's */
  int32_t spins;        /* processors of the host's side; below 2 nobody spins */
  int32_t teams;        /* how many teams of a region may run at the same time, 0: as many as processors */
  int32_t threads;      /* OMP_NUM_THREADS was given for devices: each team gets that many */
  int32_t guarded;      /* GOMPY_CHECK: the arena is without access but for what the host opens */
  int32_t marked;       /* there are marks; a page has no access until it is used */
  int32_t exact;        /* images tell of their accesses (-foffload-check): pages are open, marks say all */
  int32_t spread;       /* and `gompy run --check`: no two places of new memory look alike (guards.pxi) */
  char preload[64];     /* library that has to be the first of the device process, empty: none */
  unsigned long processors[MIC_MASK_WORDS]; /* that the device may use */
  int32_t begun_narrow; /* it was started on the host's processor alone: it is to take `processors` first */
  int32_t narrow;       /* its main thread is on the host's alone: processors.h */
  int32_t ending;       /* the host has put it there again, to end it */
  uint32_t state __attribute__ ((aligned (128)));
  uint32_t dead;        /* set after `death` is complete */
  struct mic_death death;
  uint32_t reads_seen;  /* by the device; those after MIC_READS are not kept */
  struct mic_read reads[MIC_READS];
  char directory[256];  /* of image files, removed by whoever ends last */
  char text[MIC_TEXT_SIZE];
  struct mic_slot slots[MIC_ALL_SLOTS];
  struct mic_queue queue;
  struct mic_guards guards;
  uint32_t changes[MIC_CHANGES];
  struct mic_outer outer;
};

_Static_assert (sizeof (struct mic_slot) == 256, "two line pairs a slot");
_Static_assert (sizeof (struct mic_control) <= MIC_SCRATCH, "the control block fits its space");

/* The sizes of an OpenACC launch in a word: gangs in 31 bits from bit 32, workers in 16, vector lanes in 16; each of
   them 0 where the launch doesn't say.  Bit 63 is set.  */
static inline uint64_t
mic_launch_sizes (const unsigned *dims)
{
  return 1ull << 63 | (uint64_t) (dims[0] & 0x7fffffffu) << 32 | (dims[1] & 0xffffu) << 16 | (dims[2] & 0xffffu);
}

static inline int
mic_launched_size (uint64_t sizes, int dimension)
{
  return dimension == 0 ? (int) (sizes >> 32 & 0x7fffffff) : (int) (sizes >> (dimension == 1 ? 16 : 0) & 0xffff);
}

/* For busy waiting.  */
static inline void
mic_relax (void)
{
  __builtin_ia32_pause ();
}

/* The processor that the caller runs on (glibc reads what the kernel keeps in the thread's rseq area); counted from 1;
   0: not known.  */
static inline uint32_t
mic_processor (void)
{
  return (uint32_t) sched_getcpu () + 1;
}

static inline uint64_t
mic_ticks (void)
{
  return __builtin_ia32_rdtsc ();
}

#endif
