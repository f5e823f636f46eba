/* Texture references bound to arrays, and how large the device says that arrays may be.  */
#include "check.h"

texture<float, 2, cudaReadModeElementType> picture;

__global__ void read (float *to) { to[threadIdx.x] = tex2D (picture, threadIdx.x + 0.5f, 1.5f); }

static int
made (int width, int height, int depth, unsigned flags)
{
  cudaArray_t array;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<unsigned char> ();
  cudaError_t result = cudaMalloc3DArray (&array, &format, make_cudaExtent (width, height, depth), flags);
  if (result == cudaSuccess)
    CHECK (cudaFreeArray (array));
  else
    cudaGetLastError ();
  return result;
}

int
main ()
{
  cudaDeviceProp device;
  cudaArray_t array;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float> ();
  float in[2][8], *out;
  int width;
  for (int i = 0; i < 16; i++)
    in[i / 8][i % 8] = i;
  CHECK (cudaMallocManaged (&out, 8 * sizeof (float)));
  CHECK (cudaMallocArray (&array, &format, 8, 2));
  CHECK (cudaMemcpy2DToArray (array, 0, 0, in, 32, 32, 2, cudaMemcpyHostToDevice));
  CHECK (cudaBindTextureToArray (picture, array, format));
  read<<<1, 8>>> (out);
  CHECK (cudaDeviceSynchronize ());
  SAME (out[5], 13.0f);
  CHECK (cudaUnbindTexture (picture));
  CHECK (cudaBindTextureToArray (picture, array));
  read<<<1, 8>>> (out);
  CHECK (cudaDeviceSynchronize ());
  SAME (out[6], 14.0f);
  CHECK (cudaUnbindTexture (picture));
  CHECK (cudaFreeArray (array));

  CHECK (cudaGetDeviceProperties (&device, 0));
  CHECK (cudaDeviceGetAttribute (&width, cudaDevAttrMaxTexture2DWidth, 0));
  SAME (width, device.maxTexture2D[0]);
  SAME (made (device.maxTexture1D, 0, 0, 0), cudaSuccess);
  SAME (made (device.maxTexture1D + 1, 0, 0, 0), cudaErrorInvalidValue);
  SAME (made (1, device.maxTexture2D[1], 0, 0), cudaSuccess);
  SAME (made (1, device.maxTexture2D[1] + 1, 0, 0), cudaErrorInvalidValue);
  SAME (made (1, 1, device.maxTexture3D[2], 0), cudaSuccess);
  SAME (made (1, 1, device.maxTexture3D[2] + 1, 0), cudaErrorInvalidValue);
  SAME (made (1, 0, device.maxTexture1DLayered[1], cudaArrayLayered), cudaSuccess);
  SAME (made (1, 0, device.maxTexture1DLayered[1] + 1, cudaArrayLayered), cudaErrorInvalidValue);
  int cubes = 6 * device.maxSurfaceCubemapLayered[1];
  SAME (made (2, 2, cubes, cudaArrayLayered | cudaArrayCubemap | cudaArraySurfaceLoadStore), cudaSuccess);
  SAME (made (2, 2, cubes + 6, cudaArrayLayered | cudaArrayCubemap), cudaErrorInvalidValue);
  std::printf ("bound: right\n");
  return 0;
}
