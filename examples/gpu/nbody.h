/* Bodies that attract each other: the host's part.  */
#include "common.h"

enum { steps = 2 };

#pragma omp declare target
typedef struct
{
  float x, y, z, mass;
} body;

typedef struct
{
  float x, y, z;
} vector;

/* What `other` adds to the acceleration of `one`.  No two are nearer than 0.1, as to their force.  */
DEVICE static inline void
attract (const body *one, const body *other, vector *push)
{
  float x = other->x - one->x, y = other->y - one->y, z = other->z - one->z;
  float square = x * x + y * y + z * z + 0.01f, force = other->mass / (square * sqrtf (square));
  push->x += force * x;
  push->y += force * y;
  push->z += force * z;
}

DEVICE static inline void
move (body *one, vector *speed, vector push)
{
  one->x += 0.01f * (speed->x += 0.01f * push.x);
  one->y += 0.01f * (speed->y += 0.01f * push.y);
  one->z += 0.01f * (speed->z += 0.01f * push.z);
}
#pragma omp end declare target

/* speeds: 0 at first.  */
static void fly (body *bodies, vector *speeds, int n);

int
main (int argc, char **argv)
{
  int n = size_argument (argc, argv, 500);
  body *start = new_array (body, n), *bodies = new_array (body, n), *next = new_array (body, n);
  vector *speeds = new_array (vector, n);
  for (int i = 0; i < n; i++)
    {
      body one = { fraction (4 * i), fraction (4 * i + 1), fraction (4 * i + 2), (1 + fraction (4 * i + 3)) / n };
      start[i] = one;
    }
  do
    {
      memcpy (bodies, start, n * sizeof *bodies);
      memset (speeds, 0, n * sizeof *speeds);
      fly (bodies, speeds, n);
    }
  while (again ());
  memset (speeds, 0, n * sizeof *speeds);
  for (int step = 0; step < steps; step++)
    {
      for (int i = 0; i < n; i++)
        {
          vector push = { 0, 0, 0 };
          for (int j = 0; j < n; j++)
            attract (&start[i], &start[j], &push);
          next[i] = start[i];
          move (&next[i], &speeds[i], push);
        }
      memcpy (start, next, n * sizeof *start);
    }
  for (int i = 0; i < n; i++)
    if (differ (bodies[i].x, start[i].x, 1e-5) || differ (bodies[i].y, start[i].y, 1e-5)
        || differ (bodies[i].z, start[i].z, 1e-5))
      return wrong ("body %d is at %g, %g, %g, not %g, %g, %g", i, bodies[i].x, bodies[i].y, bodies[i].z, start[i].x,
                    start[i].y, start[i].z);
  printf ("nbody: %d bodies after %d steps are right\n", n, steps);
  free (start), free (bodies), free (next), free (speeds);
}
