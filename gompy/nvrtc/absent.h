/* Calls that are not implemented: each says so.  */
#ifndef GOMPY_NVRTC_ABSENT_H
#define GOMPY_NVRTC_ABSENT_H

#include "gompy/native/nvrtc.h"
#include <stdio.h>

#define GOMPY_STUB(name) \
  int name (void); \
  int name (void) \
  { \
    fprintf (stderr, "libnvrtc (gompy): error: " #name " is not implemented (NVRTC_ERROR_INTERNAL_ERROR)\n"); \
    return NVRTC_ERROR_INTERNAL_ERROR; \
  }
GOMPY_NVRTC_ABSENT (GOMPY_STUB)
#undef GOMPY_STUB

#endif
