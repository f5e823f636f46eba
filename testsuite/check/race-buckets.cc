// check: race all
#include <cstdio>
#include <omp.h>

struct buckets
{
  int counts[4][16];
  void add(int thread, int value) { counts[thread][value % 16]++; }
};

int main()
{
  buckets all = {};
  int total = 0;
#pragma omp target parallel num_threads(4) map(tofrom: all, total)
  {
    for (int i = 0; i < 64; i++) all.add(omp_get_thread_num(), i * 7);
#pragma omp for
    for (int b = 0; b < 16; b++)
    {
      int sum = 0;
      for (int t = 0; t < 4; t++) sum += all.counts[t][b];
#pragma omp atomic
      total += sum;
    }
  }
  std::printf("%d\n", total);
}
