/* The driver interface by cuda.h alone: a kernel that is loaded from a file, launched in both ways, and timed.  */
#include <cuda.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void
must (CUresult r, const char *what)
{
  const char *name = "?";
  if (r == CUDA_SUCCESS)
    return;
  cuGetErrorName (r, &name);
  std::printf ("%s: %s\n", what, name);
  std::exit (1);
}
#define MUST(call) must (call, #call)

static void
texture (CUarray_format format)
{
  CUarray array;
  CUtexObject object;
  CUDA_ARRAY3D_DESCRIPTOR shape = { 16, 16, 0, format, 1, 0 };
  CUDA_ARRAY_DESCRIPTOR got;
  CUDA_RESOURCE_DESC resource = {};
  CUDA_TEXTURE_DESC settings = {};
  MUST (cuArray3DCreate (&array, &shape));
  MUST (cuArrayGetDescriptor (&got, array));
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array;
  settings.addressMode[0] = CU_TR_ADDRESS_MODE_CLAMP;
  settings.filterMode = CU_TR_FILTER_MODE_LINEAR;
  settings.flags = CU_TRSF_NORMALIZED_COORDINATES;
  MUST (cuTexObjectCreate (&object, &resource, &settings, NULL));
  MUST (cuTexObjectDestroy (object));
  MUST (cuArrayDestroy (array));
  std::printf ("array %zu x %zu\n", got.Width, got.Height);
}

int
main (int, char **argv)
{
  const int n = 1000;
  std::vector<float> a (n, 1.5f), b (n, 2.5f), c (n);
  char log[256] = "";
  CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
  void *values[] = { log, (void *) sizeof log };
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction add;
  CUdeviceptr pa, pb, pc;
  CUstream stream;
  CUevent begin, end;
  int major, count = n, wrong = 0;
  float milliseconds;
  MUST (cuInit (0));
  MUST (cuDeviceGet (&device, 0));
  MUST (cuDeviceGetAttribute (&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  MUST (cuCtxCreate (&context, CU_CTX_SCHED_BLOCKING_SYNC, device));
  MUST (cuModuleLoadData (&module, argv[0]) == CUDA_SUCCESS ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS);
  MUST (cuModuleLoad (&module, argv[1]));
  MUST (cuModuleUnload (module));
  std::FILE *file = std::fopen (argv[1], "r");
  std::vector<char> text (1 << 16);
  text[file ? std::fread (text.data (), 1, text.size () - 1, file) : 0] = 0;
  MUST (cuModuleLoadDataEx (&module, text.data (), 2, options, values));
  MUST (cuModuleGetFunction (&add, module, "add"));
  MUST (cuMemAlloc (&pa, n * sizeof (float)));
  MUST (cuMemAlloc (&pb, n * sizeof (float)));
  MUST (cuMemAlloc (&pc, n * sizeof (float)));
  MUST (cuStreamCreate (&stream, CU_STREAM_NON_BLOCKING));
  MUST (cuEventCreate (&begin, CU_EVENT_DEFAULT));
  MUST (cuEventCreate (&end, CU_EVENT_DEFAULT));
  MUST (cuMemcpyHtoD (pa, a.data (), n * sizeof (float)));
  MUST (cuMemcpyHtoD (pb, b.data (), n * sizeof (float)));
  void *parameters[] = { &pa, &pb, &pc, &count };
  MUST (cuEventRecord (begin, stream));
  MUST (cuLaunchKernel (add, (n + 127) / 128, 1, 1, 128, 1, 1, 0, stream, parameters, NULL));
  MUST (cuEventRecord (end, stream));
  MUST (cuStreamSynchronize (stream));
  MUST (cuEventElapsedTime (&milliseconds, begin, end));
  struct { CUdeviceptr a, b, c; int n; } words = { pa, pc, pc, n };
  size_t size = sizeof words;
  void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &words, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END };
  MUST (cuLaunchKernel (add, (n + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
  MUST (cuMemcpyDtoH (c.data (), pc, n * sizeof (float)));
  for (float x : c)
    wrong += x != 5.5f;
  texture (CU_AD_FORMAT_FLOAT);
  MUST (cuMemFree (pa));
  MUST (cuCtxDestroy (context));
  std::printf ("%d wrong, version %d, sm_%dx\n", wrong, CUDA_VERSION, major);
}
