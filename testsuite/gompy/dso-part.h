/* Second source of dso-*.c: a shared object with a region and a variable of its own.  */
#pragma omp declare target
static int calls;
#ifdef SHARED
int shared = 2;
#endif
#pragma omp end declare target

#ifdef SHARED
int
host_shared (void)
{
  return shared;
}
#endif

int
NAME (int x)
{
#pragma omp target map(tofrom: x)
  x += ADD + ++calls;
  return x;
}
