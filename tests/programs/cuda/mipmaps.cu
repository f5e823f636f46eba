/* Mipmapped arrays: each level made of the one before by a kernel that reads it as a texture and writes the next as a
   surface; then read by level and by steps, nearest and between.  A surface reference besides.  */
#include "check.h"
#include <vector>

surface<void, cudaSurfaceType2D> target;

/* An element of the next level: the mean of four.  */
__global__ void
halve (cudaTextureObject_t from, cudaSurfaceObject_t to, int width, int height)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height)
    return;
  surf2Dwrite (tex2D<float> (from, (x + 0.5f) / width, (y + 0.5f) / height), to, x * (int) sizeof (float), y);
}

__global__ void
by_level (float *to, cudaTextureObject_t texture, float level)
{
  to[threadIdx.x] = tex2DLod<float> (texture, (threadIdx.x % 4 + 0.5f) / 4, (threadIdx.x / 4 + 0.5f) / 4, level);
}

__global__ void
by_steps (float *to, cudaTextureObject_t texture, float2 right, float2 down)
{
  to[threadIdx.x] = tex2DGrad<float> (texture, (threadIdx.x % 4 + 0.5f) / 4, (threadIdx.x / 4 + 0.5f) / 4, right, down);
}

__global__ void
clear ()
{
  int x = threadIdx.x * (int) sizeof (float), y = threadIdx.y;
  float old;
  surf2Dread (&old, target, x, y);
  surf2Dwrite (surf2Dread<float> (target, x, y) - old + 7, target, x, y);
}

static cudaTextureObject_t
texture_of (cudaArray_t array, cudaMipmappedArray_t mipmap, cudaTextureFilterMode between)
{
  cudaResourceDesc of = {};
  of.resType = mipmap ? cudaResourceTypeMipmappedArray : cudaResourceTypeArray;
  if (mipmap)
    of.res.mipmap.mipmap = mipmap;
  else
    of.res.array.array = array;
  cudaTextureDesc how = {};
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
  how.filterMode = cudaFilterModeLinear;
  how.normalizedCoords = 1;
  how.mipmapFilterMode = between;
  how.maxMipmapLevelClamp = 10;
  cudaTextureObject_t texture;
  CHECK (cudaCreateTextureObject (&texture, &of, &how, nullptr));
  return texture;
}

int
main ()
{
  const int n = 64, levels = 7;
  std::vector<std::vector<float>> want (levels);
  cudaMipmappedArray_t mipmap;
  cudaChannelFormatDesc single = cudaCreateChannelDesc<float> ();
  CHECK (cudaMallocMipmappedArray (&mipmap, &single, make_cudaExtent (n, n, 0), 99, cudaArraySurfaceLoadStore));
  cudaArray_t before = nullptr, level;
  SAME (cudaGetMipmappedArrayLevel (&level, mipmap, levels), cudaErrorInvalidValue);
  cudaGetLastError ();
  for (int at = 0, size = n; at < levels; at++, size /= 2)
    {
      cudaExtent extent;
      CHECK (cudaGetMipmappedArrayLevel (&level, mipmap, at));
      CHECK (cudaArrayGetInfo (nullptr, &extent, nullptr, level));
      SAME (extent.width, (size_t) size);
      SAME (extent.height, (size_t) size);
      want[at].resize (size * size);
      for (int i = 0; i < size * size; i++)
        {
          const float *of = at ? &want[at - 1][i / size * 2 * (2 * size) + i % size * 2] : nullptr;
          want[at][i] = at ? (of[0] + of[1] + of[2 * size] + of[2 * size + 1]) / 4 : i * 37 % 256;
        }
      if (at == 0)
        CHECK (cudaMemcpy2DToArray (level, 0, 0, want[0].data (), n * 4, n * 4, n, cudaMemcpyHostToDevice));
      else
        {
          cudaTextureObject_t from = texture_of (before, nullptr, cudaFilterModePoint);
          cudaSurfaceObject_t to;
          cudaResourceDesc of = {};
          of.resType = cudaResourceTypeArray;
          of.res.array.array = level;
          CHECK (cudaCreateSurfaceObject (&to, &of));
          halve<<<dim3 (4, 4), dim3 (16, 16)>>> (from, to, size, size);
          CHECK (cudaDeviceSynchronize ());
          CHECK (cudaDestroySurfaceObject (to));
          CHECK (cudaDestroyTextureObject (from));
        }
      std::vector<float> got (size * size);
      CHECK (cudaMemcpy2DFromArray (got.data (), size * 4, level, 0, 0, size * 4, size, cudaMemcpyDeviceToHost));
      for (int i = 0; i < size * size; i++)
        SAME (got[i], want[at][i]);
      before = level;
    }

  float *out;
  CHECK (cudaMallocManaged (&out, 16 * sizeof *out));
  cudaTextureObject_t nearest = texture_of (nullptr, mipmap, cudaFilterModePoint);
  cudaTextureObject_t between = texture_of (nullptr, mipmap, cudaFilterModeLinear);
  cudaResourceDesc told;
  CHECK (cudaGetTextureObjectResourceDesc (&told, nearest));
  SAME (told.res.mipmap.mipmap == mipmap, true);
  by_level<<<1, 16>>> (out, nearest, 4.25f); /* 4 x 4 */
  CHECK (cudaDeviceSynchronize ());
  for (int i = 0; i < 16; i++)
    SAME (out[i], want[4][i]);
  by_level<<<1, 16>>> (out, between, 20); /* the last one */
  CHECK (cudaDeviceSynchronize ());
  for (int i = 0; i < 16; i++)
    SAME (out[i], want[6][0]);
  by_steps<<<1, 16>>> (out, nearest, make_float2 (0, 0.25f), make_float2 (0.01f, 0)); /* 16 elements a step: level 4 */
  CHECK (cudaDeviceSynchronize ());
  for (int i = 0; i < 16; i++)
    SAME (out[i], want[4][i]);

  CHECK (cudaGetMipmappedArrayLevel (&level, mipmap, 4));
  CHECK (cudaBindSurfaceToArray (target, level));
  clear<<<1, dim3 (4, 4)>>> ();
  CHECK (cudaDeviceSynchronize ());
  by_level<<<1, 16>>> (out, nearest, 4);
  CHECK (cudaDeviceSynchronize ());
  SAME (out[11], 7.0f);
  CHECK (cudaDestroyTextureObject (nearest));
  CHECK (cudaDestroyTextureObject (between));
  CHECK (cudaFreeMipmappedArray (mipmap));
  CHECK (cudaFreeMipmappedArray (nullptr));
  std::puts ("mipmaps: right");
}
