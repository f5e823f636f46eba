static int a[8];
static int twice (int value)
{
  return 2 * value;
}
struct Work
{
  void run (int *v, int n)
  {
    #pragma omp target map(tofrom: v[:n])
    for (int i = 0; i < n; i++)
      v[i] = twice (v[i]) + 1;
  }
};
int main ()
{
  for (int i = 0; i < 8; i++)
    a[i] = 10 + i;
  Work ().run (a, 8);
}
