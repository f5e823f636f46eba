int main (void)
{
  static int a[100];
  int sum = 0;
#pragma acc data copyin(a)
  {
#pragma acc parallel present(a)
    a[1] = 2;
    sum += a[1];
  }
  return sum;
}
