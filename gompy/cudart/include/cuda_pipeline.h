/* The pipeline's functions in C (CUDA C++ Programming Guide, "Pipeline Primitives Interface"); copies are done at
   once.  */
#ifndef GOMPY_CUDA_PIPELINE_PRIMITIVES_H
#define GOMPY_CUDA_PIPELINE_PRIMITIVES_H

#include "cuda_runtime.h"

#ifdef __CUDA__

/* 4, 8 or 16 bytes, of which the last ones become zeros.  */
static __inline__ __attribute__ ((device, always_inline, nodebug)) void
__pipeline_memcpy_async (void *to, const void *from, size_t size, size_t zeros = 0)
{
  unsigned *target = (unsigned *) to;
  const unsigned char *source = (const unsigned char *) from;
  if (zeros == 0 && size == 16)
    *(uint4 *) to = *(const uint4 *) from;
  else if (zeros == 0 && size == 8)
    *(uint2 *) to = *(const uint2 *) from;
  else if (zeros == 0)
    *target = *(const unsigned *) from;
  else
    for (size_t i = 0; i < size; i++)
      ((unsigned char *) to)[i] = i < size - zeros ? source[i] : 0;
}

static __inline__ __attribute__ ((device, always_inline, nodebug)) void __pipeline_commit () {}
static __inline__ __attribute__ ((device, always_inline, nodebug)) void __pipeline_wait_prior (size_t) {}

#endif
#endif
