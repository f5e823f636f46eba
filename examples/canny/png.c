/* A writer of PNG pictures (W3C PNG, RFC 1950 and 1951), with stored deflate blocks: no library, no compression.  */

#include "png.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STORED_MAX 65535u

static uint32_t
crc32 (uint32_t crc, const uint8_t *data, size_t size)
{
  static uint32_t table[256];
  if (!table[1])
    for (uint32_t n = 0; n < 256; n++)
      {
	uint32_t c = n;
	for (int k = 0; k < 8; k++)
	  c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
	table[n] = c;
      }
  for (crc = ~crc; size--; data++)
    crc = table[(crc ^ *data) & 255] ^ crc >> 8;
  return ~crc;
}

static uint32_t
adler32 (const uint8_t *data, size_t size)
{
  uint32_t a = 1, b = 0;
  for (; size--; data++)
    {
      a = (a + *data) % 65521;
      b = (b + a) % 65521;
    }
  return b << 16 | a;
}

static uint8_t *
big_endian (uint8_t *at, uint32_t value)
{
  for (int shift = 24; shift >= 0; shift -= 8)
    *at++ = value >> shift;
  return at;
}

static int
chunk (FILE *file, const char *type, const uint8_t *data, uint32_t size)
{
  uint8_t head[8], tail[4];
  memcpy (big_endian (head, size), type, 4);
  big_endian (tail, crc32 (crc32 (0, head + 4, 4), data, size));
  return fwrite (head, 1, 8, file) == 8 && fwrite (data, 1, size, file) == size && fwrite (tail, 1, 4, file) == 4 ? 0 : -1;
}

/* The zlib stream of SIZE bytes: header, stored blocks, checksum.  */

static uint8_t *
zlib_stored (const uint8_t *data, size_t size, size_t *stream_size)
{
  uint8_t *stream = malloc (size + 5 * (size / STORED_MAX + 1) + 6), *at = stream;
  if (!stream)
    return NULL;
  *at++ = 0x78;
  *at++ = 0x01;
  for (size_t done = 0; done < size;)
    {
      uint32_t length = size - done < STORED_MAX ? size - done : STORED_MAX;
      *at++ = done + length == size;
      *at++ = length;
      *at++ = length >> 8;
      *at++ = ~length;
      *at++ = ~length >> 8;
      memcpy (at, data + done, length);
      at += length;
      done += length;
    }
  *stream_size = big_endian (at, adler32 (data, size)) - stream;
  return stream;
}

int
png_write (const char *path, const unsigned char *pixels, int width, int height, int channels)
{
  size_t line = (size_t) width * channels, size = (line + 1) * height, stream_size = 0;
  uint8_t *raw = malloc (size), *stream = NULL;
  FILE *file = NULL;
  int result = -1;
  if (raw)
    {
      for (int y = 0; y < height; y++)
	{
	  raw[(line + 1) * y] = 0;	/* filter type: none */
	  memcpy (raw + (line + 1) * y + 1, pixels + line * y, line);
	}
      stream = zlib_stored (raw, size, &stream_size);
    }
  if (stream && (file = fopen (path, "wb")) != NULL)
    {
      uint8_t header[13] = { 0 };
      big_endian (big_endian (header, width), height);
      header[8] = 8;
      header[9] = channels == 3 ? 2 : 0;
      if (fwrite ("\x89PNG\r\n\x1a\n", 1, 8, file) == 8 && chunk (file, "IHDR", header, sizeof header) == 0
	  && chunk (file, "IDAT", stream, stream_size) == 0 && chunk (file, "IEND", (const uint8_t *) "", 0) == 0)
	result = 0;
      if (fclose (file))
	result = -1;
    }
  free (stream);
  free (raw);
  return result;
}
