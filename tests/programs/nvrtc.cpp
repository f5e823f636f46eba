/* NVRTC and the driver, as programs use them: a program with a header in memory is compiled, its kernels are found by
   their lowered names and launched; then the log of one that is wrong.  */
#include <cstdio>
#include <cstdlib>
#include <string>
#include <nvrtc.h>

extern "C"
{
  typedef void *CUcontext, *CUmodule, *CUfunction;
  typedef unsigned long long CUdeviceptr;
  int cuInit (unsigned);
  int cuCtxCreate_v2 (CUcontext *, unsigned, int);
  int cuModuleLoadData (CUmodule *, const void *);
  int cuModuleGetFunction (CUfunction *, CUmodule, const char *);
  int cuModuleGetGlobal_v2 (CUdeviceptr *, size_t *, CUmodule, const char *);
  int cuLaunchKernel (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                      void **);
  int cuMemAlloc_v2 (CUdeviceptr *, size_t);
  int cuMemcpyHtoD_v2 (CUdeviceptr, const void *, size_t);
  int cuMemcpyDtoH_v2 (void *, CUdeviceptr, size_t);
}

static const char *const source = R"(
#include "scale.h"
namespace N { __constant__ float by[1]; struct S { float v; }; }
template <typename T> __global__ void add (T *p, T n) { p[threadIdx.x] += n; }
template <int W, typename T> __global__ void scale (T *p) { p[threadIdx.x].v *= N::by[0] * SCALE * W; }
static __global__ void hidden (float *p) { p[threadIdx.x] = twice (p[threadIdx.x]); }
extern "C" __global__ void plain (float *p) { p[threadIdx.x] -= 1; }
)";
static const char *const header = "#define SCALE 2\n__device__ inline float twice (float x) { return x + x; }\n";

static void check (int code, int line)
{
  if (code)
    std::printf ("line %d: %d\n", line, code), std::exit (1);
}
#define CHECK(call) check (call, __LINE__)

static std::string log_of (nvrtcProgram program)
{
  size_t size;
  CHECK (nvrtcGetProgramLogSize (program, &size));
  std::string text (size, ' ');
  CHECK (nvrtcGetProgramLog (program, &text[0]));
  text.resize (size - 1);
  return text;
}

static void run (nvrtcProgram program, CUmodule module, CUdeviceptr memory, const char *expression, float number)
{
  const char *name;
  CUfunction function;
  void *words[] = { &memory, &number };
  CHECK (nvrtcGetLoweredName (program, expression, &name));
  CHECK (cuModuleGetFunction (&function, module, name));
  CHECK (cuLaunchKernel (function, 1, 1, 1, 4, 1, 1, 0, NULL, words, NULL));
  float got[4];
  CHECK (cuMemcpyDtoH_v2 (got, memory, sizeof got));
  std::printf ("%s = %s: %g %g %g %g\n", expression, name, got[0], got[1], got[2], got[3]);
}

int main ()
{
  static const char *const expressions[] = { "add<float>", "scale<3, N::S>", "&hidden", "plain", "&N::by" };
  static const char *const options[] = { "--gpu-architecture=compute_70", "--std=c++17", "-lineinfo" };
  static const char *const name = "scale.h";
  nvrtcProgram program;
  CHECK (nvrtcCreateProgram (&program, source, "try.cu", 1, &header, &name));
  for (const char *expression : expressions)
    CHECK (nvrtcAddNameExpression (program, expression));
  nvrtcResult result = nvrtcCompileProgram (program, 3, options);
  std::printf ("%s%s\n", log_of (program).c_str (), nvrtcGetErrorString (result));
  size_t size, machine;
  CHECK (nvrtcGetPTXSize (program, &size));
  CHECK (nvrtcGetCUBINSize (program, &machine));
  std::string ptx (size, ' ');
  CHECK (nvrtcGetPTX (program, &ptx[0]));
  std::printf ("machine code: %zu\n", machine);

  CUcontext context;
  CUmodule module;
  CUdeviceptr memory, by;
  const float numbers[4] = { 1, 2, 3, 4 }, half = 0.5f;
  const char *lowered;
  CHECK (cuInit (0));
  CHECK (cuCtxCreate_v2 (&context, 0, 0));
  CHECK (cuModuleLoadData (&module, ptx.c_str ()));
  CHECK (cuMemAlloc_v2 (&memory, sizeof numbers));
  CHECK (cuMemcpyHtoD_v2 (memory, numbers, sizeof numbers));
  CHECK (nvrtcGetLoweredName (program, "&N::by", &lowered));
  CHECK (cuModuleGetGlobal_v2 (&by, &size, module, lowered));
  CHECK (cuMemcpyHtoD_v2 (by, &half, sizeof half));
  for (int i = 0; i < 4; i++)
    run (program, module, memory, expressions[i], 10);
  CHECK (nvrtcDestroyProgram (&program));

  CHECK (nvrtcCreateProgram (&program, "__global__ void f () { g (); }\n", NULL, 0, NULL, NULL));
  result = nvrtcCompileProgram (program, 0, NULL);
  std::printf ("%s%s\n", log_of (program).c_str (), nvrtcGetErrorString (result));
  CHECK (nvrtcDestroyProgram (&program));
  std::printf ("%s\n", nvrtcGetErrorString (nvrtcDestroyProgram (&program)));
}
