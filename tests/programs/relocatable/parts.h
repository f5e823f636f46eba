/* Device code that two files share: what main.cu uses and parts.cu has.  */
typedef int (*step) (int);

extern __device__ int offset;
extern __constant__ int weights[4];
extern __device__ step chosen;

__device__ int twice (int x);
template <class T> __device__ T larger (T a, T b) { return a > b ? a : b; }
inline __device__ int &counter () { __shared__ int value; return value; }

struct box
{
  int side;
  __device__ virtual int area () const;
};

__global__ void add_calls (int *to);
