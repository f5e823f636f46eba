/* What a device plugin and the runtime have in common: libgomp/libgomp-plugin.h of GCC 12, in our words.  */
#ifndef GOMPY_NATIVE_PLUGIN_H
#define GOMPY_NATIVE_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

/* Where a function or variable of an image lies on the device (struct addr_pair).  */
struct gompy_addr_pair
{
  uintptr_t start, end;
};

/* Services of the runtime.  */
extern void GOMP_PLUGIN_error (const char *, ...) __attribute__ ((format (printf, 1, 2)));
extern void GOMP_PLUGIN_fatal (const char *, ...) __attribute__ ((noreturn, format (printf, 1, 2)));
extern void GOMP_PLUGIN_debug (int, const char *, ...) __attribute__ ((format (printf, 2, 3)));
extern void *GOMP_PLUGIN_malloc (size_t);
extern void GOMP_PLUGIN_target_task_completion (void *);

/* OpenACC's services are weak, for a runtime may do OpenMP alone.  */
extern void *GOMP_PLUGIN_acc_thread (void) __attribute__ ((weak));
extern int GOMP_PLUGIN_acc_default_dim (unsigned) __attribute__ ((weak));

#endif
