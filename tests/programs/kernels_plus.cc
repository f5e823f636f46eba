// Regions of C++: those that are written as C get kernels, references too; others have reasons against them.
#include <cmath>
#include <cstdio>

struct point { double x, y; };
class box
{
public:
  int n;
  double v[4];
  int size () const { return n; }
};
static inline double twice (double v) { return 2 * v; }
static int pick (int a) { return a; }
static int pick (double a) { return (int) a + 1; }
constexpr int N = 1000;

template <typename T> void
scale (T *a, int n, T f)
{
#pragma omp target teams distribute parallel for map(tofrom: a[0:n])
  for (int i = 0; i < n; i++)
    a[i] = a[i] * f + 1;
}

template <typename T> void
local (T *a, int n)
{
#pragma omp target teams distribute parallel for map(tofrom: a[0:n])
  for (int i = 0; i < n; i++)
    {
      T t = a[i];
      a[i] = t + t;
    }
}

void
references (double *a, int n, double &sum, int (&v)[4], double &r, int *&ptr, const double &c)
{
  double s = 0;
#pragma omp target teams distribute parallel for map(to: a[0:n]) reduction(+: s)
  for (int i = 0; i < n; i++)
    s += a[i];
  sum = s;
#pragma omp target map(tofrom: sum)
  sum += 1;
#pragma omp target map(tofrom: v) map(tofrom: r)
  for (int i = 0; i < 4; i++)
    v[i] += 1 + (int) r;
#pragma omp target teams distribute parallel for map(tofrom: v) reduction(+: r)
  for (int i = 0; i < 4; i++)
    r += v[i];
#pragma omp target teams distribute parallel for map(tofrom: ptr[0:4]) firstprivate(c)
  for (int i = 0; i < 4; i++)
    ptr[i] += i + (int) c;
#pragma omp target firstprivate(r) map(from: v[1:2])
  {
    r += 1;
    v[1] = (int) r;
    v[2] = 5;
  }
}

int
main ()
{
  double a[N], sum, r = 2;
  point p[10], o[10];
  int q[10], v[4] = { 1, 2, 3, 4 }, u[4] = { 9, 9, 9, 9 }, *up = u;
  bool b[10];
  box w;
  w.n = 4;
  for (int i = 0; i < N; i++)
    a[i] = i;
  scale (a, N, 2.0);
  scale (a, N, 0.5);
  float g[4] = { 1, 2, 3, 4 };
  scale (g, 4, 3.f);
  local (g, 4);
#pragma omp target teams distribute parallel for map(from: p)
  for (int i = 0; i < 10; i++)
    {
      p[i].x = twice (i);
      p[i].y = sqrt (double (i));
    }
#pragma omp target teams distribute parallel for map(from: o)
  for (int i = 0; i < 10; i++)
    {
      point t;
      t.x = twice (i);
      t.y = i;
      o[i] = t;
    }
#pragma omp target map(from: q)
  for (int i = 0; i < 10; i++)
    q[i] = pick (i);
#pragma omp target map(from: b)
  for (int i = 0; i < 10; i++)
    b[i] = i % 3 == 0 ? true : false;
#pragma omp target map(tofrom: w)
  for (int i = 0; i < w.n; i++)
    w.v[i] = i;
  references (a, N, sum, v, r, up, 7.5);
  printf ("%d %d %d %d %g %d %d %g ", v[0], v[1], v[2], v[3], r, u[0], u[3], sum);
  printf ("%g %g %g %g %d %d %d %g\n", a[999], p[9].x, o[9].y, g[3], q[9], b[8], b[9], w.v[3]);
}
