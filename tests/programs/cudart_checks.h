/* What programs in C that use libcudart without a CUDA compiler have in common: the fat binary, and checks.  */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char container[];
__asm__ (".section .rodata\n.balign 8\n.globl container\ncontainer:\n.incbin \"" CONTAINER "\"\n.text");

void **__cudaRegisterFatBinary (void *);
void __cudaRegisterFatBinaryEnd (void **);
void __cudaRegisterFunction (void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);
void __cudaRegisterVar (void **, char *, char *, const char *, int, size_t, int, int);
unsigned __cudaPushCallConfiguration (dim3, dim3, size_t, cudaStream_t);
cudaError_t __cudaPopCallConfiguration (dim3 *, dim3 *, size_t *, cudaStream_t *);

static struct { unsigned magic, version; const void *data; void *rest; } wrapper
  = { 0x466243b1, 1, container, NULL };

static void
is (int line, cudaError_t got, cudaError_t want)
{
  if (got != want)
    {
      printf ("line %d: %s, not %s\n", line, cudaGetErrorName (got), cudaGetErrorName (want));
      exit (1);
    }
}
#define OK(call) is (__LINE__, call, cudaSuccess)
#define IS(call, want) is (__LINE__, call, want)
#define HOLDS(what) \
  do \
    if (!(what)) \
      { \
        printf ("line %d: not %s\n", __LINE__, #what); \
        exit (1); \
      } \
  while (0)
