/* What compiler and linkers are told to leave out, to fold or to move must not take the offload tables along.  The two
   regions that begin alike are one function for a linker that folds.  */
/* { dg-do run } */
/* { gompy-sets "-O0" "-O1" "-O2" "-O3" "-Os" "-Og" "-Ofast" "-g -O0" "-g3 -O2" "-pg -O1" "-flto -O2" } */
/* { gompy-sets "-Wl,--gc-sections" "-ffunction-sections -fdata-sections -Wl,--gc-sections -O2" "-O2 -Wl,--as-needed" } */
/* { gompy-sets "-no-pie -fno-pie" "-fpie -pie" "-fvisibility=hidden -O2" "-s -O2" "-rdynamic" "-Wl,-z,now,-z,relro" } */
/* { gompy-sets "-fuse-ld=bfd -O2" } */
/* { dg-xfail-run-if "the host's tables are dropped: Cannot map (expected 0, have 6)" { offload_target_nvptx && { ! gompy } } { "-Wl,--gc-sections" } } */
/* { dg-skip-if "GCC's nvptx objects are position dependent: ld warns" { offload_target_nvptx && { ! gompy } } { "-pie" } } */
/* { gompy-launches 4 } */

#pragma omp declare target
int table[4] = { 1, 2, 3, 4 };
static int __attribute__((noinline))
sum (int n)
{
  int s = 0;
  for (int i = 0; i < n; i++)
    s += table[i];
  return s;
}
#pragma omp end declare target

static int __attribute__((noinline))
one (int a)
{
#pragma omp target map(tofrom: a)
  a += 7;
  return a;
}

static int __attribute__((noinline))
two (int a)
{
#pragma omp target map(tofrom: a)
  a += 7;
  return a;
}

int
main (void)
{
  int a = 0, b = 0;
#pragma omp target map(from: a)
  a = sum (4);
#pragma omp target map(from: b)
  {
    table[0] = 100;
    b = sum (2);
  }
  return a != 10 || b != 102 || one (1) != 8 || two (2) != 9;
}
