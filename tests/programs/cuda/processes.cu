/* Two processes: one writes memory that the other has made, and its stream waits for an event of the other's.  */
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

__global__ void
fill (int *to, int with)
{
  to[threadIdx.x] = with + threadIdx.x;
}

__global__ void
twice (int *to)
{
  to[threadIdx.x] *= 2;
}

struct handles
{
  cudaIpcMemHandle_t memory;
  cudaIpcEventHandle_t filled, doubled;
};

static int
child (int from, int to)
{
  handles h;
  int *memory;
  char byte = 0;
  cudaEvent_t filled, doubled;
  cudaStream_t stream;
  if (read (from, &h, sizeof h) != sizeof h)
    return 1;
  CHECK (cudaIpcOpenMemHandle ((void **) &memory, h.memory, cudaIpcMemLazyEnablePeerAccess));
  CHECK (cudaIpcOpenEventHandle (&filled, h.filled));
  CHECK (cudaIpcOpenEventHandle (&doubled, h.doubled));
  CHECK (cudaStreamCreate (&stream));
  CHECK (cudaStreamWaitEvent (stream, filled, 0));
  twice<<<1, 32, 0, stream>>> (memory);
  CHECK (cudaEventRecord (doubled, stream));
  if (write (to, &byte, 1) != 1)
    return 1;
  CHECK (cudaEventSynchronize (doubled));
  CHECK (cudaEventDestroy (filled));
  CHECK (cudaEventDestroy (doubled));
  CHECK (cudaIpcCloseMemHandle (memory));
  return 0;
}

int
main ()
{
  int down[2], up[2], status, *memory, host[32];
  char byte;
  if (pipe (down) || pipe (up))
    return 1;
  pid_t pid = fork ();
  if (pid == 0)
    return child (down[0], up[1]);
  handles h;
  cudaEvent_t filled, doubled;
  unsigned flags = cudaEventDisableTiming | cudaEventInterprocess;
  CHECK (cudaMalloc (&memory, sizeof host));
  CHECK (cudaEventCreateWithFlags (&filled, flags));
  CHECK (cudaEventCreateWithFlags (&doubled, flags));
  CHECK (cudaIpcGetMemHandle (&h.memory, memory));
  CHECK (cudaIpcGetEventHandle (&h.filled, filled));
  CHECK (cudaIpcGetEventHandle (&h.doubled, doubled));
  fill<<<1, 32>>> (memory, 50);
  CHECK (cudaEventRecord (filled, 0));
  if (write (down[1], &h, sizeof h) != sizeof h || read (up[0], &byte, 1) != 1)
    return 1;
  CHECK (cudaStreamWaitEvent (0, doubled, 0));
  CHECK (cudaMemcpyAsync (host, memory, sizeof host, cudaMemcpyDeviceToHost, 0));
  CHECK (cudaStreamSynchronize (0));
  for (int i = 0; i < 32; i++)
    SAME (host[i], 2 * (50 + i));
  SAME (waitpid (pid, &status, 0), pid);
  SAME (status, 0);
  std::puts ("processes: right");
}
