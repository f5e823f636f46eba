/* Canny edge detection as OpenMP target regions: every stage is a `target teams distribute parallel for collapse (2)`
   and the pictures between the stages stay on the device, kept there by one `target data` region.

   Each stage is one function that runs on the device or, with the clause if (0), on the host.  */

#include "canny.h"

#include <omp.h>

const char *const stage_names[STAGES] = { "grey", "blur", "gradient", "suppression", "threshold", "hysteresis" };

#pragma omp declare target

static int
clip (int value, int limit)
{
  return value < 0 ? 0 : value >= limit ? limit - 1 : value;
}

/* The Gaussian of sigma 1.4 in a window of 5 by 5; the weights' sum is 159.  */

static const int gauss[5][5] = {
  { 2, 4, 5, 4, 2 }, { 4, 9, 12, 9, 4 }, { 5, 12, 15, 12, 5 }, { 4, 9, 12, 9, 4 }, { 2, 4, 5, 4, 2 }
};

static int
smooth (const uint8_t *grey, int x, int y, int width, int height)
{
  int sum = 0;
  for (int j = -2; j <= 2; j++)
    for (int i = -2; i <= 2; i++)
      sum += gauss[j + 2][i + 2] * grey[clip (y + j, height) * width + clip (x + i, width)];
  return (sum + 79) / 159;
}

/* Which of four ways the gradient points, by its slope: tan 22.5 degrees is 0.4142.  */

static int
way (int gx, int gy)
{
  int ax = gx < 0 ? -gx : gx, ay = gy < 0 ? -gy : gy;
  if (10000 * ay < 4142 * ax)
    return 0;
  if (10000 * ax < 4142 * ay)
    return 2;
  return (gx < 0) == (gy < 0) ? 3 : 1;
}

#pragma omp end declare target

static int
grey_stage (const uint8_t *rgb, int width, int height, int offload, uint8_t *grey)
{
  int host = 0;
#pragma omp target teams distribute parallel for collapse(2) if(target: offload) reduction(max: host) \
  map(to: rgb[:3 * width * height]) map(from: grey[:width * height])
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      {
	const uint8_t *pixel = rgb + 3 * (y * width + x);
	grey[y * width + x] = (77 * pixel[0] + 150 * pixel[1] + 29 * pixel[2] + 128) >> 8;
	host = omp_is_initial_device ();
      }
  return host;
}

static int
blur_stage (const uint8_t *grey, int width, int height, int offload, uint8_t *blurred)
{
  int host = 0;
#pragma omp target teams distribute parallel for collapse(2) if(target: offload) reduction(max: host) \
  map(to: grey[:width * height]) map(from: blurred[:width * height])
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      {
	blurred[y * width + x] = smooth (grey, x, y, width, height);
	host = omp_is_initial_device ();
      }
  return host;
}

static int
gradient_stage (const uint8_t *b, int width, int height, int offload, uint32_t *magnitude, uint8_t *direction)
{
  int host = 0;
#pragma omp target teams distribute parallel for collapse(2) if(target: offload) reduction(max: host) \
  map(to: b[:width * height]) map(from: magnitude[:width * height], direction[:width * height])
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      {
	int up = clip (y - 1, height) * width, here = y * width, down = clip (y + 1, height) * width;
	int left = clip (x - 1, width), right = clip (x + 1, width);
	int gx = b[up + right] + 2 * b[here + right] + b[down + right] - b[up + left] - 2 * b[here + left] - b[down + left];
	int gy = b[down + left] + 2 * b[down + x] + b[down + right] - b[up + left] - 2 * b[up + x] - b[up + right];
	magnitude[here + x] = gx * gx + gy * gy;
	direction[here + x] = way (gx, gy);
	host = omp_is_initial_device ();
      }
  return host;
}

static int
suppression_stage (const uint32_t *magnitude, const uint8_t *direction, int width, int height, int offload, uint32_t *thin)
{
  int host = 0;
#pragma omp target teams distribute parallel for collapse(2) if(target: offload) reduction(max: host) \
  map(to: magnitude[:width * height], direction[:width * height]) map(from: thin[:width * height])
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      {
	int way_here = direction[y * width + x];
	int dx = way_here == 2 ? 0 : 1, dy = way_here == 0 ? 0 : way_here == 1 ? -1 : 1;
	uint32_t here = magnitude[y * width + x];
	uint32_t before = magnitude[clip (y - dy, height) * width + clip (x - dx, width)];
	uint32_t after = magnitude[clip (y + dy, height) * width + clip (x + dx, width)];
	thin[y * width + x] = here > before && here >= after ? here : 0;
	host = omp_is_initial_device ();
      }
  return host;
}

