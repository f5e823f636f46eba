/* Streams, events, callbacks, pools, a captured graph: copies and kernels that go side by side.  */
#include "check.h"
#include <atomic>
#include <cuda_runtime.h>
#include <thread>
#include <vector>
__global__ void
scale (float *x, int n, float by)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= by;
}
__global__ void
join (const float *a, const float *b, float *c, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] = a[i] + b[i];
}
static std::atomic<int> called;
static void CUDART_CB
host_function (void *p)
{
  called += *static_cast<int *> (p);
}
static void CUDART_CB
callback (cudaStream_t, cudaError_t e, void *p)
{
  called += e == cudaSuccess ? *static_cast<int *> (p) : 1000;
}
int
main ()
{
  const int n = 1 << 12, parts = 4;
  float *host, *d[parts];
  cudaStream_t s[parts];
  cudaEvent_t done[parts], begin, end;
  CHECK (cudaMallocHost (&host, parts * n * sizeof (float)));
  CHECK (cudaEventCreate (&begin));
  CHECK (cudaEventCreate (&end));
  int least, greatest;
  CHECK (cudaDeviceGetStreamPriorityRange (&least, &greatest));
  for (int p = 0; p < parts; p++)
    {
      if (p % 2)
        CHECK (cudaStreamCreateWithPriority (&s[p], cudaStreamNonBlocking, greatest));
      else
        CHECK (cudaStreamCreate (&s[p]));
      CHECK (cudaEventCreateWithFlags (&done[p], cudaEventDisableTiming));
      CHECK (cudaMallocAsync ((void **)&d[p], n * sizeof (float), s[p]));
    }
  for (int i = 0; i < parts * n; i++)
    host[i] = i % 100;
  CHECK (cudaEventRecord (begin, s[0]));
  int one = 1, ten = 10;
  for (int p = 0; p < parts; p++)
    {
      CHECK (cudaMemcpyAsync (d[p], host + p * n, n * sizeof (float), cudaMemcpyHostToDevice, s[p]));
      scale<<<n / 256, 256, 0, s[p]>>> (d[p], n, p + 1);
      CHECK (cudaLaunchHostFunc (s[p], host_function, &one));
      CHECK (cudaEventRecord (done[p], s[p]));
    }
  for (int p = 1; p < parts; p++)
    {
      CHECK (cudaStreamWaitEvent (s[0], done[p], 0));
      join<<<n / 256, 256, 0, s[0]>>> (d[0], d[p], d[0], n);
    }
  CHECK (cudaStreamAddCallback (s[0], callback, &ten, 0));
  CHECK (cudaMemcpyAsync (host, d[0], n * sizeof (float), cudaMemcpyDeviceToHost, s[0]));
  CHECK (cudaEventRecord (end, s[0]));
  CHECK (cudaEventSynchronize (end));
  float ms = -1;
  CHECK (cudaEventElapsedTime (&ms, begin, end));
  SAME (ms >= 0, true);
  SAME (cudaEventElapsedTime (&ms, done[0], end), cudaErrorInvalidResourceHandle);
  (void)cudaGetLastError ();
  for (int i = 0; i < n; i++)
    {
      float want = i % 100;
      for (int p = 1; p < parts; p++)
        want += (p * n + i) % 100 * (p + 1);
      SAME (host[i], want);
    }
  CHECK (cudaDeviceSynchronize ());
  SAME (called.load (), 4 + 10);
  for (int p = 0; p < parts; p++)
    {
      CHECK (cudaStreamQuery (s[p]));
      CHECK (cudaFreeAsync (d[p], s[p]));
    }
  /* A graph from two streams.  */
  float *x, *y;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK (cudaMalloc (&x, n * sizeof (float)));
  CHECK (cudaMalloc (&y, n * sizeof (float)));
  CHECK (cudaStreamBeginCapture (s[0], cudaStreamCaptureModeGlobal));
  CHECK (cudaMemcpyAsync (x, host, n * sizeof (float), cudaMemcpyHostToDevice, s[0]));
  CHECK (cudaEventRecord (done[0], s[0]));
  CHECK (cudaStreamWaitEvent (s[1], done[0], 0));
  CHECK (cudaMemcpyAsync (y, x, n * sizeof (float), cudaMemcpyDeviceToDevice, s[1]));
  scale<<<n / 256, 256, 0, s[1]>>> (y, n, 2);
  CHECK (cudaEventRecord (done[1], s[1]));
  CHECK (cudaStreamWaitEvent (s[0], done[1], 0));
  join<<<n / 256, 256, 0, s[0]>>> (x, y, x, n);
  CHECK (cudaMemcpyAsync (host, x, n * sizeof (float), cudaMemcpyDeviceToHost, s[0]));
  CHECK (cudaStreamEndCapture (s[0], &graph));
  CHECK (cudaGraphInstantiate (&exec, graph, nullptr, nullptr, 0));
  for (int i = 0; i < n; i++)
    host[i] = i % 7;
  for (int k = 0; k < 3; k++)
    CHECK (cudaGraphLaunch (exec, s[0]));
  CHECK (cudaStreamSynchronize (s[0]));
  for (int i = 0; i < n; i++)
    SAME (host[i], i % 7 * 27.f);
  CHECK (cudaGraphExecDestroy (exec));
  CHECK (cudaGraphDestroy (graph));
  /* Threads of the host, each with its own default stream's work.  */
  std::vector<std::thread> threads;
  std::atomic<int> bad{ 0 };
  for (int t = 0; t < 4; t++)
    threads.emplace_back (
        [&, t]
          {
            float *p, got[64];
            if (cudaMalloc (&p, sizeof got) != cudaSuccess)
              {
                bad++;
                return;
              }
            for (int i = 0; i < 64; i++)
              got[i] = i;
            cudaMemcpyAsync (p, got, sizeof got, cudaMemcpyHostToDevice, cudaStreamPerThread);
            scale<<<1, 64, 0, cudaStreamPerThread>>> (p, 64, t);
            cudaMemcpyAsync (got, p, sizeof got, cudaMemcpyDeviceToHost, cudaStreamPerThread);
            if (cudaStreamSynchronize (cudaStreamPerThread) != cudaSuccess)
              bad++;
            for (int i = 0; i < 64; i++)
              if (got[i] != i * t)
                bad++;
            cudaFree (p);
          });
  for (auto &t : threads)
    t.join ();
  SAME (bad.load (), 0);
  for (int p = 0; p < parts; p++)
    {
      CHECK (cudaStreamDestroy (s[p]));
      CHECK (cudaEventDestroy (done[p]));
    }
  CHECK (cudaFreeHost (host));
  CHECK (cudaDeviceReset ());
  std::puts ("streams: right");
}
