// Which memory an address is of, and conversions.
#include <cstdio>
__constant__ int table[4] = {1, 2, 3, 4};
__device__ int global_word = 5;
__global__ void look (int *out)
{
  __shared__ int tile[32];
  tile[threadIdx.x] = threadIdx.x;
  __syncthreads ();
  int *back = (int *) __cvta_shared_to_generic (__cvta_generic_to_shared (tile + 7));
  if (threadIdx.x == 0)
    {
      out[0] = __isShared (tile) && !__isGlobal (tile);
      out[1] = __isGlobal (&global_word) && !__isShared (&global_word);
      out[2] = *back;
      out[3] = __isGlobal (out);
    }
}
int main ()
{
  int *out, host[4];
  cudaMalloc (&out, sizeof host);
  look<<<1, 32>>> (out);
  cudaMemcpy (host, out, sizeof host, cudaMemcpyDeviceToHost);
  printf ("%d %d %d %d\n", host[0], host[1], host[2], host[3]);
}
