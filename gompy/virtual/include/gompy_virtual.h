/* gompy_virtual.h: a device, and implementations of regions for it, as a shared library for gompy's virtual device.

   A library may export either or both:

     const struct gompy_device gompy_device = { GOMPY_DEVICE_HEAD, "mine", ... };
     const struct gompy_region gompy_regions[] = { { GOMPY_REGION_HEAD, "main._omp_fn.0", "mine", run }, { 0 } };

   Functions are called by as many threads as the program has, but for alloc, free, write and read, which are called by
   one thread at a time for each device.  `gompy config --virtual-incdir` prints the folder of this file.  */
#ifndef GOMPY_VIRTUAL_H
#define GOMPY_VIRTUAL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

#define GOMPY_VIRTUAL_VERSION 1

struct gompy_device
{
  uint32_t version;		/* GOMPY_VIRTUAL_VERSION */
  uint32_t size;		/* of this structure */
  const char *identifier;	/* what GOMPY_VIRTUAL and regions name */
  uint32_t num_devices;		/* at least 1 */
  uint32_t shares_memory;	/* 1: its addresses are the process's, and code of the program's image can run on them */
  int (*init) (int device);	/* 0: it is ready.  NULL: there is nothing to do */
  void (*fini) (int device);	/* NULL: there is nothing to do */
  uint64_t (*alloc) (int device, uint64_t size);	/* an address other than 0; 0: there is no memory left */
  void (*free) (int device, uint64_t address);
  int (*write) (int device, uint64_t to, const void *data, uint64_t size);	/* 0: done */
  int (*read) (int device, void *data, uint64_t from, uint64_t size);	/* 0: done */
};

struct gompy_region
{
  uint32_t version;		/* GOMPY_VIRTUAL_VERSION; 0 ends the array */
  uint32_t size;		/* of this structure */
  const char *function;		/* the outlined function, as gompy regions names it */
  const char *device;		/* the device's identifier; NULL: each device that shares memory */
  /* Run it to its end; 0: done.  words: the device address of its arguments, a word each.  num_teams, thread_limit:
     what the construct asks for, 0 if nothing.  */
  int (*run) (int device, uint64_t words, uint32_t num_teams, uint32_t thread_limit);
};

#define GOMPY_DEVICE_HEAD GOMPY_VIRTUAL_VERSION, sizeof (struct gompy_device)
#define GOMPY_REGION_HEAD GOMPY_VIRTUAL_VERSION, sizeof (struct gompy_region)

#ifdef __cplusplus
}
#endif

#endif
