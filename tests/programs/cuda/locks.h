/* What the programs of locks share: the locks and what they guard, and a launch on new ones.  */
#include "check.h"
#include <cuda_runtime.h>

struct counters
{
  int lock, ticket, serving, sum, tries;
  int locks[8], sums[8];
  int *where; /* the lock */
};

static const int blocks = 3, threads = 96, all = blocks * threads;

/* What by_ticket leaves: it fails if a thread is left out, or comes before its turn is over.  */
static int
by_turns ()
{
  unsigned want = 0;
  for (int i = 0; i < all; i++)
    want = want * 3 + 1;
  return (int) want;
}

static counters
after (void (*launch) (counters *))
{
  counters *device, host;
  CHECK (cudaMalloc (&device, sizeof (counters)));
  cudaMemset (device, 0, sizeof (counters));
  int *where = &device->lock;
  cudaMemcpy (&device->where, &where, sizeof where, cudaMemcpyHostToDevice);
  launch (device);
  CHECK (cudaGetLastError ());
  CHECK (cudaDeviceSynchronize ());
  cudaMemcpy (&host, device, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree (device);
  SAME (host.lock, 0);
  return host;
}

/* What of_some leaves, after 4 turns.  */
static void
check_some (const counters &c)
{
  int sums[8] = {};
  for (int turn = 0; turn < 4; turn++)
    for (int t = 0; t < threads; t++)
      sums[(t + turn) % 8] += t % 5 == turn ? 0 : blocks * (t % 4 + (t & 1) * 10);
  for (int i = 0; i < 8; i++)
    SAME (c.sums[i], sums[i]);
}
