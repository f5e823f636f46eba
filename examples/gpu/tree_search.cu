/* Keys looked up in a tree: a warp for each, whose lanes look at all keys of a node, and vote.  */
#include "tree_search.h"
#include "common.cuh"

/* `all` is a parameter of the kernel: its numbers go with the launch, its keys are the device's.  */
__global__ void
look_up_one (tree all, const int *wanted, int *places, int n)
{
  int i = (blockIdx.x * blockDim.x + threadIdx.x) / fan, lane = threadIdx.x % fan, place = 0;
  if (i >= n)
    return;
  int key = wanted[i];
  for (int level = 0; level < all.levels && place >= 0; level++)
    {
      int own = all.keys[all.starts[level] + place * fan + lane];
      int before = __popc (__ballot_sync (0xffffffff, own <= key)); /* they are in order */
      place = before ? place * fan + before - 1 : -1;
    }
  if (lane == 0)
    places[i] = place >= 0 && all.keys[all.starts[all.levels - 1] + place] == key ? place : -1;
}

static void
look_up (const tree *all, const int *wanted, int *places, int n)
{
  int *keys = to_device (wanted, n), *found = device_array<int> (n);
  tree device = *all;
  device.keys = to_device (all->keys, all->starts[all->levels]);
  kernels_begin ();
  look_up_one<<<(n + 3) / 4, 4 * fan>>> (device, keys, found, n);
  WAIT_FOR_KERNELS ();
  kernels_end ();
  to_host (places, found, n);
  device_free ({ keys, found, device.keys });
}
