/* check: right */
int main(void)
{
  int a[1000], b[1000];
#pragma acc data create(a) copyout(b)
  {
#pragma acc parallel loop async(1) present(a)
    for (int i = 0; i < 1000; i++) a[i] = i;
#pragma acc parallel loop async(2) wait(1) present(a, b)
    for (int i = 0; i < 1000; i++) b[i] = a[i];
#pragma acc wait
  }
  return b[0] < 0;
}
