/* check: race a */
int main(void)
{
  int a[1000];
#pragma acc data create(a)
  {
#pragma acc parallel loop async(1) present(a)
    for (int i = 0; i < 1000; i++) a[i] = i;
#pragma acc update self(a) async(2)
#pragma acc wait
  }
  return 0;
}
