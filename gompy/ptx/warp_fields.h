/* A warp, as compiled code and the executor know it.  */
#ifndef GOMPY_PTX_WARP_FIELDS_H
#define GOMPY_PTX_WARP_FIELDS_H

#include "executor.h"
#include "gompy/native/ptx.h"

struct __attribute__ ((aligned (64))) gompy_warp
{
  GOMPY_WARP_FIELDS
  /* Only the executor knows what follows.  */
  void *sp;                             /* where the warp's stack was left */
  void *runner, *launch, *module;
  uint32_t barrier, place;
  char *stack;
  void *wait_unit;                      /* checked code: where the warp waits */
  uint32_t wait_line, wait_place;       /* wait_place: which of the function's barriers */
  uint32_t votes, voters;               /* bar.red: what the barrier was left with */
  const ptx_memory *memory;             /* the launch's */
  uint64_t far_start, far_size;         /* the block of another device's that was accessed last */
  int32_t look_each;                    /* checked code: after so many accesses to other blocks one is looked at */
};

GOMPY_CHECK_WARP (struct gompy_warp)

#endif
