/* Types of the interface between the runtime and device plugins: libgomp/libgomp-plugin.h of GCC 12 to 16, in
   our words.  */
#ifndef GOMPY_NATIVE_PLUGIN_TYPES_H
#define GOMPY_NATIVE_PLUGIN_TYPES_H

#include <stdint.h>

/* Where a function or variable of an image lies on the device (struct addr_pair).  */
struct gompy_addr_pair
{
  uintptr_t start, end;
};

/* An interoperability object, behind omp_interop_t (struct interop_obj_t; GCC 15).  */
struct gompy_interop
{
  void *stream;	     /* of targetsync, or NULL */
  void *device_data; /* the plugin's */
  int fr;	     /* the foreign runtime (OMP_IFR_*) */
  int device_num;
};

#endif