static int
threshold_stage (const uint32_t *thin, int width, int height, uint32_t low, uint32_t high, int offload, uint8_t *edges)
{
  int host = 0;
#pragma omp target teams distribute parallel for collapse(2) if(target: offload) reduction(max: host) \
  map(to: thin[:width * height]) map(from: edges[:width * height])
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      {
	uint32_t here = thin[y * width + x];
	edges[y * width + x] = here >= high ? STRONG : here >= low ? WEAK : 0;
	host = omp_is_initial_device ();
      }
  return host;
}

/* One sweep: a weak pixel beside a strong one becomes strong.  Sets *GROWN to their number.  Threads see what others have done in
   the same sweep or they don't; the sweeps end at the same picture, as pixels only ever become strong.  */

static int
hysteresis_sweep (int width, int height, int offload, uint8_t *edges, int *grown)
{
  int host = 0, count = 0;
#pragma omp target teams distribute parallel for collapse(2) if(target: offload) reduction(max: host) reduction(+: count) \
  map(tofrom: edges[:width * height])
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      {
	uint8_t here, near;
	int strong = 0;
	host = omp_is_initial_device ();
#pragma omp atomic read
	here = edges[y * width + x];
	if (here != WEAK)
	  continue;
	for (int j = -1; j <= 1; j++)
	  for (int i = -1; i <= 1; i++)
	    {
#pragma omp atomic read
	      near = edges[clip (y + j, height) * width + clip (x + i, width)];
	      strong |= near == STRONG;
	    }
	if (strong)
	  {
#pragma omp atomic write
	    edges[y * width + x] = STRONG;
	    count++;
	  }
      }
  *grown = count;
  return host;
}

static int
drop_weak (int width, int height, int offload, uint8_t *edges)
{
  int host = 0;
#pragma omp target teams distribute parallel for collapse(2) if(target: offload) reduction(max: host) \
  map(tofrom: edges[:width * height])
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      {
	if (edges[y * width + x] != STRONG)
	  edges[y * width + x] = 0;
	host = omp_is_initial_device ();
      }
  return host;
}

static double
count_stage (struct report *report, double begin, int regions, int on_host)
{
  double now = omp_get_wtime ();
  report->seconds = now - begin;
  report->regions = regions;
  report->on_host = on_host;
  return now;
}

void
canny (const uint8_t *rgb, int width, int height, int low, int high, int offload, struct planes *planes,
       struct report report[STAGES])
{
  int size = width * height, host, sweeps = 0, grown;
  uint8_t *grey = planes->grey, *blurred = planes->blurred, *direction = planes->direction, *edges = planes->edges;
  uint32_t *magnitude = planes->magnitude, *thin = planes->thin;

#pragma omp target data if(offload) map(to: rgb[:3 * size]) map(from: grey[:size], blurred[:size], magnitude[:size]) \
  map(from: direction[:size], thin[:size], edges[:size])
  {
    double time = omp_get_wtime ();
    host = grey_stage (rgb, width, height, offload, grey);
    time = count_stage (&report[GREY], time, 1, host);
    host = blur_stage (grey, width, height, offload, blurred);
    time = count_stage (&report[BLUR], time, 1, host);
    host = gradient_stage (blurred, width, height, offload, magnitude, direction);
    time = count_stage (&report[GRADIENT], time, 1, host);
    host = suppression_stage (magnitude, direction, width, height, offload, thin);
    time = count_stage (&report[SUPPRESSION], time, 1, host);
    host = threshold_stage (thin, width, height, low * low, high * high, offload, edges);
    time = count_stage (&report[THRESHOLD], time, 1, host);
    host = 0;
    do
      {
	host += hysteresis_sweep (width, height, offload, edges, &grown);
	sweeps++;
      }
    while (grown);
    host += drop_weak (width, height, offload, edges);
    count_stage (&report[HYSTERESIS], time, sweeps + 1, host);
  }
}
