/* __managed__ variables before any kernel has run, by calls of all kinds, and where they end.  */
#include <cstdio>
#include <cstring>

__managed__ int grid[4][8] = { { 7 } };
__managed__ int word = 5;
__managed__ int last[3];
int plain[8];

__global__ void
over (int n)
{
  word = n;
}

__global__ void
stores (int *p)
{
  *p = 1;
}

static void
tell (const char *name, const void *p)
{
  cudaPointerAttributes a;
  cudaPointerGetAttributes (&a, p);
  printf ("%s: %s\n", name, a.type == cudaMemoryTypeManaged ? "managed" : a.type == 0 ? "plain" : "other");
}

static void
say (const char *name, cudaError_t error)
{
  printf ("%s: %s\n", name, cudaGetErrorName (error));
  cudaGetLastError ();
}

int
main (int count, char **)
{
  if (count > 1)
    {
      int *end = last + 3;
      end = &word + 1 > end ? &word + 1 : end;
      end = &grid[4][0] > end ? &grid[4][0] : end;
      tell ("behind", end);
      stores<<<1, 1>>> (end);
      say ("stores", cudaDeviceSynchronize ());
      return 0;
    }
  tell ("first", &grid);
  tell ("inside", &grid[3][7]);
  tell ("word", &word);
  tell ("own", plain);
  int two[2][2] = { { 1, 2 }, { 3, 4 } };
  say ("memset", cudaMemset (grid, 0, sizeof grid));
  say ("memset2D", cudaMemset2D (&grid[0][0], 32, 1, 8, 2));
  say ("memcpy2D", cudaMemcpy2D (&grid[2][0], 32, two, 8, 8, 2, cudaMemcpyHostToDevice));
  printf ("%x %x %x %d %d\n", grid[0][0], grid[1][1], grid[0][2], grid[2][1], grid[3][1]);
  memset (two, 0, sizeof two);
  say ("back", cudaMemcpy2D (two, 8, &grid[2][0], 32, 8, 2, cudaMemcpyDeviceToHost));
  printf ("%d %d\n", two[0][1], two[1][1]);
  cudaStream_t s;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamCreate (&s);
  say ("begin", cudaStreamBeginCapture (s, cudaStreamCaptureModeGlobal));
  over<<<1, 1, 0, s>>> (9);
  say ("captured", cudaMemsetAsync (last, 2, sizeof last, s));
  say ("copied", cudaMemcpyAsync (&grid[0][0], &word, 4, cudaMemcpyDeviceToDevice, s));
  say ("end", cudaStreamEndCapture (s, &graph));
  cudaGraphInstantiate (&exec, graph, 0);
  printf ("%d %x\n", word, last[2]);
  say ("launch", cudaGraphLaunch (exec, s));
  say ("wait", cudaStreamSynchronize (s));
  printf ("%d %x %d\n", word, last[2], grid[0][0]);
  say ("too far", cudaMemset (grid, 0, 1 << 20));
  say ("plain", cudaMemset (plain, 0, 4));
  say ("free", cudaFree (&word));
  say ("advise", cudaMemAdvise (&grid, 4, cudaMemAdviseSetReadMostly, 0));
  say ("prefetch", cudaMemPrefetchAsync (grid, sizeof grid, 0));
  printf ("%d\n", word);
}
