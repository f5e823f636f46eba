/* What libcuda.so.1 tells the other libraries of its folder of an emulated GPU, before cuInit too.  */
#ifndef GOMPY_NATIVE_GPU_DESCRIPTION_H
#define GOMPY_NATIVE_GPU_DESCRIPTION_H

#include <stdint.h>

struct gompy_gpu_description
{
  int arch;               /* 80: sm_80 */
  int clock, memory_clock; /* kHz */
  int bus_width;          /* bits */
  int bus, slot;          /* on the PCI bus */
  int driver_version;     /* 13000 */
  uint64_t bytes;         /* of its memory */
  uint8_t uuid[16];
  char name[96];
};

#endif
