/* Copies of more than the program has. */
#include <cstdio>
static int table[100];
int main ()
{
  char *device, *host;
  cudaMalloc (&device, 64 << 20);
  cudaMallocHost (&host, 4096);
  std::printf ("%s\n", cudaGetErrorString (cudaMemcpy (table, device, 64 << 20, cudaMemcpyDeviceToHost)));
  std::printf ("%s\n", cudaGetErrorString (cudaMemcpy (device, (char *) 16, 4, cudaMemcpyHostToDevice)));
  std::printf ("%s\n", cudaGetErrorString (cudaMemcpy (table, device, sizeof table, cudaMemcpyDeviceToHost)));
  cudaFreeHost (host);
  return cudaFree (device);
}
