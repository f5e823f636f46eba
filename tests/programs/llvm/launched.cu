/* CUDA's kernels launched by libomptarget: clang's -foffload-via-llvm, which has no CUDA headers.  */
#include <stdio.h>

extern "C"
{
void *llvm_omp_target_alloc_shared (size_t, int);
void llvm_omp_target_free_shared (void *, int);
}

#ifdef __CUDA_ARCH__
#define AT(what) __nvvm_read_ptx_sreg_##what ()
#else
#define AT(what) 0
#endif

/* Parameters of several sizes: 20 bytes, which is no multiple of a word's size.  */
__global__ void
square (int *to, int n, short add, int factor)
{
  int i = AT (ctaid_x) * AT (ntid_x) + AT (tid_x);
  if (i < n)
    to[i] = (i * i + add) * factor;
}

__global__ void
sizes (unsigned *to)
{
  if (AT (tid_x) + AT (tid_y) + AT (tid_z) + AT (ctaid_x) + AT (ctaid_y) + AT (ctaid_z) == 0)
    {
      to[0] = AT (nctaid_x), to[1] = AT (nctaid_y), to[2] = AT (nctaid_z);
      to[3] = AT (ntid_x), to[4] = AT (ntid_y), to[5] = AT (ntid_z);
    }
}

int
main ()
{
  int *p = (int *) llvm_omp_target_alloc_shared (256 * sizeof (int), 0);
  dim3 grid (3), block (8);
  grid.y = 2, block.y = 4, block.z = 2;
  square<<<7, 32>>> (p, 200, 3, 10);
  printf ("%d %d %d\n", p[0], p[7], p[199]);
  sizes<<<grid, block>>> ((unsigned *) p);
  printf ("%d %d %d, %d %d %d\n", p[0], p[1], p[2], p[3], p[4], p[5]);
  llvm_omp_target_free_shared (p, 0);
}
