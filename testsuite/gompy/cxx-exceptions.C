// An exception that a region catches itself is its own affair.
// { dg-do run }
// { dg-skip-if "nvptx has no exceptions: the compiler refuses" { offload_target_nvptx } }
// { gompy-sets "-O0" "-O2" }

#pragma omp declare target
static int
half (int n)
{
  if (n % 2)
    throw n;
  return n / 2;
}
#pragma omp end declare target

int
main ()
{
  int caught = 0, sum = 0;
#pragma omp target map(tofrom: caught, sum)
  for (int i = 0; i < 10; i++)
    try
      {
	sum += half (i);
      }
    catch (int n)
      {
	caught += n;
      }
  return caught != 25 || sum != 10;
}
