/* Second source of archive-unlinked.c: a member of an archive.  */
#define PASTE(a, b) a##b
#define NAME(a, b) PASTE (a, b)

int NAME (common_, N);

#pragma omp declare target
int NAME (var_, N) = N;
#pragma omp end declare target

int
NAME (f_, N) (int x)
{
#pragma omp target map(tofrom: x)
  x += NAME (var_, N);
  return x;
}
