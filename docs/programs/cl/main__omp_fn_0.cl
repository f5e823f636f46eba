kernel void main__omp_fn_0 (ulong at)
{
  global ulong *words = (global ulong *) at;
  int n = *(global int *) &words[0];
  global float *x = (global float *) words[1];
  for (long i = get_global_id (0); i < n; i += get_global_size (0))
    x[i] = 2 * x[i] + 1;
}
