/* What host and devices say alike of OpenMP's interoperability objects: names and descriptions.

   Three of the texts are GCC's, for its tests compare them.  */
#ifndef GOMPY_NATIVE_INTEROP_H
#define GOMPY_NATIVE_INTEROP_H

#include <stddef.h>

/* A property's name, or NULL: from -1 down.  */
static inline const char *
gompy_interop_name (int property)
{
  static const char *const names[] = { "fr_id", "fr_name", "vendor", "vendor_name", "device_num",
				       "platform", "device", "device_context", "targetsync" };
  return property < 0 && property >= -9 ? names[-1 - property] : NULL;
}

/* What a return code means, or NULL: from 1 down to LAST.  */
static inline const char *
gompy_interop_code (int code, int last)
{
  static const char *const texts[] = { "the property has no value here", "success",
				       "provided interoperability object is equal to omp_interop_none",
				       "property ID is out of range",
				       "the property is an integer: omp_get_interop_int gives it",
				       "the property is a pointer: omp_get_interop_ptr gives it",
				       "the property is a string: omp_get_interop_str gives it",
				       "obtaining properties is only supported on the initial device" };
  return code <= 1 && code >= last ? texts[1 - code] : NULL;
}

/* The first foreign runtime of a list of preferences (gcc/omp-general.cc: omp_init_prefer_type) that TAKES knows, or 0.
   An item is SEPARATOR, the runtimes' numbers, SEPARATOR, texts that each end with 0, another 0.  */
static inline int
gompy_interop_choice (const char *list, int separator, int (*takes) (int))
{
  while (list != NULL && *list == separator)
    {
      int found = 0;
      for (list++; *list != separator; list++)
	if (!found && takes (*list))
	  found = *list;
      if (found)
	return found;
      list++;
      while (*list)
	while (*list++)
	  ;
      list++;
    }
  return 0;
}

#endif
