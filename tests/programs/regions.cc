#include <cstdio>
template <typename T> struct Scaled
{
  T *d;
  int n;
  void scale (T f)
  {
#pragma omp target teams distribute parallel for map(tofrom: d[0:n])
    for (int i = 0; i < n; i++)
      d[i] *= f;
  }
};
int main ()
{
  float a[10] = { 1 };
  double b[5] = { 2 };
  Scaled<float> v { a, 10 };
  Scaled<double> w { b, 5 };
  v.scale (2);
  w.scale (3);
  int &first = v.n;
#pragma omp target map(tofrom: first) device(0) if(first > 3)
  first++;
  printf ("%f %f %d\n", a[0], b[0], first);
}
