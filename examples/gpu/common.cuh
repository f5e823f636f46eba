/* What the CUDA examples share: a call that fails ends the program with its name; arrays on the device.  */
#include "common.h"
#include <initializer_list>

#define CHECK(call) check (call, #call, __LINE__)

static inline void
check (cudaError_t error, const char *call, int line)
{
  if (error == cudaSuccess)
    return;
  fprintf (stderr, "line %d: %s: %s\n", line, call, cudaGetErrorString (error));
  exit (1);
}

/* The end of all kernels: what their launches say, and what they say themselves.  */
#define WAIT_FOR_KERNELS() (CHECK (cudaGetLastError ()), CHECK (cudaDeviceSynchronize ()))

template <typename T>
static T *
device_array (size_t count)
{
  T *device;
  CHECK (cudaMalloc (&device, count * sizeof (T)));
  return device;
}

template <typename T>
static T *
to_device (const T *host, size_t count)
{
  T *device = device_array<T> (count);
  CHECK (cudaMemcpy (device, host, count * sizeof (T), cudaMemcpyHostToDevice));
  return device;
}

template <typename T>
static void
to_host (T *host, const T *device, size_t count)
{
  CHECK (cudaMemcpy (host, device, count * sizeof (T), cudaMemcpyDeviceToHost));
}

static inline void
device_free (std::initializer_list<void *> arrays)
{
  for (void *array : arrays)
    CHECK (cudaFree (array));
}
