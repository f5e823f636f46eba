/* Of six blocks one is freed. */
int main ()
{
  int *a, *b, *pinned, *managed;
  cudaMalloc (&a, 4000);
  for (int i = 0; i < 3; i++)
    cudaMalloc (&b, 100);
  cudaMallocHost (&pinned, 64);
  cudaMallocManaged (&managed, 40);
  return cudaFree (a);
}
