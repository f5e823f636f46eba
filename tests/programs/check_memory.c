/* More than OFFLOAD_EMUL_MEM=64M. */
static char big[100000000];

int main(void)
{
#pragma omp target map(tofrom: big)
  big[0] = 0;
  return big[0];
}
