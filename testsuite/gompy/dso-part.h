/* Second source of dso-*.c: a shared object with a region and a variable of its own.  */
#pragma omp declare target
static int calls;
#pragma omp end declare target

int
NAME (int x)
{
#pragma omp target map(tofrom: x)
  x += ADD + ++calls;
  return x;
}
