/* Loads and stores with an order, by the compiler's builtins: a block hands a value to another one.  */
#include <cstdio>

__global__ void hand_over (int *flag, long long *data, int *to)
{
  if (blockIdx.x == 0)
    {
      data[0] = 42;
      __atomic_store_n (flag, 1, __ATOMIC_RELEASE);
      return;
    }
  while (!__atomic_load_n (flag, __ATOMIC_ACQUIRE))
    ;
  to[0] = (int) data[0];
  __atomic_thread_fence (__ATOMIC_SEQ_CST);
  __atomic_store_n ((unsigned char *) (to + 1), 7, __ATOMIC_SEQ_CST);
  to[2] = __atomic_load_n ((short *) (data + 1), __ATOMIC_SEQ_CST);
  to[3] = __atomic_load_n ((signed char *) (data + 2), __ATOMIC_ACQUIRE);
}

int main ()
{
  int *flag, *to;
  long long *data;
  if (cudaMallocManaged (&flag, 4) || cudaMallocManaged (&to, 16) || cudaMallocManaged (&data, 24))
    return 1;
  *flag = to[1] = 0;
  data[0] = 0;
  data[1] = -5;
  data[2] = -6;
  hand_over<<<2, 1>>> (flag, data, to);
  if (cudaDeviceSynchronize ())
    return 2;
  std::printf ("%d %d %d %d\n", to[0], to[1], to[2], to[3]);
}
