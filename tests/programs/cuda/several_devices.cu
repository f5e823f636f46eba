/* Peer access: kernels that use other devices' memory, and what is asked about it.  */
#include "check.h"

constexpr int N = 1 << 16;

__global__ void
scale (float *to, const float *from, float by, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    to[i] = from[i] * by;
}

/* An array over all devices, a part each: a step takes its neighbours' ends out of their memory.  */
__global__ void
smooth (float *to, const float *own, const float *left, const float *right, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    {
      float l = i ? own[i - 1] : left ? left[n - 1] : 0, r = i < n - 1 ? own[i + 1] : right ? right[0] : 0;
      to[i] = (l + own[i] + r) / 4;
    }
}

/* Of two kernels at a time each waits for the other's word.  */
__global__ void
meet (volatile int *own, volatile int *other, int *sum, int rounds)
{
  for (int i = 1; i <= rounds; i++)
    {
      *other = i;
      __threadfence_system ();
      while (*own < i)
        ;
      atomicAdd_system (sum, i);
    }
}

static void
questions (int count)
{
  int can = 7;
  for (int i = 0; i < count; i++)
    for (int j = 0; j < count; j++)
      {
        CHECK (cudaDeviceCanAccessPeer (&can, i, j));
        SAME (can, int (i != j));
      }
  CHECK (cudaDeviceGetP2PAttribute (&can, cudaDevP2PAttrNativeAtomicSupported, 0, 1));
  SAME (can, 1);
  SAME (cudaDeviceCanAccessPeer (&can, 0, count), cudaErrorInvalidDevice);
  CHECK (cudaSetDevice (0));
  SAME (cudaDeviceEnablePeerAccess (0, 0), cudaErrorInvalidDevice);
  SAME (cudaDeviceEnablePeerAccess (count, 0), cudaErrorInvalidDevice);
  SAME (cudaDeviceEnablePeerAccess (1, 5), cudaErrorInvalidValue);
  SAME (cudaDeviceDisablePeerAccess (1), cudaErrorPeerAccessNotEnabled);
  for (int i = 0; i < count; i++)
    {
      CHECK (cudaSetDevice (i));
      for (int j = 0; j < count; j++)
        if (i != j)
          CHECK (cudaDeviceEnablePeerAccess (j, 0));
      SAME (cudaDeviceEnablePeerAccess ((i + 1) % count, 0), cudaErrorPeerAccessAlreadyEnabled);
    }
  cudaGetLastError ();
}

static void
there_and_back (int a, int b)
{
  float *one, *two, *host;
  cudaEvent_t done;
  CHECK (cudaSetDevice (a));
  CHECK (cudaMalloc (&one, N * sizeof *one));
  CHECK (cudaMallocHost (&host, N * sizeof *host));
  CHECK (cudaSetDevice (b));
  CHECK (cudaMalloc (&two, N * sizeof *two));
  CHECK (cudaEventCreate (&done));
  for (int i = 0; i < N; i++)
    host[i] = i % 4096;
  CHECK (cudaMemcpy (one, host, N * sizeof *host, cudaMemcpyDefault));
  for (int i = 0; i < 4; i++)
    CHECK (cudaMemcpyPeer (i % 2 ? one : two, i % 2 ? a : b, i % 2 ? two : one, i % 2 ? b : a, N * sizeof *one));
  scale<<<N / 256, 256>>> (two, one, 2, N); /* reads the other's */
  CHECK (cudaEventRecord (done));
  CHECK (cudaSetDevice (a));
  CHECK (cudaStreamWaitEvent (0, done, 0));
  scale<<<N / 256, 256>>> (two, two, 3, N); /* reads and writes it */
  CHECK (cudaDeviceSynchronize ());
  CHECK (cudaMemcpy (host, two, N * sizeof *host, cudaMemcpyDefault));
  for (int i = 0; i < N; i++)
    SAME (host[i], float (i % 4096 * 6));
  CHECK (cudaFree (one));
  CHECK (cudaFree (two));
  CHECK (cudaFreeHost (host));
}

