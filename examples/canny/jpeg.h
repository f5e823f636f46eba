/* A reader of baseline JPEG photographs (ITU-T T.81, sequential DCT, 8 bits, Huffman).  */

#ifndef JPEG_H
#define JPEG_H

/* Read the photograph in the file PATH.  Returns its pixels as red, green, blue bytes, row by row, to be freed by the
   caller, and sets *WIDTH and *HEIGHT; or returns NULL and sets *WHY to the reason.  */
unsigned char *jpeg_read (const char *path, int *width, int *height, const char **why);

#endif
