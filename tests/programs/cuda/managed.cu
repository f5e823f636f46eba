/* Managed memory: a tree that the host builds, the device walks and grows, the host reads.  */
#include "check.h"
#include <algorithm>
#include <cuda_runtime.h>
#include <new>
#include <vector>
struct managed
{
  void *
  operator new (size_t n)
  {
    void *p;
    CHECK (cudaMallocManaged (&p, n));
    return p;
  }
  void
  operator delete (void *p)
  {
    CHECK (cudaDeviceSynchronize ());
    CHECK (cudaFree (p));
  }
};
struct node : managed
{
  int key, hits = 0;
  node *left = nullptr, *right = nullptr;
  explicit node (int key) : key (key) {}
};
struct text : managed
{
  char at[32];
  size_t length;
};
static void
insert (node *&to, int key)
{
  if (!to)
    to = new node (key);
  else
    insert (key < to->key ? to->left : to->right, key);
}
__device__ const node *
find (const node *n, int key)
{
  return !n || n->key == key ? n : find (key < n->key ? n->left : n->right, key);
}
__global__ void
look (node *root, const int *keys, int *found, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  node *at = const_cast<node *> (find (root, keys[i]));
  found[i] = at != nullptr;
  if (at)
    atomicAdd (&at->hits, 1);
}
__global__ void
upper (text *t)
{
  for (size_t i = threadIdx.x; i < t->length; i += blockDim.x)
    if (t->at[i] >= 'a' && t->at[i] <= 'z')
      t->at[i] -= 32;
}
static int
drop (node *n)
{
  if (!n)
    return 0;
  int h = n->hits + drop (n->left) + drop (n->right);
  delete n;
  return h;
}
template <class T> struct allocator
{
  using value_type = T;
  allocator () = default;
  template <class U> allocator (const allocator<U> &) {}
  T *
  allocate (size_t n)
  {
    void *p;
    CHECK (cudaMallocManaged (&p, n * sizeof (T)));
    return static_cast<T *> (p);
  }
  void
  deallocate (T *p, size_t)
  {
    cudaFree (p);
  }
  template <class U>
  bool
  operator== (const allocator<U> &) const
  {
    return true;
  }
  template <class U>
  bool
  operator!= (const allocator<U> &) const
  {
    return false;
  }
};
int
main ()
{
  const int n = 1000;
  node *root = nullptr;
  for (int i = 0; i < n; i++)
    insert (root, i * 7919 % 1009);
  std::vector<int, allocator<int>> keys (n), found (n);
  for (int i = 0; i < n; i++)
    keys[i] = i * 3;
  int device;
  CHECK (cudaGetDevice (&device));
  CHECK (cudaMemAdvise (keys.data (), n * sizeof (int), cudaMemAdviseSetReadMostly, device));
  CHECK (cudaMemPrefetchAsync (keys.data (), n * sizeof (int), device, nullptr));
  look<<<(n + 127) / 128, 128>>> (root, keys.data (), found.data (), n);
  CHECK (cudaDeviceSynchronize ());
  int hits = 0;
  for (int i = 0; i < n; i++)
    {
      bool there = false;
      for (int k = 0; k < n; k++)
        there |= k * 7919 % 1009 == keys[i];
      SAME (found[i], (int)there);
      hits += there;
    }
  SAME (drop (root), hits);
  text *t = new text;
  t->length = std::snprintf (t->at, sizeof t->at, "hello from the device");
  upper<<<1, 32>>> (t);
  CHECK (cudaDeviceSynchronize ());
  SAME (std::count (t->at, t->at + t->length, 'E'), 4);
  cudaPointerAttributes a;
  CHECK (cudaPointerGetAttributes (&a, t));
  SAME (a.type, cudaMemoryTypeManaged);
  delete t;
  std::puts ("managed: right");
}
