int a[100];
int main (void)
{
#pragma omp target enter data map(to: a[50:50])
#pragma omp target map(tofrom: a[40:50])
  a[45]++;
}
