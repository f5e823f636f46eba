/* What linkers are told to leave out must not take the offload tables along.  */
/* { dg-do run } */
/* { gompy-sets "-Wl,--gc-sections" "-ffunction-sections -fdata-sections -Wl,--gc-sections" "-Wl,--as-needed" "-fuse-ld=bfd" "-fuse-ld=gold" "-no-pie -fno-pie" "-fpie -pie" "-fvisibility=hidden" "-O0 -g" "-Ofast" "-g3 -Og" "-pg" } */
/* { gompy-launches 2 } */
/* { gompy-needs "ld.gold" } */

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
  return a != 10 || b != 102;
}
