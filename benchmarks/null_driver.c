/* A libcuda.so.1 that answers at once: what remains of a region's time is the runtime's and the plugin's own.
   Memory is the host's, copies are memcpy, kernels do nothing.  As in a driver, a thread has a current context.
   With -DNO_COPIES copies do nothing either: of arrays and updates memcpy is the most, whoever asks for it.  */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long address;
#define PAGE 4096L
enum { BLOCKS = 1024, NOT_FOUND = 500, INVALID_CONTEXT = 201, INVALID_VALUE = 1, OUT_OF_MEMORY = 2 };

static struct block { address base; size_t size; } blocks[BLOCKS];
static int used, handle;
static __thread void *context;

#define DOES_NOTHING(name, ...) int name (__VA_ARGS__) { return 0; }

DOES_NOTHING (cuInit, unsigned flags)
int cuDriverGetVersion (int *version) { *version = 12040; return 0; }
int cuDeviceGetCount (int *count) { *count = 1; return 0; }
int cuDeviceGet (int *device, int number) { *device = number; return 0; }
int cuDeviceGetName (char *name, int size, int device) { snprintf (name, size, "null"); return 0; }
int cuDeviceTotalMem_v2 (size_t *size, int device) { *size = 1UL << 33; return 0; }
int cuMemGetInfo_v2 (size_t *unused, size_t *size) { *unused = *size = 1UL << 33; return 0; }

int
cuDeviceGetAttribute (int *value, int attribute, int device)
{
  switch (attribute)
    {
    case 1: *value = 1024; break;			/* Threads of a block.  */
    case 10: *value = 32; break;			/* Lanes of a warp.  */
    case 12: case 82: *value = 65536; break;		/* Registers.  */
    case 16: *value = 132; break;			/* Multiprocessors, as an H100's.  */
    case 39: *value = 2048; break;			/* Threads of a multiprocessor.  */
    default: *value = 1;
    }
  return 0;
}

int cuCtxGetDevice (int *device) { *device = 0; return context ? 0 : INVALID_CONTEXT; }
int cuCtxGetCurrent (void **current) { *current = context; return 0; }
int cuCtxSetCurrent (void *wanted) { context = wanted; return 0; }
int cuCtxCreate_v2 (void **made, unsigned flags, int device) { *made = context = &handle; return 0; }
int cuCtxPushCurrent_v2 (void *wanted) { context = wanted; return 0; }
int cuCtxPopCurrent_v2 (void **popped) { *popped = context; context = NULL; return 0; }
int cuCtxDestroy_v2 (void *gone) { context = NULL; return 0; }
DOES_NOTHING (cuCtxSynchronize, void)

int cuLinkCreate_v2 (unsigned n, int *names, void **values, void **link) { *link = &handle; return 0; }
DOES_NOTHING (cuLinkAddData_v2, void *link, int type, void *data, size_t size, const char *name, unsigned n, int *names, void **values)
int cuLinkComplete (void *link, void **image, size_t *size) { *image = &handle; *size = 8; return 0; }
DOES_NOTHING (cuLinkDestroy, void *link)
int cuModuleLoadData (void **module, const void *image) { *module = &handle; return 0; }
DOES_NOTHING (cuModuleUnload, void *module)
int cuModuleGetFunction (void **function, void *module, const char *name) { *function = &handle; return 0; }
int cuFuncGetAttribute (int *value, int attribute, void *function) { *value = attribute == 4 ? 32 : 1024; return 0; }
int cuOccupancyMaxPotentialBlockSize (int *grid, int *block, void *f, size_t (*shared) (int), size_t size, int limit)
{ *grid = 264; *block = 1024; return 0; }

int
cuMemAlloc_v2 (address *base, size_t size)
{
  int i = 0;
  while (i < used && blocks[i].base)
    i++;
  /* In the middle of a page: copies between the same offsets of two pages can be much slower than others.  */
  char *memory = i < BLOCKS ? aligned_alloc (PAGE, (size + PAGE / 2 + PAGE - 1) & -PAGE) : NULL;
  if (!memory)
    return OUT_OF_MEMORY;
  used += i == used;
  blocks[i] = (struct block) { *base = (address) (uintptr_t) memory + PAGE / 2, size };
  return 0;
}

static struct block *
block_of (address place)
{
  for (int i = 0; i < used; i++)
    if (blocks[i].base && place - blocks[i].base < blocks[i].size)
      return &blocks[i];
  return NULL;
}

int
cuMemFree_v2 (address base)
{
  struct block *block = block_of (base);
  if (!block || block->base != base)
    return INVALID_VALUE;
  free ((char *) (uintptr_t) base - PAGE / 2);
  block->base = 0;
  return 0;
}

int
cuMemGetAddressRange_v2 (address *base, size_t *size, address place)
{
  struct block *block = block_of (place);
  if (!block)
    return INVALID_VALUE;
  if (base)
    *base = block->base;
  if (size)
    *size = block->size;
  return 0;
}

int
cuModuleGetGlobal_v2 (address *base, size_t *size, void *module, const char *name)
{
  address made;
  if (name[0] == '_')
    return NOT_FOUND;
  cuMemAlloc_v2 (&made, 8);
  if (base)
    *base = made;
  if (size)
    *size = 4;
  return 0;
}

#ifdef NO_COPIES
#define COPY(target, source, size) ((void) 0)
#else
#define COPY memcpy
#endif
#define COPIES(name, to, from, ...) \
  int name (to target, from source, size_t size __VA_ARGS__) \
  { COPY ((void *) (uintptr_t) target, (void *) (uintptr_t) source, size); return 0; }
COPIES (cuMemcpyHtoD_v2, address, const void *)
COPIES (cuMemcpyDtoH_v2, void *, address)
COPIES (cuMemcpyHtoDAsync_v2, address, const void *, , void *stream)
COPIES (cuMemcpyDtoHAsync_v2, void *, address, , void *stream)
COPIES (cuMemcpyDtoDAsync_v2, address, address, , void *stream)

DOES_NOTHING (cuLaunchKernel, void *f, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz, unsigned shared,
	      void *stream, void **parameters, void **extra)
int cuStreamCreate (void **stream, unsigned flags) { *stream = &handle; return 0; }
DOES_NOTHING (cuStreamDestroy_v2, void *stream)
DOES_NOTHING (cuStreamQuery, void *stream)
DOES_NOTHING (cuStreamSynchronize, void *stream)
DOES_NOTHING (cuStreamWaitEvent, void *stream, void *event, unsigned flags)
int cuStreamAddCallback (void *stream, void (*f) (void *, int, void *), void *data, unsigned flags) { f (stream, 0, data); return 0; }
int cuEventCreate (void **event, unsigned flags) { *event = &handle; return 0; }
DOES_NOTHING (cuEventRecord, void *event, void *stream)
DOES_NOTHING (cuEventQuery, void *event)
DOES_NOTHING (cuEventDestroy_v2, void *event)
int cuGetErrorString (int error, const char **text) { *text = "refused by the null driver"; return 0; }
int cuGetErrorName (int error, const char **text) { *text = "CUDA_ERROR_NULL"; return 0; }

/* Asked for by GCC's plugin when it starts, called by nobody.  */
#define UNUSED(name) int name (void) { return INVALID_VALUE; }
UNUSED (cuEventElapsedTime) UNUSED (cuEventSynchronize) UNUSED (cuMemAllocHost_v2) UNUSED (cuMemFreeHost) UNUSED (cuMemcpy)
UNUSED (cuMemHostGetDevicePointer_v2) UNUSED (cuModuleLoad) UNUSED (cuLinkAddData) UNUSED (cuLinkCreate)
