"""Small programs of many kinds, for comparing the wrappers with stock gcc."""

from __future__ import annotations

C_SAMPLES = {
    "region": """
#include <stdio.h>
int main (void) { int x = 0;
#pragma omp target map(x)
  x = 42;
  printf ("%d\\n", x); return x != 42; }
""",
    "no_region": """
int sum (const int *p, int n) { int s = 0;
#pragma omp parallel for reduction(+:s)
  for (int i = 0; i < n; i++) s += p[i];
  return s; }
""",
    "declare_target": """
#pragma omp declare target
int table[64]; static double scale = 2.5;
int twice (int v) { return 2 * v; }
#pragma omp end declare target
int big[1000];
#pragma omp declare target link(big)
double use (int n) { double r = 0;
#pragma omp target map(r) map(big)
  { for (int i = 0; i < n; i++) r += twice (table[i]) * scale + big[i]; }
  return r; }
""",
    "teams": """
void axpy (double a, const double *x, double *y, int n) {
#pragma omp target teams distribute parallel for simd map(to: x[:n]) map(tofrom: y[:n])
  for (int i = 0; i < n; i++) y[i] += a * x[i]; }
""",
    "many": """
int f (int a) { int r = 0;
#pragma omp target map(r)
  r = a;
#pragma omp target map(r) if(a > 3)
  r += a;
#pragma omp target data map(r)
  {
#pragma omp target update to(r)
#pragma omp target
    r *= 2;
  }
  return r; }
""",
    "recursion_and_statics": """
static int fib (int n) { static int calls; calls++; return n < 2 ? n : fib (n - 1) + fib (n - 2); }
static __attribute__((noinline)) int helper (int n) { return fib (n) ^ 3; }
int run (int n) { int r;
#pragma omp target map(from: r) map(to: n)
  r = helper (n);
  return r; }
""",
    "partial_inlining": """
extern int slow (int);
int maybe (int a) { if (__builtin_expect (a > 0, 1)) return a; a = slow (a); a += slow (a + 1); return a * slow (2); }
int user (int a) { int r = maybe (a) + maybe (a + 1);
#pragma omp target map(r)
  r++;
  return r; }
""",
    "weak_alias_section": """
__attribute__((weak)) int w (int a) { return a; }
extern int v (int) __attribute__((alias ("strong")));
int strong (int a) { return a + 1; }
__attribute__((section (".text.special"), used)) static int sp (void) { return 5; }
int z (void) { int r = 0;
#pragma omp target map(r)
  r = 1;
  return r + w (r) + v (r); }
""",
    "asm_and_tls": """
_Thread_local int t; int g[3] = { 1, 2, 3 }; const char *s = "text";
__asm__ (".globl marker\\nmarker:\\n");
int k (void) { int r = t;
#pragma omp target map(r)
  __asm__ volatile ("" : "+r" (r));
  return r + g[1]; }
""",
    "constructors": """
static int n; __attribute__((constructor)) static void init (void) { n = 7; }
int get (void) { int r = n;
#pragma omp target map(r) nowait
  r = 2;
#pragma omp taskwait
  return r; }
""",
}
CXX_SAMPLES = {
    "templates": """
#include <vector>
template <class T> T add (T a, T b) { return a + b; }
struct Base { virtual int f () const { return 3; } virtual ~Base () {} };
struct Other : Base { int f () const override { return 4; } };
int run () { int x = 0; std::vector<int> v (10, 1); int *p = v.data ();
#pragma omp target map(x) map(p[:10])
  { Other o; const Base &b = o; x = add (p[3], b.f ()); }
  return x; }
""",
    "exceptions": """
#include <stdexcept>
int run (int a) { int r = 0;
#pragma omp target map(r)
  { try { if (a > 1) throw a; r = 1; } catch (int e) { r = e; } }
  if (r > 5) throw std::runtime_error ("r");
  return r; }
""",
    "lambda_and_statics": """
namespace { int hidden = 4; struct Local { int a; ~Local () { hidden++; } }; }
inline int counter () { static int n = hidden; return ++n; }
int run () { Local l { 2 }; int r = counter (); auto add = [&] (int d) { return r + d + l.a; };
  auto twice = [] (int v) { return 2 * v; };
#pragma omp target map(r)
  r = twice (r);
  return add (1); }
""",
    "iostream": """
#include <iostream>
int main () { int r = 0;
#pragma omp target map(r)
  r = 9;
  std::cout << r << '\\n'; return r != 9; }
""",
    "class_members": """
struct M { double *p; int n; void scale (double s) {
#pragma omp target teams distribute parallel for map(p[:n]) firstprivate(s)
  for (int i = 0; i < n; i++) p[i] *= s; } };
void go (M &m) { m.scale (2); }
""",
}
FORTRAN_SAMPLES = {
    "program": """
program p
  integer :: x
  x = 0
  !$omp target map(x)
  x = 42
  !$omp end target
  print '(I2)', x
end program
""",
    "module": """
module m_SUFFIX
  integer :: g = 3
  real, allocatable :: table(:)
  !$omp declare target (g)
contains
  pure real function f (a)
    !$omp declare target
    real, intent (in) :: a
    f = a * 2
  end function
  subroutine s (a)
    real, allocatable :: a(:)
    integer :: i
    !$omp target teams distribute parallel do map(a)
    do i = 1, size (a)
      a(i) = f (a(i)) + g
    end do
  end subroutine
end module
""",
    "types": """
subroutine sub_SUFFIX (n, r)
  type point
    real :: x, y
  end type
  integer, intent (in) :: n
  real, intent (out) :: r
  type (point) :: p(n)
  p = point (1.0, 2.0)
  r = 0
  !$omp target map(to: p) map(tofrom: r)
  r = sum (p%x) + dot_product (p%x, p%y)
  !$omp end target
end subroutine
""",
    "character": """
subroutine chars_SUFFIX (c, l)
  character (len=*), intent (in) :: c
  integer, intent (out) :: l
  l = 0
  !$omp target map(to: c) map(tofrom: l)
  l = len_trim (c) + index (c, 'x')
  !$omp end target
end subroutine
""",
}
ACC = """
int main (void) { int s = 0;
#pragma acc parallel loop reduction(+:s) copy(s)
  for (int i = 0; i < 100; i++) s += i;
  return s != 4950; }
"""

