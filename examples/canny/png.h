/* A writer of PNG pictures.  */

#ifndef PNG_H
#define PNG_H

/* Write WIDTH by HEIGHT pixels of CHANNELS bytes (1: grey, 3: red, green, blue) to PATH.  Returns 0, or -1 with errno set.  */
int png_write (const char *path, const unsigned char *pixels, int width, int height, int channels);

#endif
