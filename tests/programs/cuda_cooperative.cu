/* Cooperative groups: a grid whose blocks wait for each other, tiles, the threads that are together.  */
#include <cooperative_groups.h>
#include <cstdio>

namespace cg = cooperative_groups;

/* In each step a block adds what its neighbours had before it.  */
__global__ void
diffuse (int *from, int *to, int steps)
{
  cg::grid_group grid = cg::this_grid ();
  int n = grid.num_blocks (), b = grid.block_rank ();
  for (int i = 0; i < steps; i++)
    {
      if (cg::this_thread_block ().thread_rank () == 0)
        to[b] = from[(b + n - 1) % n] + from[b] + from[(b + 1) % n];
      grid.sync ();
      int *was = from;
      from = to;
      to = was;
    }
}

__global__ void
groups (int *out)
{
  auto block = cg::this_thread_block ();
  auto tile = cg::tiled_partition<8> (block);
  int sum = block.thread_rank ();
  for (unsigned by = tile.size () / 2; by; by /= 2)
    sum += tile.shfl_down (sum, by);
  if (tile.thread_rank () == 0)
    out[tile.meta_group_rank ()] = sum;
  if (block.thread_rank () % 3 == 1)
    {
      auto some = cg::coalesced_threads ();
      if (some.thread_rank () == some.size () - 1)
        out[8 + block.thread_rank () / 32] = some.size () * 100 + some.shfl (block.thread_rank (), 1);
    }
  block.sync ();
  int both = tile.all (1) * 10 + tile.any (0);
  if (block.thread_rank () == 0)
    {
      out[10] = cg::this_grid ().is_valid ();
      out[11] = both;
      out[12] = cg::this_grid ().size ();
    }
}

#define CHECK(call) \
  if (cudaError_t e = call) \
    { \
      printf ("%s: %s\n", #call, cudaGetErrorName (e)); \
      return 1; \
    }

int
main ()
{
  enum { BLOCKS = 16, STEPS = 5 };
  int host[BLOCKS], want[BLOCKS], next[BLOCKS], *from, *to, steps = STEPS, can = 0;
  CHECK (cudaDeviceGetAttribute (&can, cudaDevAttrCooperativeLaunch, 0));
  CHECK (cudaMalloc (&from, sizeof host));
  CHECK (cudaMalloc (&to, sizeof host));
  for (int i = 0; i < BLOCKS; i++)
    host[i] = want[i] = i * i;
  for (int s = 0; s < STEPS; s++)
    {
      for (int i = 0; i < BLOCKS; i++)
        next[i] = want[(i + BLOCKS - 1) % BLOCKS] + want[i] + want[(i + 1) % BLOCKS];
      for (int i = 0; i < BLOCKS; i++)
        want[i] = next[i];
    }
  CHECK (cudaMemcpy (from, host, sizeof host, cudaMemcpyHostToDevice));
  void *arguments[] = { &from, &to, &steps };
  CHECK (cudaLaunchCooperativeKernel (diffuse, BLOCKS, 64, arguments));
  CHECK (cudaMemcpy (host, STEPS % 2 ? to : from, sizeof host, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < BLOCKS; i++)
    wrong += host[i] != want[i];
  printf ("%d %d wrong\n", can, wrong);
  groups<<<1, 64>>> (to);
  CHECK (cudaMemcpy (host, to, 13 * sizeof *host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 13; i++)
    printf (" %d", host[i]);
  printf ("\n%s\n", cudaGetErrorName (cudaLaunchCooperativeKernel (diffuse, 100000, 64, arguments)));
  diffuse<<<2, 32>>> (from, to, 1);
  printf ("%s\n", cudaGetErrorName (cudaDeviceSynchronize ()));
}