static void
parts (int count)
{
  constexpr int each = 1000, steps = 10;
  float *now[8], *next[8], *want = new float[count * each], *old = new float[count * each], got[each];
  cudaStream_t streams[8];
  cudaEvent_t done[8];
  for (int i = 0; i < count * each; i++)
    want[i] = float (i * 37 % 101);
  for (int d = 0; d < count; d++)
    {
      CHECK (cudaSetDevice (d));
      CHECK (cudaMalloc (&now[d], sizeof got));
      CHECK (cudaMalloc (&next[d], sizeof got));
      CHECK (cudaMemcpy (now[d], want + d * each, sizeof got, cudaMemcpyDefault));
      CHECK (cudaStreamCreate (&streams[d]));
      CHECK (cudaEventCreateWithFlags (&done[d], cudaEventDisableTiming));
    }
  for (int step = 0; step < steps; step++)
    {
      for (int d = 0; d < count; d++)
        {
          CHECK (cudaSetDevice (d));
          smooth<<<each / 250, 250, 0, streams[d]>>> (next[d], now[d], d ? now[d - 1] : nullptr,
                                                      d < count - 1 ? now[d + 1] : nullptr, each);
          CHECK (cudaEventRecord (done[d], streams[d]));
        }
      for (int d = 0; d < count; d++)
        {
          for (int e = d - 1; e <= d + 1; e++)
            if (e >= 0 && e < count)
              CHECK (cudaStreamWaitEvent (streams[d], done[e], 0));
          float *other = now[d];
          now[d] = next[d];
          next[d] = other;
        }
      for (int i = 0; i < count * each; i++)
        old[i] = want[i];
      for (int i = 0; i < count * each; i++)
        want[i] = ((i ? old[i - 1] : 0) + old[i] + (i < count * each - 1 ? old[i + 1] : 0)) / 4;
    }
  for (int d = 0; d < count; d++)
    {
      CHECK (cudaSetDevice (d));
      CHECK (cudaStreamSynchronize (streams[d]));
      CHECK (cudaMemcpy (got, now[d], sizeof got, cudaMemcpyDefault));
      for (int i = 0; i < each; i++)
        SAME (got[i], want[d * each + i]);
    }
  delete[] want;
  delete[] old;
}

static void
both_at_a_time ()
{
  constexpr int rounds = 20;
  int *words[2], *sum, got;
  for (int d = 0; d < 2; d++)
    {
      CHECK (cudaSetDevice (d));
      CHECK (cudaMalloc (&words[d], sizeof (int)));
      CHECK (cudaMemset (words[d], 0, sizeof (int)));
    }
  CHECK (cudaMalloc (&sum, sizeof (int)));
  CHECK (cudaMemset (sum, 0, sizeof (int)));
  CHECK (cudaDeviceSynchronize ());
  for (int d = 0; d < 2; d++)
    {
      CHECK (cudaSetDevice (d));
      meet<<<1, 1>>> (words[d], words[1 - d], sum, rounds);
    }
  for (int d = 0; d < 2; d++)
    {
      CHECK (cudaSetDevice (d));
      CHECK (cudaDeviceSynchronize ());
    }
  CHECK (cudaMemcpy (&got, sum, sizeof got, cudaMemcpyDefault));
  SAME (got, rounds * (rounds + 1));
}

static void
pools ()
{
  float *one, *two, got[256];
  cudaMemPool_t pool;
  cudaMemAccessDesc access = {};
  cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
  CHECK (cudaSetDevice (0));
  CHECK (cudaDeviceGetDefaultMemPool (&pool, 0));
  access.location.type = cudaMemLocationTypeDevice;
  access.location.id = 1;
  access.flags = cudaMemAccessFlagsProtReadWrite;
  CHECK (cudaMemPoolSetAccess (pool, &access, 1));
  CHECK (cudaMemPoolGetAccess (&flags, pool, &access.location));
  SAME (int (flags), int (cudaMemAccessFlagsProtReadWrite));
  CHECK (cudaMallocAsync (&one, sizeof got, 0));
  CHECK (cudaMemset (one, 0, sizeof got));
  CHECK (cudaSetDevice (1));
  CHECK (cudaMallocManaged (&two, sizeof got));
  for (int i = 0; i < 256; i++)
    two[i] = i;
  scale<<<1, 256>>> (one, two, 5, 256);
  CHECK (cudaDeviceSynchronize ());
  CHECK (cudaMemcpy (got, one, sizeof got, cudaMemcpyDefault));
  for (int i = 0; i < 256; i++)
    SAME (got[i], float (5 * i));
}

int
main ()
{
  int count;
  CHECK (cudaGetDeviceCount (&count));
  if (count > 1)
    {
      questions (count);
      for (int d = 1; d < count; d++)
        there_and_back (0, d);
      parts (count);
      both_at_a_time ();
      pools ();
    }
  std::puts ("several_devices: right");
}
