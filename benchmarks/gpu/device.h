/* What cases.c needs of a device: cuda.cu and opencl.c have it.  */
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
struct argument { size_t size; void *place; };
void device_begin (const char *source);
void *device_new (size_t size, const void *from);
void device_read (void *to, void *from, size_t size);
void device_write (void *to, const void *from, size_t size);
void device_free (void *memory);
/* 0 if the device has no such kernel.  A pointer to device memory is an argument of size 0.  */
int device_launch (const char *kernel, int gx, int gy, int bx, int by, int count, const struct argument *arguments);
void device_wait (void);
#ifdef __cplusplus
}
#endif
