/* Copies and fills of more device memory than there is. */
#include <cstdio>
#include <cstdlib>
static int table[200];
int main ()
{
  int *device;
  int *host = (int *) std::malloc (400);
  cudaMalloc (&device, 400);
  std::printf ("%s\n", cudaGetErrorString (cudaMemcpy (device, table, 800, cudaMemcpyHostToDevice)));
  std::printf ("%s\n", cudaGetErrorString (cudaMemcpy (table, device + 50, 400, cudaMemcpyDeviceToHost)));
  std::printf ("%s\n", cudaGetErrorString (cudaMemcpy (table, device, 400, cudaMemcpyHostToDevice)));
  std::printf ("%s\n", cudaGetErrorString (cudaMemset (device + 1, 0, 400)));
  std::printf ("%s\n", cudaGetErrorString (cudaMemset (host, 0, 400)));
  std::printf ("%s\n", cudaGetErrorString (cudaMemset (device, 0, 400)));
  std::free (host);
  return cudaFree (device);
}
