/* Data and regions of OpenACC, with arguments behind the runtime's usual ones: async and wait.  */
int
main (void)
{
  int a[100], b = 3, n = 100;
  char *c = (char *) a;
#pragma acc enter data create (c[0:10])
#pragma acc exit data delete (c[0:10])
#pragma acc enter data create (a)
#pragma acc data present (a) copy (b)
  {
#pragma acc parallel loop async (2)
    for (int i = 0; i < n; i++)
      a[i] = i;
#pragma acc update self (a) wait (2)
#pragma acc kernels loop
    for (int i = 0; i < 100; i++)
      a[i] += b;
#pragma acc host_data use_device (a)
    b += a != 0;
  }
#pragma acc exit data copyout (a)
  return a[99] != 102;
}
