/* The heat equation on a rod, on the device.  */
#ifndef HEAT_H
#define HEAT_H

#ifdef __cplusplus
extern "C" {
#endif

/* STEPS steps of the explicit scheme on the N temperatures of U, whose ends stay.  */
void heat_steps (double *u, int n, int steps);

/* Whether regions run on a device.  */
int heat_on_device (void);

#ifdef __cplusplus
}
#endif

#endif
