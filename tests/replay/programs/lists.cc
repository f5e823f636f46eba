#include <cstdio>
#include <omp.h>
struct node { node *next; double value; };
struct vec { int n; double *data; };
int main ()
{
  node *head = nullptr;
  int dev = omp_get_default_device ();
  node *pool = (node *) omp_target_alloc (10 * sizeof (node), dev);
  vec v { 10, new double[10] () };
#pragma omp target map(tofrom: head) is_device_ptr(pool)
  for (int i = 0; i < 10; i++)
    {
      pool[i].next = head;
      pool[i].value = i;
      head = &pool[i];
    }
#pragma omp target map(tofrom: v, v.data[:v.n]) map(to: head)
  {
    int i = 0;
    for (node *n = head; n; n = n->next)
      v.data[i++] = n->value * n->value;
  }
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp target map(tofrom: v.data[:v.n]) nowait depend(inout: v)
    v.data[0]++;
#pragma omp target map(tofrom: v.data[:v.n]) nowait depend(inout: v)
    v.data[0] *= 2;
#pragma omp taskwait
  }
  std::printf ("%g %g\n", v.data[0], v.data[9]);
  omp_target_free (pool, dev);
  delete[] v.data;
}
