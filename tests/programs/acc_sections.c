/* One array, mapped and updated in parts of different sizes by OpenACC.  */
int
main (void)
{
  int a[32] = { 0 };
#pragma acc data copy(a)
  {
#pragma acc parallel loop
    for (int i = 0; i < 32; i++)
      a[i] = i;
#pragma acc update host(a[0:4])
  }
#pragma acc enter data copyin(a[0:8])
#pragma acc exit data delete(a[0:8])
  return a[31] != 31;
}
