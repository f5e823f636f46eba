/* A gas in a box, whose cells know their neighbours by number only: the host's part, and what flows over a face.  */
#include "common.h"

enum { faces = 4, steps = 4, DENSITY = 0, ALONG_X, ALONG_Y, ENERGY, quantities };
#define STEP 0.05f

/* neighbours, normals: face by face; a neighbour of -1 is a wall.  gas: quantity by quantity.  */
typedef struct
{
  const int *neighbours;
  const float *normals_x, *normals_y;
  int n;
} mesh;

static void blow (mesh cells, float *gas);

#pragma omp declare target
typedef struct
{
  float of[quantities];
} state;

DEVICE static inline state
state_of (const float *gas, int n, int i)
{
  state one;
  for (int q = 0; q < quantities; q++)
    one.of[q] = gas[q * n + i];
  return one;
}

/* What flows through a face with this normal, and how fast the fastest wave goes there.  */
DEVICE static inline state
flow_of (state one, float x, float y, float *fastest)
{
  float speed = (one.of[ALONG_X] * x + one.of[ALONG_Y] * y) / one.of[DENSITY];
  float motion = (one.of[ALONG_X] * one.of[ALONG_X] + one.of[ALONG_Y] * one.of[ALONG_Y]) / one.of[DENSITY];
  float pressure = 0.4f * (one.of[ENERGY] - 0.5f * motion);
  state flow;
  flow.of[DENSITY] = speed * one.of[DENSITY];
  flow.of[ALONG_X] = speed * one.of[ALONG_X] + pressure * x;
  flow.of[ALONG_Y] = speed * one.of[ALONG_Y] + pressure * y;
  flow.of[ENERGY] = speed * (one.of[ENERGY] + pressure);
  *fastest = fabsf (speed) + sqrtf (1.4f * pressure / one.of[DENSITY]);
  return flow;
}

/* A cell after a step: the mean of both sides' flows, less what keeps it stable (Rusanov 1961).  */
DEVICE static inline void
step_cell (mesh cells, const float *from, float *to, int i)
{
  int n = cells.n;
  state own = state_of (from, n, i), next = own;
  for (int face = 0; face < faces; face++)
    {
      int at = face * n + i, neighbour = cells.neighbours[at];
      float x = cells.normals_x[at], y = cells.normals_y[at], fast, other_fast;
      state other = own;
      if (neighbour >= 0)
        other = state_of (from, n, neighbour);
      else
        {
          float back = 2 * (own.of[ALONG_X] * x + own.of[ALONG_Y] * y);
          other.of[ALONG_X] -= back * x, other.of[ALONG_Y] -= back * y;
        }
      state out = flow_of (own, x, y, &fast), in = flow_of (other, x, y, &other_fast);
      fast = fast > other_fast ? fast : other_fast;
      for (int q = 0; q < quantities; q++)
        next.of[q] -= 0.5f * STEP * (out.of[q] + in.of[q] - fast * (other.of[q] - own.of[q]));
    }
  for (int q = 0; q < quantities; q++)
    to[q * n + i] = next.of[q];
}
#pragma omp end declare target

int
main (int argc, char **argv)
{
  int side = size_argument (argc, argv, 40), n = side * side, *number = new_array (int, n);
  int *neighbours = new_array (int, n * faces);
  float *x = new_array (float, n * faces), *y = new_array (float, n * faces);
  float *start = new_array (float, n * quantities), *gas = new_array (float, n * quantities);
  float *want = new_array (float, n * quantities);
  for (int i = 0; i < n; i++) /* cells near each other get numbers that are not */
    {
      int other = scrambled (i) % (i + 1);
      number[i] = number[other];
      number[other] = i;
    }
  for (int i = 0; i < n; i++)
    {
      int own = number[i];
      for (int face = 0; face < faces; face++)
        {
          int way = (face + own) % faces, dx = way == 0 ? 1 : way == 1 ? -1 : 0, dy = way == 2 ? 1 : way == 3 ? -1 : 0;
          int column = i % side + dx, row = i / side + dy, at = face * n + own;
          neighbours[at] = column < 0 || row < 0 || column == side || row == side ? -1 : number[row * side + column];
          x[at] = (float) dx, y[at] = (float) dy;
        }
      start[DENSITY * n + own] = i % side < side / 2 ? 1 : 0.125f;
      start[ENERGY * n + own] = i % side < side / 2 ? 2.5f : 0.25f;
    }
  mesh cells = { neighbours, x, y, n };
  do
    {
      memcpy (gas, start, n * quantities * sizeof *gas);
      blow (cells, gas);
    }
  while (again ());
  for (int step = 0; step < steps; step++)
    {
      for (int i = 0; i < n; i++)
        step_cell (cells, start, want, i);
      memcpy (start, want, n * quantities * sizeof *start);
    }
  for (int i = 0; i < n * quantities; i++)
    if (differ (gas[i], want[i], 1e-4))
      return wrong ("%g of quantity %d in cell %d, not %g", gas[i], i / n, i % n, want[i]);
  printf ("flux: %d cells after %d steps are right\n", n, steps);
  free (number), free (neighbours), free (x), free (y), free (start), free (gas), free (want);
}
