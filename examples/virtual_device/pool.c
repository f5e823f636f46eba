/* A device of its own for gompy's virtual device, and one region for it (examples/virtual_device/squares.c's first).

     gcc -shared -fPIC -I$(gompy config --virtual-incdir) pool.c -o pool.so
     gompcc -fopenmp squares.c -o squares
     GOMPY_PLUGINS=python GOMPY_PYTHON_DEVICE=gompy.virtual:Virtual GOMPY_VIRTUAL=./pool.so ./squares

   Its memory is a pool of which only this library knows the place: a device address is an offset into it, so nothing else can
   follow one.  Regions that the library has no function for run on the host.  */

#include <gompy_virtual.h>
#include <string.h>

#define POOL (64u << 20)
#define FIRST 4096		/* 0 is no address */

static char pool[POOL];
static uint64_t used = FIRST;

/* Blocks are never used again, only all together when the last has gone.  */

static int blocks;

static uint64_t
pool_alloc (int device, uint64_t size)
{
  uint64_t start = used, room = (size + 63) & ~(uint64_t) 63;
  (void) device;
  if (room > POOL - used)
    return 0;
  used += room;
  blocks++;
  return start;
}

static void
pool_free (int device, uint64_t address)
{
  (void) device, (void) address;
  if (--blocks == 0)
    used = FIRST;
}

static int
inside (uint64_t address, uint64_t size)
{
  return address >= FIRST && address <= POOL && size <= POOL - address;
}

static int
pool_write (int device, uint64_t to, const void *data, uint64_t size)
{
  (void) device;
  if (!inside (to, size))
    return 1;
  memcpy (pool + to, data, size);
  return 0;
}

static int
pool_read (int device, void *data, uint64_t from, uint64_t size)
{
  (void) device;
  if (!inside (from, size))
    return 1;
  memcpy (data, pool + from, size);
  return 0;
}

const struct gompy_device gompy_device = {
  GOMPY_DEVICE_HEAD, "pool", 1, 0, NULL, NULL, pool_alloc, pool_free, pool_write, pool_read
};

/* x[i] *= x[i]: its words are n, and the address of x (gompy regions tells).  */

static int
squares (int device, uint64_t words, uint32_t num_teams, uint32_t thread_limit)
{
  uint64_t arguments[2];
  (void) num_teams, (void) thread_limit;
  if (pool_read (device, arguments, words, sizeof arguments))
    return 1;
  int n = (int) arguments[0];
  if (n < 0 || !inside (arguments[1], n * sizeof (float)))
    return 2;
  float *x = (float *) (pool + arguments[1]);
  for (int i = 0; i < n; i++)
    x[i] *= x[i];
  return 0;
}

const struct gompy_region gompy_regions[] = { { GOMPY_REGION_HEAD, "main._omp_fn.0", "pool", squares }, { 0 } };
