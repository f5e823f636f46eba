/* Canny edge detection, the stages of the pipeline and where their results are kept.  */

#ifndef CANNY_H
#define CANNY_H

#include <stdint.h>

enum stage { GREY, BLUR, GRADIENT, SUPPRESSION, THRESHOLD, HYSTERESIS, STAGES };

extern const char *const stage_names[STAGES];

struct planes			/* width * height elements each */
{
  uint8_t *grey, *blurred;
  uint32_t *magnitude;		/* squared: gx * gx + gy * gy */
  uint8_t *direction;		/* 0: -, 1: /, 2: |, 3: \ is the way across the edge */
  uint32_t *thin;
  uint8_t *edges;		/* 0, WEAK while hysteresis is at work, or STRONG */
};

#define WEAK 128
#define STRONG 255

struct report			/* of each stage */
{
  double seconds;
  int regions, on_host;		/* target regions that the stage ran, and how many of them the host executed */
};

/* Run the pipeline over the WIDTH by HEIGHT pixels RGB, with thresholds LOW and HIGH of the gradient's length, on the default
   device if OFFLOAD, otherwise on the host.  Everything is integer arithmetic: the results are the same to the bit.  */
void canny (const uint8_t *rgb, int width, int height, int low, int high, int offload, struct planes *planes,
	    struct report report[STAGES]);

#endif
