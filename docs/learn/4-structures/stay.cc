#include <cstdio>
struct Field
{
  int n;
  double *x;
  explicit Field (int size) : n (size), x (new double[size]())
  {
    #pragma omp target enter data map(to: this[:1], x[:n])
  }
  ~Field ()
  {
    #pragma omp target exit data map(delete: x[:n], this[:1])
    delete[] x;
  }
  void step ()
  {
    #pragma omp target
    for (int i = 0; i < n; i++)
      x[i] += i;
  }
  void fetch ()
  {
    #pragma omp target update from(x[:n])
  }
};
int main ()
{
  Field field (5);
  field.step ();
  field.step ();
  field.fetch ();
  std::printf ("%g %g\n", field.x[1], field.x[4]);
}
