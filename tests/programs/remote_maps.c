/* Maps, updates, blocks of many sizes, a burst of nowait, all devices: the host's results.  */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma omp declare target
int counter = 3;
#pragma omp end declare target

static int
burst (int device)
{
  static int many[1500];
  int wrong = 0;
#pragma omp target data map(tofrom : many) device(device)
  {
    for (int i = 0; i < 1500; i++)
      {
#pragma omp target map(tofrom : many[i : 1]) device(device) nowait firstprivate(i)
        many[i] = 3 * i + 1;
      }
#pragma omp taskwait
  }
  for (int i = 0; i < 1500; i++)
    wrong += many[i] != 3 * i + 1;
  return wrong;
}

int
main (void)
{
  int wrong = 0, total = 0;
  for (int d = 0; d < omp_get_num_devices (); d++)
    {
      int number = -1, initial = 1, small = d, scale = 2;
      for (size_t n = 1; n < 3000000; n = n * 3 + 1)
        {
          int *a = malloc (n * sizeof *a), sum = 0;
          for (size_t i = 0; i < n; i++)
            a[i] = (int) i;
          for (int again = 0; again < 3; again++)
            {
#pragma omp target map(tofrom : a[0 : n]) map(to : scale) map(from : number, initial) device(d)
              {
                for (size_t i = 0; i < n; i++)
                  a[i] += scale;
                number = omp_get_device_num ();
                initial = omp_is_initial_device ();
              }
            }
          for (size_t i = 0; i < n; i++)
            wrong += a[i] != (int) i + 6;
          wrong += number != d || initial != 0;
#pragma omp target data map(to : a[0 : n]) device(d)
          {
            a[n / 2] = 77;
#pragma omp target update to(a[n / 2 : 1]) device(d)
#pragma omp target map(tofrom : sum, small) device(d)
            {
              sum = a[n / 2];
              a[n / 2]++;
              small++;
            }
#pragma omp target update from(a[n / 2 : 1]) device(d)
          }
          wrong += sum != 77 || a[n / 2] != 78;
          free (a);
        }
#pragma omp target device(d)
      counter += 4;
#pragma omp target update from(counter) device(d)
      wrong += counter != 7;
      counter = 3;
      wrong += burst (d);
      total += small;
    }
  printf ("%d devices, %d wrong, %d\n", omp_get_num_devices (), wrong, total);
  return wrong != 0 || omp_get_num_devices () == 0;
}
