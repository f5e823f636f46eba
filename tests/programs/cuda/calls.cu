/* Calls of the runtime that ask and tell: streams' attributes, launches with attributes, textures' descriptions.  */
#include "check.h"
#include <cstring>
#include <string>

__global__ void
put (int *to, long value)
{
  to[threadIdx.x] = (int) value;
}

static void
launches (int *array)
{
  cudaLaunchConfig_t how = {};
  cudaLaunchAttribute told[2] = {};
  how.gridDim = 1;
  how.blockDim = 32;
  how.attrs = told;
  how.numAttrs = 2;
  told[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  told[0].val.programmaticStreamSerializationAllowed = 1;
  told[1].id = cudaLaunchAttributeCooperative;
  told[1].val.cooperative = 1;
  CHECK (cudaLaunchKernelEx (&how, put, array, 7)); /* an int for a long */
  CHECK (cudaDeviceSynchronize ());
  SAME (array[31], 7);
  told[0].id = cudaLaunchAttributeClusterDimension;
  told[0].val.clusterDim.x = 2;
  SAME (cudaLaunchKernelEx (&how, put, array, 8), cudaErrorNotSupported);
  SAME (cudaLaunchKernelExC (nullptr, (void *) put, nullptr), cudaErrorInvalidValue);
  const char *name;
  cudaFunction_t function;
  CHECK (cudaFuncGetName (&name, put));
  SAME (std::string (name) == "_Z3putPil", true);
  CHECK (cudaGetFuncBySymbol (&function, put));
  SAME (function != nullptr, true);
  int grid, block;
  CHECK (cudaOccupancyMaxPotentialBlockSizeVariableSMem (&grid, &block, put, [] (int threads) { return threads * 4; }));
  SAME (block, 1024);
}

static void
streams ()
{
  cudaStream_t a, b;
  unsigned long long one, other;
  int device = 5;
  CHECK (cudaStreamCreate (&a));
  CHECK (cudaStreamCreate (&b));
  CHECK (cudaStreamGetId (a, &one));
  CHECK (cudaStreamGetId (b, &other));
  SAME (one != other, true);
  CHECK (cudaStreamGetDevice (a, &device));
  SAME (device, 0);
  cudaStreamAttrValue value = {}, found;
  value.accessPolicyWindow.hitRatio = 0.5f;
  CHECK (cudaStreamSetAttribute (a, cudaStreamAttributeAccessPolicyWindow, &value));
  CHECK (cudaStreamGetAttribute (b, cudaStreamAttributeAccessPolicyWindow, &found));
  SAME (found.accessPolicyWindow.hitRatio, 0);
  CHECK (cudaStreamCopyAttributes (b, a));
  CHECK (cudaStreamGetAttribute (b, cudaStreamAttributeAccessPolicyWindow, &found));
  SAME (found.accessPolicyWindow.hitRatio, 0.5f);
  SAME (cudaStreamSetAttribute (a, cudaLaunchAttributeCooperative, &value), cudaErrorInvalidValue);
  CHECK (cudaCtxResetPersistingL2Cache ());
  CHECK (cudaInitDevice (0, 0, 0));
  SAME (cudaInitDevice (99, 0, 0), cudaErrorInvalidDevice);
  SAME (cudaDeviceGetP2PAttribute (&device, cudaDevP2PAttrAccessSupported, 0, 0), cudaErrorInvalidDevice);
  void *entry = nullptr;
  cudaDriverEntryPointQueryResult result;
  CHECK (cudaGetDriverEntryPoint ("cuCtxGetCurrent", &entry, cudaEnableDefault, &result));
  SAME (entry != nullptr && result == cudaDriverEntryPointSuccess, true);
}

static void
pools ()
{
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  cudaMemPool_t pool;
  cudaMemAccessDesc access = { { cudaMemLocationTypeDevice, 0 }, cudaMemAccessFlagsProtReadWrite };
  cudaMemAccessFlags flags;
  int *memory;
  CHECK (cudaMemPoolCreate (&pool, &properties));
  CHECK (cudaMemPoolSetAccess (pool, &access, 1));
  CHECK (cudaMemPoolGetAccess (&flags, pool, &access.location));
  SAME (flags, cudaMemAccessFlagsProtReadWrite);
  CHECK (cudaMallocAsync (&memory, 100, pool, 0));
  CHECK (cudaFreeAsync (memory, 0));
  CHECK (cudaMemPoolDestroy (pool));
}

static void
descriptions ()
{
  cudaChannelFormatDesc pair = cudaCreateChannelDesc<short2> ();
  cudaArray_t array;
  cudaResourceDesc of = {}, found;
  cudaTextureDesc how = {}, told;
  cudaTextureObject_t texture;
  cudaSurfaceObject_t surface;
  CHECK (cudaMallocArray (&array, &pair, 8, 8, cudaArraySurfaceLoadStore));
  of.resType = cudaResourceTypeArray;
  of.res.array.array = array;
  how.addressMode[1] = cudaAddressModeMirror;
  how.readMode = cudaReadModeNormalizedFloat;
  how.normalizedCoords = 1;
  how.borderColor[2] = 3;
  CHECK (cudaCreateTextureObject (&texture, &of, &how, nullptr));
  CHECK (cudaGetTextureObjectResourceDesc (&found, texture));
  SAME (found.resType == cudaResourceTypeArray && found.res.array.array == array, true);
  CHECK (cudaGetTextureObjectTextureDesc (&told, texture));
  SAME (told.addressMode[1], cudaAddressModeMirror);
  SAME (told.readMode, cudaReadModeNormalizedFloat);
  SAME (told.normalizedCoords, 1);
  SAME (told.borderColor[2], 3);
  CHECK (cudaCreateSurfaceObject (&surface, &of));
  CHECK (cudaGetSurfaceObjectResourceDesc (&found, surface));
  SAME (found.res.array.array == array, true);
  SAME (cudaGetTextureObjectResourceDesc (&found, surface), cudaErrorInvalidValue);
  float2 *line;
  CHECK (cudaMalloc (&line, 64 * sizeof *line));
  of = {};
  of.resType = cudaResourceTypeLinear;
  of.res.linear.devPtr = line;
  of.res.linear.desc = cudaCreateChannelDesc<float2> ();
  of.res.linear.sizeInBytes = 64 * sizeof *line;
  how = {};
  CHECK (cudaCreateTextureObject (&texture, &of, &how, nullptr));
  CHECK (cudaGetTextureObjectResourceDesc (&found, texture));
  SAME (found.res.linear.devPtr == line && found.res.linear.sizeInBytes == 512, true);
  SAME (std::memcmp (&found.res.linear.desc, &of.res.linear.desc, sizeof of.res.linear.desc), 0);
}

int
main ()
{
  int *array;
  CHECK (cudaMallocManaged (&array, 128));
  launches (array);
  streams ();
  pools ();
  descriptions ();
  std::printf ("calls: right\n");
  return 0;
}
