#ifndef SCALE_H
#define SCALE_H
#ifdef __cplusplus
extern "C" {
#endif
/* y = a * x + y; whether that was done on a device.  */
int scale_add (int n, double a, const double *x, double *y);
#ifdef __cplusplus
}
#endif
#endif
