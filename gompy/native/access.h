/* What a program, or an image for the emulated MIC, made with -foffload-check tells of its accesses to memory.

   gompy/access/hooks.c is in each of them and calls these functions.  libgompy has the structure in a program,
   offload_target_main in a device process; without either, or while nothing is checked, nothing is called.  */
#ifndef GOMPY_NATIVE_ACCESS_H
#define GOMPY_NATIVE_ACCESS_H

#include <stddef.h>
#include <stdint.h>

/* Of `range`, as gompy/access/loops.cc has them.  */
#define GOMPY_RANGE_SIZE 0xff
#define GOMPY_RANGE_WRITES 0x100
#define GOMPY_RANGE_ALONE 0x200 /* the loop has reads that are told of one by one */
#define GOMPY_RANGE_EARLY 0x400 /* the loop may be left before all of these happen */
#define GOMPY_RANGE_ROW 0x800   /* it is a span of the row that `row` was asked about just before: which one */
#define GOMPY_ROW_SPAN(kind) ((kind) >> 12 & 3)
#define GOMPY_ROW_BITS 16       /* of each of a row's spans: GOMPY_RANGE_SIZE, GOMPY_RANGE_WRITES */
#define GOMPY_INDEX_BYTES(kind) ((kind) >> 12 & 0xf)
#define GOMPY_INDEX_UNSIGNED 0x10000

/* Of `hooked`.  */
#define GOMPY_HOOKED_FORMERLY 1 /* by hooks without `pause`, `take` and `give` */
#define GOMPY_HOOKED 2

/* Indices that a loop reads from memory: at FIRST, FIRST + STEP, ..., N > 0 of them.  */
struct gompy_indices
{
  const void *first;
  intptr_t step;
  size_t n;
  unsigned bytes;
  int is_unsigned;
};

/* Where a thread stands in its region: it is given to `enter`, which fills it, and then to `leave`.  */
struct gompy_place
{
  void *group;
  uint32_t interval;
  uint16_t barriers;
  uint8_t number;
};

/* How far the accesses of a place of code have come, if they go on where they were last.  Code that the plugin has made
   looks at its thread's by itself (gompy/accel/hooks/loops_steps.h), and calls where it does not find that.  */
struct gompy_step
{
  const unsigned char *site;  /* whose they are */
  uintptr_t next, end;        /* a step begins at `next` or before, and ends behind that, but not behind `end` */
};
#define GOMPY_SITES 256u      /* of a thread; the byte at a site says which is its */
#define GOMPY_STEPS 4u        /* of a site */
#define GOMPY_STEP_BYTES 64u

struct gompy_access
{
  uintptr_t low, high;  /* addresses that are of interest: [low, high) */
  int hooked;           /* programs or images with hooks are there, which ones: GOMPY_HOOKED, GOMPY_HOOKED_FORMERLY */
  int unordered;        /* one of them orders its threads in a way that the hooks do not see */
  void (*read) (uintptr_t address, size_t size, const void *pc);
  void (*write) (uintptr_t address, size_t size, const void *pc);
  void (*atomic) (uintptr_t address, size_t size, int writes, const void *pc);
  /* All accesses of a loop, ADDRESS, ADDRESS + STEP, ..., N > 0 of them: 1 if that is noted and nothing is wrong, 0 if
     the loop is to tell of each.  KIND: the size, GOMPY_RANGE_*.  NULL: the latter.  */
  int (*range) (uintptr_t address, intptr_t step, size_t n, int kind, const void *pc);
  void (*freed) (uintptr_t address, size_t size);  /* what is there has no meaning from here on */

  /* Threads of a region, NULL on the host.  */
  void *(*fork) (void);               /* a parallel region begins: its group */
  void (*join) (void *group);
  void (*enter) (void *group, struct gompy_place *before);
  void (*leave) (const struct gompy_place *before);
  void (*barrier) (void);             /* the calling thread has passed one of its group's */
  void (*release) (void);             /* what it did before may be known to others that it meets from here on */
  void (*hold) (int change);          /* locks that it holds, by hooks before `take` */

  /* As `range`: accesses of a loop at ADDRESS + SCALE * each of its indices.  */
  int (*gather) (uintptr_t address, intptr_t scale, const struct gompy_indices *indices, int kind, const void *pc);

  /* Whether some of the accesses of a loop may happen, whichever, and be told afterwards.  NULL: they may not.  */
  int (*ahead) (uintptr_t address, intptr_t step, size_t n, int kind);
  /* Those have whose byte in WHICH is 1, and not 0.  */
  void (*some) (uintptr_t address, intptr_t step, size_t n, int kind, const unsigned char *which, const void *pc);

  /* The calling thread has taken a lock, any address that names it; it is about to give it back.  NULL on the host.  */
  void (*take) (const void *lock);
  void (*give) (const void *lock);

  void (*pause) (void);               /* the calling thread may come to know from here on what others did */

  /* Up to four spans of bytes, of which KINDS has GOMPY_ROW_BITS each, from the lowest on: 1 if each goes on where it
     was last, and that is noted; 0 if each is to be asked about by `range`.  NULL: the latter.  */
  int (*row) (uint64_t kinds, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, const void *pc);

  /* The same of a site, whose steps the caller has looked at: AT has GOMPY_STEPS places.  NULL: as without.  */
  int (*row_at) (uint64_t kinds, const uintptr_t *at, const unsigned char *site, const void *pc);
  /* An access of a site.  KIND: the size, GOMPY_RANGE_WRITES.  NULL: `read` or `write` is called.  */
  void (*one) (uintptr_t address, int kind, const unsigned char *site, const void *pc);
  intptr_t steps;  /* from a thread's pointer (__builtin_thread_pointer) to that to its steps; 0: there are none */
};

#endif
