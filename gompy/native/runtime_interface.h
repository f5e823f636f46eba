/* Which interface the runtime speaks that loads a plugin: libgomp's GOMP_VERSION, 1 (GCC 12), 2 (13) or 3 (14 and
   later).  It asks GOMP_OFFLOAD_version and refuses any other answer; who asks is seen by where the call comes from.

   libgompy takes each of them, and gets 1, which costs it nothing.  The functions are the same for all that ask, so the
   first decides what they take.  A libgomp behind libgompy of another interface gets its own answer, that it may be
   silent, and no device.  */
#ifndef GOMPY_NATIVE_RUNTIME_INTERFACE_H
#define GOMPY_NATIVE_RUNTIME_INTERFACE_H

#include <dlfcn.h>

static unsigned gompy_interface; /* of the first */

static unsigned
gompy_interface_of (void *caller)
{
  Dl_info info;
  void *library;
  unsigned found = 1;
  if (dladdr (caller, &info) && info.dli_fname
      && (library = dlopen (info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)) != NULL)
    {
      if (dlsym (library, "gompy_has_image") == NULL)
	found = dlsym (library, "GOMP_target_map_indirect_ptr") ? 3 : dlsym (library, "omp_get_mapped_ptr") ? 2 : 1;
      dlclose (library);
    }
  if (gompy_interface == 0)
    gompy_interface = found;
  return found;
}

/* In GOMP_OFFLOAD_version itself.  */
#define gompy_answer_version() gompy_interface_of (__builtin_return_address (0))

/* What GOMP_OFFLOAD_get_num_devices answers, COUNT or not: a runtime of interface 2 or 3 gives a mask of what the
   devices have to fulfil.  */
static int
gompy_count_for (void *caller, unsigned mask, unsigned fulfilled, int count)
{
  unsigned asks = gompy_interface_of (caller);
  if (asks != gompy_interface)
    return 0;
  return asks >= 2 && count > 0 && (mask & ~fulfilled) != 0 ? -1 : count;
}

/* In GOMP_OFFLOAD_get_num_devices itself.  */
#define gompy_answer_count(mask, fulfilled, count) \
  gompy_count_for (__builtin_return_address (0), mask, fulfilled, count)

/* Whether it speaks 2 or 3: openacc_exec's device addresses are an argument block on the device already, and the last
   entry of an image's table has room for GCC 13's ICVs or is empty.  */
static int
gompy_newer_runtime (void)
{
  return gompy_interface >= 2;
}

#endif
