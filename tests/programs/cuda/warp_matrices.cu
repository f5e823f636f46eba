/* nvcuda::wmma: products of whole matrices by each type and shape, against the host's.  */
#include "check.h"
#include <mma.h>
#include <type_traits>
#include <vector>

using namespace nvcuda;

template <class T>
static T *
copied (const std::vector<T> &from)
{
  T *to;
  CHECK (cudaMalloc (&to, from.size () * sizeof (T)));
  CHECK (cudaMemcpy (to, from.data (), from.size () * sizeof (T), cudaMemcpyHostToDevice));
  return to;
}

template <class T> struct in_memory { typedef T type; };
template <> struct in_memory<wmma::precision::tf32> { typedef float type; };

/* One warp for each tile of the result; K in steps.  */
template <int M, int N, int K, class T, class S, class LA, class LB>
__global__ void
multiply (const typename in_memory<T>::type *a, const typename in_memory<T>::type *b, const S *c, S *d, int rows,
          int columns, int deep)
{
  wmma::fragment<wmma::matrix_a, M, N, K, T, LA> left;
  wmma::fragment<wmma::matrix_b, M, N, K, T, LB> right;
  wmma::fragment<wmma::accumulator, M, N, K, S> sum, add;
  constexpr bool a_rows = std::is_same<LA, wmma::row_major>::value, b_rows = std::is_same<LB, wmma::row_major>::value;
  int row = blockIdx.y * M, column = blockIdx.x * N;
  wmma::fill_fragment (sum, S (0.0f));
  for (int k = 0; k < deep; k += K)
    {
      wmma::load_matrix_sync (left, a_rows ? a + row * deep + k : a + k * rows + row, a_rows ? deep : rows);
      wmma::load_matrix_sync (right, b_rows ? b + k * columns + column : b + column * deep + k, b_rows ? columns : deep);
      wmma::mma_sync (sum, left, right, sum);
    }
  wmma::load_matrix_sync (add, c + column * rows + row, rows, wmma::mem_col_major);
  for (int i = 0; i < sum.num_elements; i++)
    sum.x[i] = sum.x[i] + S (2.0f) * add.x[i];
  wmma::store_matrix_sync (d + row * columns + column, sum, columns, wmma::mem_row_major);
}

template <int M, int N, int K, class T, class S, class LA, class LB>
static void
compare (const char *name)
{
  typedef typename in_memory<T>::type E;
  const int rows = 2 * M, columns = 2 * N, deep = 3 * K;
  std::vector<E> a (rows * deep), b (deep * columns);
  std::vector<S> c (rows * columns), d (rows * columns);
  for (int i = 0; i < rows * deep; i++)
    a[i] = E ((float) (i * 7 % 5));
  for (int i = 0; i < deep * columns; i++)
    b[i] = E ((float) (i * 11 % 7));
  for (int i = 0; i < rows * columns; i++)
    c[i] = S ((float) (i % 13));
  E *da = copied (a), *db = copied (b);
  S *dc = copied (c), *dd = copied (d);
  multiply<M, N, K, T, S, LA, LB><<<dim3 (2, 2), 32>>> (da, db, dc, dd, rows, columns, deep);
  CHECK (cudaMemcpy (d.data (), dd, d.size () * sizeof (S), cudaMemcpyDeviceToHost));
  bool a_rows = std::is_same<LA, wmma::row_major>::value, b_rows = std::is_same<LB, wmma::row_major>::value;
  int wrong = 0;
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++)
      {
        double sum = 2 * (double) (float) c[j * rows + i];
        for (int k = 0; k < deep; k++)
          sum += (double) (float) (a_rows ? a[i * deep + k] : a[k * rows + i])
                 * (double) (float) (b_rows ? b[k * columns + j] : b[j * deep + k]);
        wrong += (double) (float) d[i * columns + j] != sum;
      }
  if (wrong)
    {
      std::printf ("%s: %d are wrong\n", name, wrong);
      std::exit (1);
    }
  for (void *p : { (void *) da, (void *) db, (void *) dc, (void *) dd })
    CHECK (cudaFree (p));
}

#define ALL(M, N, K, T, S) \
  compare<M, N, K, T, S, wmma::row_major, wmma::row_major> (#T " " #M); \
  compare<M, N, K, T, S, wmma::row_major, wmma::col_major> (#T " " #M); \
  compare<M, N, K, T, S, wmma::col_major, wmma::row_major> (#T " " #M); \
  compare<M, N, K, T, S, wmma::col_major, wmma::col_major> (#T " " #M);
#define SHAPES(T, S) ALL (16, 16, 16, T, S) ALL (8, 32, 16, T, S) ALL (32, 8, 16, T, S)

/* Bits: 8 rows of a and 8 columns of b of 128, as 4 words each.  */
__global__ void
bits (const unsigned *a, const unsigned *b, int *out)
{
  wmma::fragment<wmma::matrix_a, 8, 8, 128, wmma::experimental::precision::b1, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 8, 8, 128, wmma::experimental::precision::b1, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 8, 8, 128, int> sum;
  wmma::fill_fragment (sum, 1);
  wmma::load_matrix_sync (left, a, 128);
  wmma::load_matrix_sync (right, b, 128);
  wmma::bmma_sync (sum, left, right, sum, wmma::experimental::bmmaBitOpAND);
  wmma::store_matrix_sync (out, sum, 8, wmma::mem_row_major);
}

static void
compare_bits ()
{
  std::vector<unsigned> a (32), b (32);
  std::vector<int> out (64);
  for (int i = 0; i < 32; i++)
    a[i] = i * 2654435761u, b[i] = i * 2246822519u + 1;
  unsigned *da = copied (a), *db = copied (b);
  int *dd = copied (out);
  bits<<<1, 32>>> (da, db, dd);
  CHECK (cudaMemcpy (out.data (), dd, 256, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++)
      {
        int sum = 1;
        for (int k = 0; k < 4; k++)
          sum += __builtin_popcount (a[i * 4 + k] & b[j * 4 + k]);
        SAME (out[i * 8 + j], sum);
      }
}

int
main ()
{
  SHAPES (half, float)
  ALL (16, 16, 16, half, half)
  SHAPES (signed char, int)
  ALL (16, 16, 16, unsigned char, int)
  SHAPES (__nv_bfloat16, float)
  ALL (16, 16, 8, wmma::precision::tf32, float)
  ALL (8, 8, 4, double, double)
  compare_bits ();
  std::puts ("warp_matrices: right");
}
