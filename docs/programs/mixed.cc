#include <cstdio>
int started () { std::puts ("started"); return 1; }
int h = started ();
struct C { int x; C () : x (1 + h) {} };
#pragma omp declare target
C c;
#pragma omp end declare target
int main ()
{
  int x;
  #pragma omp target map(from: x)
  x = c.x;
  std::printf ("%d\n", x);
}
