/* Reductions over teams: since 18 clang's device runtime wants a buffer for them, which each launch finds empty.  */
#include <stdio.h>

int main (void)
{
  double sum = 0;
  int most = 0;
  #pragma omp target teams distribute parallel for map(tofrom: sum, most) reduction(+: sum) reduction(max: most)
  for (int i = 0; i < 100000; i++)
    {
      sum += i;
      if (i % 777 == 5 && i > most)
        most = i;
    }
  printf ("%.0f %d", sum, most);
  for (int again = 0; again < 3; again++)
    {
      int count = 0;
      #pragma omp target teams distribute map(tofrom: count) reduction(+: count) num_teams(2000)
      for (int i = 0; i < 5000; i++)
        count += i + again;
      printf (" %d", count);
    }
  puts ("");
}
