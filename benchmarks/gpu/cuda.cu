/* device.h by CUDA.  */
#include "kernels.h"
#include "device.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                                                                    \
  if (cudaError_t status = (call))                                                                                     \
    {                                                                                                                  \
      std::fprintf (stderr, "%s: %s\n", #call, cudaGetErrorString (status));                                           \
      std::exit (1);                                                                                                   \
    }

#define ENTRY(name) { #name, (const void *) name }
static const struct { const char *name; const void *kernel; } kernels[] = {
  ENTRY (vadd), ENTRY (vadd4), ENTRY (stencil), ENTRY (stencils), ENTRY (hist), ENTRY (hists), ENTRY (sgemm),
  ENTRY (sgemmn), ENTRY (transpose), ENTRY (scan), ENTRY (reduce), ENTRY (spmv), ENTRY (gather), ENTRY (bfs),
  ENTRY (ode), ENTRY (lu), ENTRY (wavefront), ENTRY (median), ENTRY (divide), ENTRY (warpsum), ENTRY (count),
};

void
device_begin (const char *)
{
  CHECK (cudaFree (0));
}

void *
device_new (size_t size, const void *from)
{
  void *memory;
  CHECK (cudaMalloc (&memory, size));
  CHECK (cudaMemcpy (memory, from, size, cudaMemcpyHostToDevice));
  return memory;
}

void
device_read (void *to, void *from, size_t size)
{
  CHECK (cudaMemcpy (to, from, size, cudaMemcpyDeviceToHost));
}

void
device_write (void *to, const void *from, size_t size)
{
  CHECK (cudaMemcpy (to, from, size, cudaMemcpyHostToDevice));
}

void
device_free (void *memory)
{
  CHECK (cudaFree (memory));
}

int
device_launch (const char *kernel, int gx, int gy, int bx, int by, int count, const argument *arguments)
{
  void *places[8];
  for (int i = 0; i < count; i++)
    places[i] = arguments[i].size ? arguments[i].place : (void *) &arguments[i].place;
  for (auto &entry : kernels)
    if (!std::strcmp (entry.name, kernel))
      {
        CHECK (cudaLaunchKernel (entry.kernel, dim3 (gx, gy), dim3 (bx, by), places, 0, 0));
        return 1;
      }
  return 0;
}

void
device_wait (void)
{
  CHECK (cudaDeviceSynchronize ());
}
