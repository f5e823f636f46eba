/* tex2Dgather: a component of the four elements around a place, from the lower left on.  */
#include <cstdio>

__global__ void
gather (cudaTextureObject_t t, float4 *to)
{
  float x = 1 + threadIdx.x;
  to[2 * threadIdx.x] = tex2Dgather<float4> (t, x, 2.f);
  tex2Dgather (&to[2 * threadIdx.x + 1], t, x, 2.f, 1);
}

int
main ()
{
  float2 rows[4][4];
  for (int y = 0; y < 4; y++)
    for (int x = 0; x < 4; x++)
      rows[y][x] = make_float2 (10 * y + x, -10 * y - x);
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float2> ();
  cudaArray_t array;
  cudaMallocArray (&array, &format, 4, 4, cudaArrayTextureGather);
  cudaMemcpy2DToArray (array, 0, 0, rows, sizeof rows[0], sizeof rows[0], 4, cudaMemcpyHostToDevice);
  cudaResourceDesc of = {};
  of.resType = cudaResourceTypeArray;
  of.res.array.array = array;
  cudaTextureDesc how = {};
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
  how.readMode = cudaReadModeElementType;
  cudaTextureObject_t t;
  cudaCreateTextureObject (&t, &of, &how, nullptr);
  float4 *to;
  cudaMallocManaged (&to, 8 * sizeof *to);
  gather<<<1, 4>>> (t, to);
  printf ("%s\n", cudaGetErrorName (cudaDeviceSynchronize ()));
  for (int i = 0; i < 8; i++)
    printf ("%g %g %g %g\n", to[i].x, to[i].y, to[i].z, to[i].w);
}
