/* Cube maps: each face by directions to its elements' middles, between them, in layers, and written by a surface.  */
#include "check.h"
#include <vector>

/* The direction to a place of a face, each of [-1, 1].  */
__host__ __device__ static float3
direction (int face, float s, float t)
{
  switch (face)
    {
    case 0: return make_float3 (1, -t, -s);
    case 1: return make_float3 (-1, -t, s);
    case 2: return make_float3 (s, 1, t);
    case 3: return make_float3 (s, -1, -t);
    case 4: return make_float3 (s, -t, 1);
    default: return make_float3 (-s, -t, -1);
    }
}

__global__ void
faces (float *out, cudaTextureObject_t texture, int n, float scale, float shift, int layer)
{
  int x = threadIdx.x, y = threadIdx.y, face = blockIdx.x;
  float3 d = direction (face, (2 * x + 1.f + shift) / n - 1, (2 * y + 1.f) / n - 1);
  d = make_float3 (d.x * scale, d.y * scale, d.z * scale);
  out[(face * n + y) * n + x] = layer < 0 ? texCubemap<float> (texture, d.x, d.y, d.z)
                                          : texCubemapLayered<float> (texture, d.x, d.y, d.z, layer);
}

__global__ void
paint (cudaSurfaceObject_t surface)
{
  int x = threadIdx.x, y = threadIdx.y, face = blockIdx.x;
  surfCubemapwrite (surfCubemapread<float> (surface, x * 4, y, face) * 2, surface, x * 4, y, face);
}

int
main ()
{
  const int n = 8, layers = 3, all = n * n * 6;
  std::vector<float> values (all * layers);
  for (size_t i = 0; i < values.size (); i++)
    values[i] = (float) (i * 7 % 1009);
  float *out;
  cudaChannelFormatDesc single = cudaCreateChannelDesc<float> ();
  CHECK (cudaMallocManaged (&out, all * sizeof *out));
  for (int count : { 1, layers })
    {
      cudaArray_t array;
      unsigned kind = cudaArrayCubemap | cudaArraySurfaceLoadStore | (count > 1 ? cudaArrayLayered : 0);
      CHECK (cudaMalloc3DArray (&array, &single, make_cudaExtent (n, n, 6 * count), kind));
      cudaMemcpy3DParms copy = {};
      copy.srcPtr = make_cudaPitchedPtr (values.data (), n * sizeof (float), n, n);
      copy.dstArray = array;
      copy.extent = make_cudaExtent (n, n, 6 * count);
      copy.kind = cudaMemcpyHostToDevice;
      CHECK (cudaMemcpy3D (&copy));
      cudaResourceDesc of = {};
      of.resType = cudaResourceTypeArray;
      of.res.array.array = array;
      cudaTextureDesc how = {};
      how.filterMode = cudaFilterModeLinear;
      how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = cudaAddressModeWrap; /* not heeded */
      how.normalizedCoords = 1;
      cudaTextureObject_t texture;
      CHECK (cudaCreateTextureObject (&texture, &of, &how, nullptr));
      for (int layer = count > 1 ? 0 : -1; layer < (count > 1 ? layers : 0); layer++)
        {
          const float *from = values.data () + (layer > 0 ? layer : 0) * all;
          faces<<<6, dim3 (n, n)>>> (out, texture, n, 3.5f, 0, layer);
          CHECK (cudaDeviceSynchronize ());
          for (int i = 0; i < all; i++)
            SAME (fabs (out[i] - from[i]) < 1e-3, true);
          faces<<<6, dim3 (n, n)>>> (out, texture, n, 1, 1, layer); /* half an element further: the mean of two */
          CHECK (cudaDeviceSynchronize ());
          for (int i = 0; i < all; i++)
            if (i % n < n - 1)
              SAME (fabs (out[i] - (from[i] + from[i + 1]) / 2) < 3, true);
        }
      if (count == 1)
        {
          cudaSurfaceObject_t surface;
          CHECK (cudaCreateSurfaceObject (&surface, &of));
          paint<<<6, dim3 (n, n)>>> (surface);
          faces<<<6, dim3 (n, n)>>> (out, texture, n, 0.25f, 0, -1);
          CHECK (cudaDeviceSynchronize ());
          for (int i = 0; i < all; i++)
            SAME (fabs (out[i] - 2 * values[i]) < 1e-2, true);
        }
      CHECK (cudaDestroyTextureObject (texture));
      CHECK (cudaFreeArray (array));
    }
  std::printf ("cubes: right\n");
  return 0;
}