SAMPLES = [
    *(("gompcc", f"{name}.c", text) for name, text in C_SAMPLES.items()),
    *(("gompc++", f"{name}.cc", text) for name, text in CXX_SAMPLES.items()),
    *(("gompfortran", f"{name}.f90", text.replace("SUFFIX", name)) for name, text in FORTRAN_SAMPLES.items()),
]
"""(wrapper, file name, text)"""

MISTAKEN = {
    "syntax.c": "int main (void) { return 0 }\n",
    "warning.c": "int f (int a) { int unused; if (a = 3) return 1; return 0; }\n",
    "pragma.c": "int f (void) {\n#pragma omp target map(nothing)\n  return 0; }\n",
    "target.c": "int f (int x) {\n#pragma omp target\n  { return x; }\n}\n",
    "include.c": '#include "not_there.h"\nint x;\n',
    "late.c": "static int gone (int);\nint f (int r) {\n#pragma omp target map(r)\n r = gone (1);\n return r; }\n",
    "assembler.c": 'int f (void) { __asm__ ("bogus %eax"); return 0; }\n',
    "types.cc": "#include <string>\nint f () { std::string s = 3; return s; }\n",
    "template.cc": "template <class T> struct A { typename T::x y; };\nA<int> a;\n",
    "types.f90": "program p\n integer :: i\n i = 'x'\n !$omp target map(q\nend\n",
}
"""Sources that compilers complain about."""
