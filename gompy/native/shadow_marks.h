/* Marks of the emulated GPU's memory (gompy/ptx/executor.h, `shadow`), as its driver and its kernels make them.  */
#ifndef GOMPY_NATIVE_SHADOW_MARKS_H
#define GOMPY_NATIVE_SHADOW_MARKS_H

#include <stddef.h>
#include <stdint.h>

/* Bytes are written, but for those that are not allocated: closed gaps inside a block, or what somebody has freed
   meanwhile.  Inline: of a few bytes a call takes longer than they do, and many are worth the caller's vectors.  */
static inline __attribute__ ((always_inline)) void
gompy_mark_written (uint8_t *shadow, size_t size)
{
  for (size_t i = 0; i < size; i++)
    shadow[i] = (uint8_t) ((shadow[i] & 1) * 3);
}

#endif
