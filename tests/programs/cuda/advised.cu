/* What is said of __managed__ variables can be asked for, as of managed memory from the heap.  */
#include "check.h"

__managed__ float table[64];
__managed__ int other = 3;
static int plain[16];

static int
ask (cudaMemRangeAttribute what, const void *where, size_t size)
{
  int said = -7;
  CHECK (cudaMemRangeGetAttribute (&said, sizeof said, what, where, size));
  return said;
}

int
main ()
{
  int said, device;
  CHECK (cudaGetDevice (&device));
  SAME (ask (cudaMemRangeAttributeReadMostly, table, sizeof table), 0);
  CHECK (cudaMemAdvise (table, sizeof table, cudaMemAdviseSetReadMostly, device));
  CHECK (cudaMemPrefetchAsync (table, 128, device));
  SAME (ask (cudaMemRangeAttributeReadMostly, table, sizeof table), 1);
  SAME (ask (cudaMemRangeAttributeReadMostly, &other, sizeof other), 0);
  SAME (ask (cudaMemRangeAttributeLastPrefetchLocation, table, 128), device);
  SAME (ask (cudaMemRangeAttributeLastPrefetchLocation, table, 256), cudaInvalidDeviceId);
  SAME (cudaMemAdvise (table, 1 << 20, cudaMemAdviseSetReadMostly, device), cudaErrorInvalidValue);
  SAME (cudaMemPrefetchAsync (table, 128, 99), cudaErrorInvalidDevice);
  CHECK (cudaHostRegister (plain, sizeof plain, cudaHostRegisterDefault));
  SAME (cudaMemAdvise (plain, sizeof plain, cudaMemAdviseSetReadMostly, device), cudaErrorInvalidValue);
  SAME (cudaMemRangeGetAttribute (&said, sizeof said, cudaMemRangeAttributeReadMostly, plain, 4),
        cudaErrorInvalidValue);
  CHECK (cudaHostUnregister (plain));
  std::puts ("advised: right");
}
