// Arrays, surfaces of them, textures of layers, memory pools: by the runtime's calls.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

#define OK(call) \
  do { cudaError_t r = call; if (r) { printf ("line %d: %s\n", __LINE__, cudaGetErrorName (r)); return 1; } } while (0)

template <class T> __global__ void turn (cudaSurfaceObject_t s, int width)
{
  int x = threadIdx.x, y = threadIdx.y;
  T mine = surf2Dread<T> (s, x * sizeof (T), y), other;
  surf2Dread (&other, s, (width - 1 - x) * (int) sizeof (T), y);
  __syncthreads ();
  surf2Dwrite (other, s, x * sizeof (T), y);
  surf2Dwrite (mine, s, -1600, y, cudaBoundaryModeZero);
}

template <class T> int turned (int width, int height)
{
  cudaArray_t array;
  cudaSurfaceObject_t surface;
  cudaResourceDesc resource = {};
  T rows[8][8], back[8][8];
  memset (rows, 0, sizeof rows);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      *(unsigned char *) &rows[y][x] = 16 * y + x;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<T> ();
  OK (cudaMallocArray (&array, &format, width, height, cudaArraySurfaceLoadStore));
  OK (cudaMemcpy2DToArray (array, 0, 0, rows, sizeof rows[0], width * sizeof (T), height, cudaMemcpyHostToDevice));
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  OK (cudaCreateSurfaceObject (&surface, &resource));
  turn<T><<<1, dim3 (width, height)>>> (surface, width);
  OK (cudaMemcpy2DFromArray (back, sizeof back[0], array, 0, 0, width * sizeof (T), height, cudaMemcpyDeviceToHost));
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      if (memcmp (&back[y][x], &rows[y][width - 1 - x], sizeof (T)))
        {
          printf ("%d bytes: row %d, element %d\n", (int) sizeof (T), y, x);
          return 1;
        }
  OK (cudaDestroySurfaceObject (surface));
  OK (cudaFreeArray (array));
  return 0;
}

__global__ void look (cudaTextureObject_t layers, cudaTextureObject_t cuboid, float *to)
{
  to[threadIdx.x] = tex2DLayered<float> (layers, 1.5f, 0.5f, threadIdx.x)
                    + 100 * tex3D<float> (cuboid, 1.5f, 0.5f, threadIdx.x + 0.5f);
}

int layers ()
{
  cudaArray_t arrays[2];
  cudaTextureObject_t textures[2];
  cudaTextureDesc how = {};
  float numbers[3][2][4], *to, found[3];
  for (int i = 0; i < 24; i++)
    (&numbers[0][0][0])[i] = i;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float> (), told;
  cudaExtent size = make_cudaExtent (4, 2, 3), extent;
  unsigned flags;
  for (int i = 0; i < 2; i++)
    {
      cudaMemcpy3DParms copy = {};
      cudaResourceDesc resource = {};
      OK (cudaMalloc3DArray (&arrays[i], &format, size, i ? cudaArrayDefault : cudaArrayLayered));
      copy.srcPtr = make_cudaPitchedPtr (numbers, 16, 4, 2);
      copy.dstArray = arrays[i];
      copy.extent = size;
      copy.kind = cudaMemcpyHostToDevice;
      OK (cudaMemcpy3D (&copy));
      resource.resType = cudaResourceTypeArray;
      resource.res.array.array = arrays[i];
      OK (cudaCreateTextureObject (&textures[i], &resource, &how, NULL));
    }
  OK (cudaArrayGetInfo (&told, &extent, &flags, arrays[0]));
  if (told.x != 32 || told.f != cudaChannelFormatKindFloat || extent.depth != 3 || flags != cudaArrayLayered)
    return 1;
  OK (cudaMalloc (&to, sizeof found));
  look<<<1, 3>>> (textures[0], textures[1], to);
  OK (cudaMemcpy (found, to, sizeof found, cudaMemcpyDeviceToHost));
  printf ("%g %g %g\n", found[0], found[1], found[2]);
  OK (cudaFree (to));
  for (int i = 0; i < 2; i++)
    {
      OK (cudaDestroyTextureObject (textures[i]));
      OK (cudaFreeArray (arrays[i]));
    }
  return 0;
}

int lines ()
{
  cudaArray_t array, other;
  char back[16] = "";
  cudaChannelFormatDesc format = cudaCreateChannelDesc<char> ();
  OK (cudaMallocArray (&array, &format, 4, 4));
  OK (cudaMallocArray (&other, &format, 4, 4));
  OK (cudaMemcpyToArray (array, 2, 0, "cdefghijklmno", 13, cudaMemcpyHostToDevice));
  OK (cudaMemcpy2DArrayToArray (other, 0, 0, array, 0, 0, 4, 4, cudaMemcpyDeviceToDevice));
  OK (cudaMemcpyFromArray (back, other, 2, 0, 13, cudaMemcpyDeviceToHost));
  printf ("%.13s\n", back);
  int refused = cudaMemcpyToArray (array, 2, 3, "abc", 3, cudaMemcpyHostToDevice) == cudaErrorInvalidValue;
  OK (cudaFreeArray (array));
  OK (cudaFreeArray (other));
  return !refused;
}

int pools ()
{
  cudaMemPool_t pool;
  int *memory, number = 0;
  unsigned long long used = 0;
  OK (cudaDeviceGetDefaultMemPool (&pool, 0));
  OK (cudaMallocFromPoolAsync (&memory, 4096, pool, 0));
  OK (cudaMemPoolGetAttribute (pool, cudaMemPoolAttrUsedMemCurrent, &used));
  OK (cudaMemsetAsync (memory, 1, 4, 0));
  OK (cudaMemcpy (&number, memory, 4, cudaMemcpyDeviceToHost));
  OK (cudaFreeAsync (memory, 0));
  printf ("%#x, %d bytes\n", number, (int) used);
  return 0;
}

int main ()
{
  return turned<unsigned char> (8, 3) || turned<short> (5, 2) || turned<float> (8, 8) || turned<float2> (4, 4)
         || turned<float4> (3, 2) || layers () || lines () || pools ();
}
