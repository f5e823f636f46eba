/* What a device plugin and the runtime have in common: libgomp/libgomp-plugin.h of GCC 12, in our words.  */
#ifndef GOMPY_NATIVE_PLUGIN_H
#define GOMPY_NATIVE_PLUGIN_H

#include "gompy/native/plugin_types.h"
#include <stddef.h>

/* Services of the runtime.  */
extern void GOMP_PLUGIN_error (const char *, ...) __attribute__ ((format (printf, 1, 2)));
extern void GOMP_PLUGIN_fatal (const char *, ...) __attribute__ ((noreturn, format (printf, 1, 2)));
extern void GOMP_PLUGIN_debug (int, const char *, ...) __attribute__ ((format (printf, 2, 3)));
extern void *GOMP_PLUGIN_malloc (size_t);
extern void GOMP_PLUGIN_target_task_completion (void *);

/* OpenACC's services are weak, for a runtime may do OpenMP alone.  */
extern void *GOMP_PLUGIN_acc_thread (void) __attribute__ ((weak));
extern int GOMP_PLUGIN_acc_default_dim (unsigned) __attribute__ ((weak));

/* gompy's own runtime has it: run the host's function of a region's `target device (ancestor: 1)`, for a device by its
   kind and its number there; function, addresses, sizes and kinds are of the device.  */
extern void gompy_target_rev (int type, int number, uint64_t function, uint64_t mapnum, uint64_t addresses,
                              uint64_t sizes, uint64_t kinds) __attribute__ ((weak));

/* The same of libgomp since GCC 13, for a device by the runtime's number.  The last three tell how to copy, GCC 13's
   two functions and a word for them, GCC 14's a queue; NULL is for the plugin's usual ones.  */
extern void GOMP_PLUGIN_target_rev (uint64_t function, uint64_t mapnum, uint64_t addresses, uint64_t sizes,
                                    uint64_t kinds, int number, void *, void *, void *) __attribute__ ((weak));

#endif
