int main (void)
{
  static int a[10];
#pragma acc parallel loop present (a)
  for (int i = 0; i < 10; i++)
    a[i] = i;
}
