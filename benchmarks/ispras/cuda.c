/* Moving the data and launching: the CUDA driver, real or emulated, and the PTX that is compiled in (macro PTX: a file).
   One CUDA program for both, which the CUDA runtime library does not allow.  */

#include "bench.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

const char model_name[] = "cuda";

__asm__ (".section .rodata\n"
         ".globl bench_ptx\n"
         "bench_ptx: .incbin \"" PTX "\"\n"
         ".byte 0\n"
         ".previous\n");
extern const char bench_ptx[];

typedef unsigned long long device_address;

/* The driver's functions, by the names that its library exports (cuda.h of CUDA 4 and later).  */
static int (*cuInit) (unsigned);
static int (*cuGetErrorName) (int, const char **);
static int (*cuDeviceGet) (int *, int);
static int (*cuDeviceGetName) (char *, int, int);
static int (*cuDeviceGetAttribute) (int *, int, int);
static int (*cuCtxCreate) (void **, unsigned, int);
static int (*cuCtxSynchronize) (void);
static int (*cuModuleLoadData) (void **, const void *);
static int (*cuModuleGetFunction) (void **, void *, const char *);
static int (*cuMemAlloc) (device_address *, size_t);
static int (*cuMemFree) (device_address);
static int (*cuMemcpyHtoD) (device_address, const void *, size_t);
static int (*cuMemcpyDtoH) (void *, device_address, size_t);
static int (*cuMemsetD8) (device_address, unsigned char, size_t);
static int (*cuLaunchKernel) (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                              void **, void **);

#define MULTIPROCESSORS 16 /* CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT */

static void *kernels[2];
static device_address a, b, r;
static int multiprocessors;

static void
check (int result, const char *what)
{
  const char *name = "unknown error";
  if (!result)
    return;
  if (cuGetErrorName)
    cuGetErrorName (result, &name);
  fprintf (stderr, "%s (cuda): error: %s: %s (%d)\n", bench_name, what, name ? name : "unknown error", result);
  exit (1);
}
#define CHECK(call) check (call, #call)

static void *
symbol (void *driver, const char *name)
{
  void *found = dlsym (driver, name);
  if (!found)
    {
      fprintf (stderr, "%s (cuda): error: libcuda.so.1 has no %s\n", bench_name, name);
      exit (1);
    }
  return found;
}

const char *
device_start (void)
{
  static char name[64];
  void *driver = dlopen ("libcuda.so.1", RTLD_NOW), *context, *module;
  int device;
  if (!driver)
    {
      fprintf (stderr, "%s (cuda): error: %s\n", bench_name, dlerror ());
      return NULL;
    }
  cuGetErrorName = symbol (driver, "cuGetErrorName");
  cuInit = symbol (driver, "cuInit");
  cuDeviceGet = symbol (driver, "cuDeviceGet");
  cuDeviceGetName = symbol (driver, "cuDeviceGetName");
  cuDeviceGetAttribute = symbol (driver, "cuDeviceGetAttribute");
  cuCtxCreate = symbol (driver, "cuCtxCreate_v2");
  cuCtxSynchronize = symbol (driver, "cuCtxSynchronize");
  cuModuleLoadData = symbol (driver, "cuModuleLoadData");
  cuModuleGetFunction = symbol (driver, "cuModuleGetFunction");
  cuMemAlloc = symbol (driver, "cuMemAlloc_v2");
  cuMemFree = symbol (driver, "cuMemFree_v2");
  cuMemcpyHtoD = symbol (driver, "cuMemcpyHtoD_v2");
  cuMemcpyDtoH = symbol (driver, "cuMemcpyDtoH_v2");
  cuMemsetD8 = symbol (driver, "cuMemsetD8_v2");
  cuLaunchKernel = symbol (driver, "cuLaunchKernel");
  CHECK (cuInit (0));
  CHECK (cuDeviceGet (&device, 0));
  CHECK (cuDeviceGetName (name, sizeof name, device));
  CHECK (cuDeviceGetAttribute (&multiprocessors, MULTIPROCESSORS, device));
  CHECK (cuCtxCreate (&context, 0, device));
  CHECK (cuModuleLoadData (&module, bench_ptx));
  CHECK (cuModuleGetFunction (&kernels[0], module, "without_simd"));
  CHECK (cuModuleGetFunction (&kernels[1], module, "with_simd"));
  return name;
}

int
device_on_host (void)
{
  return 0;
}

void
device_enter (struct problem *p)
{
  CHECK (cuMemAlloc (&a, p->na * sizeof (double)));
  CHECK (cuMemcpyHtoD (a, p->a, p->na * sizeof (double)));
  CHECK (cuMemAlloc (&r, p->nr * sizeof (double)));
  b = 0;
  if (p->b)
    {
      CHECK (cuMemAlloc (&b, p->nb * sizeof (double)));
      CHECK (cuMemcpyHtoD (b, p->b, p->nb * sizeof (double)));
    }
}

void
device_put_result (struct problem *p)
{
  CHECK (cuMemcpyHtoD (r, p->r, p->nr * sizeof (double)));
}

void
device_get_result (struct problem *p)
{
  CHECK (cuMemcpyDtoH (p->r, r, p->nr * sizeof (double)));
}

void
device_leave (struct problem *p)
{
  CHECK (cuMemFree (a));
  CHECK (cuMemFree (r));
  if (p->b)
    CHECK (cuMemFree (b));
}

/* Teams are blocks, threads warps.  A sum is added up in r, which must be zero before.  */
int
bench_region (const struct problem *p, const struct launch *l)
{
  long n = p->n, nr = p->nr;
  void *arguments[] = { &n, &nr, &a, &b, &r };
  int blocks = l->teams ? l->teams : 4 * multiprocessors, warps = l->threads ? l->threads : 8;
  if (nr == 1)
    CHECK (cuMemsetD8 (r, 0, sizeof (double)));
  CHECK (cuLaunchKernel (kernels[l->simd], blocks, 1, 1, 32 * warps, 1, 1, 0, NULL, arguments, NULL));
  CHECK (cuCtxSynchronize ());
  return nr == 1 ? (device_get_result ((struct problem *) p), 1) : 0;
}
