/* Virtual memory management of the emulated CUDA driver, twice: what one round has begun is undone, also where a call fails.

   Prints the call that failed in the first round, and its error.  Status: 0, the second round was right; 1 the driver
   could not be started, or 2 the second round failed as well, each with a line; 3 wrong data; 4 something could not be
   undone; 5 memory is missing.  */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef unsigned long long address;
typedef struct { int type, id; } place;
typedef struct { int type, handles; place place; void *security; unsigned char flags[8]; } properties;
typedef struct { place place; int flags; } access_to;

extern int cuInit (unsigned), cuDeviceGet (int *, int), cuCtxCreate_v2 (void **, unsigned, int);
extern int cuMemAddressReserve (address *, size_t, size_t, address, address), cuMemAddressFree (address, size_t);
extern int cuMemCreate (address *, size_t, const properties *, address), cuMemRelease (address);
extern int cuMemMap (address, size_t, size_t, address, address), cuMemUnmap (address, size_t);
extern int cuMemSetAccess (address, size_t, const access_to *, size_t);
extern int cuMemExportToShareableHandle (void *, address, int, address);
extern int cuMemImportFromShareableHandle (address *, void *, int);
extern int cuMemsetD32_v2 (address, unsigned, size_t), cuMemcpyDtoH_v2 (void *, address, size_t);
extern int cuMemGetInfo_v2 (size_t *, size_t *);

#define PART (2u << 20)
#define PARTS 3
#define WORDS (PART / sizeof (unsigned))
#define TRY(call) do { if (error == 0 && (error = (call)) != 0) failed = #call; } while (0)

static int error;
static const char *failed;

/* Undo by a call that may fail once.  */
#define UNDO(call) \
  do \
    if ((call) != 0 && (call) != 0) \
      { \
        fprintf (stderr, "%s fails twice\n", #call); \
        exit (4); \
      } \
  while (0)

/* Two handles and a third one for the first's memory, side by side.  */
static int
once (void)
{
  const properties wanted = { 1, 1, { 1, 0 }, NULL, { 0 } };
  const access_to both = { { 1, 0 }, 3 };
  address start = 0, handles[PARTS] = { 0 };
  unsigned *words = malloc (PARTS * PART);
  int mapped = 0, file = -1;
  error = 0;
  TRY (cuMemAddressReserve (&start, PARTS * PART, 0, 0, 0));
  TRY (cuMemCreate (&handles[0], PART, &wanted, 0));
  TRY (cuMemCreate (&handles[1], PART, &wanted, 0));
  TRY (cuMemExportToShareableHandle (&file, handles[0], 1, 0));
  TRY (cuMemImportFromShareableHandle (&handles[2], (void *) (long) file, 1));
  while (error == 0 && mapped < PARTS)
    {
      TRY (cuMemMap (start + mapped * PART, PART, 0, handles[mapped], 0));
      mapped += error == 0;
    }
  TRY (cuMemSetAccess (start, PARTS * PART, &both, 1));
  TRY (cuMemsetD32_v2 (start, 7, 2 * WORDS));
  TRY (cuMemsetD32_v2 (start + 4, 42, 1));
  TRY (cuMemcpyDtoH_v2 (words, start, PARTS * PART));
  if (error == 0 && (words[0] != 7 || words[1] != 42 || words[2 * WORDS - 1] != 7 || words[2 * WORDS + 1] != 42))
    exit (3);
  for (int i = 0; i < mapped; i++)
    UNDO (cuMemUnmap (start + i * PART, PART));
  for (int i = 0; i < PARTS; i++)
    if (handles[i])
      UNDO (cuMemRelease (handles[i]));
  if (start)
    UNDO (cuMemAddressFree (start, PARTS * PART));
  if (file >= 0)
    close (file);
  free (words);
  return error;
}

int
main (void)
{
  size_t before, after, total;
  void *context;
  int device;
  if ((error = cuInit (0)) || (error = cuDeviceGet (&device, 0)) || (error = cuCtxCreate_v2 (&context, 0, device))
      || (error = cuMemGetInfo_v2 (&before, &total)))
    {
      fprintf (stderr, "the driver does not start: %d\n", error);
      return 1;
    }
  if (once ())
    printf ("%s: %d\n", failed, error);
  if (once ())
    {
      fprintf (stderr, "%s: %d, in the second round\n", failed, error);
      return 2;
    }
  return cuMemGetInfo_v2 (&after, &total) == 0 && after == before ? 0 : 5;
}
