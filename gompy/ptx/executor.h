/* The PTX executor: what the emulated CUDA driver (gompy/cuda) calls.
 *
 * PTX objects are linked to an image (parsed, checked, compiled; no device memory needed), an image is loaded into a
 * device's memory as a module, and a module's kernels are launched.  Functions return a CUresult number (0 = success).
 * Nothing here keeps state in thread-local variables between calls; every function may be called from any thread, and
 * launches of one module may run at the same time.  No LLVM and no Python are loaded into the process: an object that
 * is not in
 * the cache is compiled by a child process (gompy/ptx/__main__.py).
 *
 * Device memory is one window of addresses, [base, base + size), that the driver has reserved (mmap) at the same
 * addresses in this process: a device address is the host address of the same bytes.  Everything outside is not
 * device memory: the executor's own windows for shared and local memory lie below 2^32, any other address is reported
 * as
 * PTX_ERROR_ILLEGAL_ADDRESS and never touched.  Pages inside the window may be PROT_NONE (not allocated): an access is
 * caught (SIGSEGV, only while kernels run; the program's own handler is called for any other fault) and reported the
 * same way.
 */
#ifndef GOMPY_PTX_EXECUTOR_H
#define GOMPY_PTX_EXECUTOR_H

#include <stddef.h>
#include <stdint.h>

#include "../native/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The CUresult numbers that come back from here. */
enum ptx_result
{
  PTX_SUCCESS = CUDA_SUCCESS,
  /* block or grid of size 0, too large, wrong parameter size */
  PTX_ERROR_INVALID_VALUE = CUDA_ERROR_INVALID_VALUE,
  PTX_ERROR_OUT_OF_MEMORY = CUDA_ERROR_OUT_OF_MEMORY,
  PTX_ERROR_INVALID_IMAGE = CUDA_ERROR_INVALID_IMAGE,
  /* syntax error, unknown opcode, type error: the log has file and line */
  PTX_ERROR_INVALID_PTX = CUDA_ERROR_INVALID_PTX,
  PTX_ERROR_JIT_COMPILER_NOT_FOUND = CUDA_ERROR_JIT_COMPILER_NOT_FOUND, /* no python or no llvmlite */
  /* unresolved or defined twice (link: the log names object and line) */
  PTX_ERROR_SYMBOL_NOT_FOUND = CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND,
  PTX_ERROR_NOT_FOUND = CUDA_ERROR_NOT_FOUND,            /* no function or variable of that name */
  PTX_ERROR_ILLEGAL_ADDRESS = CUDA_ERROR_ILLEGAL_ADDRESS,
  /* every warp of a CTA waits at a barrier that nobody else will reach */
  PTX_ERROR_LAUNCH_TIMEOUT = CUDA_ERROR_LAUNCH_TIMEOUT,
  PTX_ERROR_ILLEGAL_INSTRUCTION = CUDA_ERROR_ILLEGAL_INSTRUCTION,
  PTX_ERROR_MISALIGNED_ADDRESS = CUDA_ERROR_MISALIGNED_ADDRESS,
  PTX_ERROR_INVALID_PC = CUDA_ERROR_INVALID_PC,           /* indirect call of something that is no function */
  PTX_ERROR_ASSERT = CUDA_ERROR_ASSERT,
  /* trap (abort), local memory or call stack exhausted */
  PTX_ERROR_LAUNCH_FAILED = CUDA_ERROR_LAUNCH_FAILED,
  PTX_ERROR_NOT_SUPPORTED = CUDA_ERROR_NOT_SUPPORTED         /* valid PTX that the executor does not implement */
};

/* What checked code looks for (GOMPY_CHECK). */
enum ptx_check
{
  PTX_CHECK_MEMORY = 1,                 /* each access: in one block or variable, aligned; ends the kernel */
  PTX_CHECK_INIT = 2,                   /* reads of global and shared memory that was never written; told */
  PTX_CHECK_SYNC = 4,                   /* barriers that not all reach, masks; told */
  PTX_CHECK_RACE = 8                    /* accesses of two threads that nothing orders; told */
};

/* The memory of one emulated device; the executor keeps the pointer while a module lives in it.  All callbacks may be
   called from several threads at the same time, and must not call back into the executor. */
/* The program's own memory that kernels may use, too, at its addresses: lane by lane, so it is slow.  A range is taken
   away by a size of 0, when no kernel runs that may use it.  The owner may add one at any time: it writes the size
   last.  */
#define PTX_HOST_RANGES 1024
typedef struct ptx_host_ranges
{
  uint32_t count;                       /* of those that are looked at, also such of size 0 */
  struct
  {
    uint64_t start, size;
  } range[PTX_HOST_RANGES];
} ptx_host_ranges;

typedef struct ptx_memory
{
  uint64_t base, size;                  /* the window */
  void *user;                           /* first argument of the callbacks */
  /* Memory in the window for a module's variable (.global, .const); zeroed or not; MANAGED: the host uses it, too.
     0 = out of memory. */
  uint64_t (*alloc_variable) (void *user, size_t size, size_t align, const char *name, unsigned managed);
  void (*free_variable) (void *user, uint64_t address);
  /* malloc and free of device code; addresses in the window, 16-byte aligned, malloc returns 0 when the heap is
     exhausted. */
  uint64_t (*heap_malloc) (void *user, size_t size);
  void (*heap_free) (void *user, uint64_t address);
  /* Text that device code printed (vprintf); may be NULL: written to stdout with fwrite. */
  void (*print) (void *user, const char *text, size_t length);
  /* One line about where a bad address lies (nearest allocation), for messages; may be NULL.  Writes at most SIZE bytes
     with NUL. */
  void (*describe) (void *user, uint64_t address, char *text, size_t size);
  /* For checked code, else NULL: a byte for each byte of the window, 0 not allocated, 1 allocated, 3 allocated and
     written, 5 written and out of date: the host has newer contents, a read is told (PTX_CHECK_INIT).  The owner of
     the memory keeps the first two and marks what the host writes; kernels mark what they write.  Within one run of
     equal bytes is not one block: neighbours need a byte of 0 between them. */
  uint8_t *shadow;
  /* One line about a mistake after which the kernel goes on, and the launch's `asker`, 0: none; may be NULL: written
     to stderr. */
  void (*warn) (void *user, uint64_t asker, const char *text);
  const ptx_host_ranges *hosts;         /* may be NULL: none */
  /* Other devices' memory, at its addresses, too: whether a launch may use the block that an address is in, and which
     it is; may be NULL: none.  It is asked where all else has failed, and again for each other block. */
  int (*reach) (const struct ptx_memory *memory, uint64_t address, uint64_t *start, uint64_t *size);
  void *whose;                          /* the owner's: who launches */
  /* The addresses, with those of the window, for which the shadow is one row of bytes, and races are remembered; of
     several devices where they lie side by side.  0: the window. */
  uint64_t whole, whole_size;
  /* With a shadow: a byte for each block of 1 << PTX_WHOLE_SHIFT bytes of the window, PTX_WHOLE_*, zeros at first.
     Kernels note there which are all written.  Whoever gives a byte of the shadow another value than 3 says here,
     behind that, what is known of its block now. */
  uint8_t *states;
  /* With a shadow: whether the host has written some bytes of those that are 1 there, as it can by itself; they are 3
     then.  May be NULL: it can't. */
  int (*host_wrote) (void *user, uint64_t address, size_t size);
} ptx_memory;
#define PTX_WHOLE_SHIFT 9
enum ptx_whole
{
  PTX_WHOLE_UNKNOWN,
  PTX_WHOLE_ALLOCATED,  /* each byte of the shadow is odd … */
  PTX_WHOLE_WRITTEN,    /* each is 3 */
  PTX_WHOLE_LOOKER = 16 /* this and more: a host thread looks, each by a number of its own */
};

typedef struct ptx_object
{
  const char *text;                     /* PTX; need not end in NUL (a NUL ends it early) */
  size_t size;
  const char *name;                     /* for messages; NULL = "object N" */
} ptx_object;

typedef struct ptx_error
{
  int code;                             /* enum ptx_result */
  int line;                             /* line in the PTX object, 0 = unknown */
  int source_line;                      /* from .loc, 0 = unknown */
  uint32_t ctaid[3], tid[3];            /* the first thread that failed */
  uint64_t address;                     /* the bad address */
  char kernel[160];                     /* the entry that was launched */
  char function[160];                   /* the function that failed */
  char object[160];                     /* name of its PTX object */
  char source[256];                     /* from .file/.loc, empty = unknown */
  char message[768];                    /* one complete line, without newline: what, where, which address */
} ptx_error;

typedef struct ptx_attributes           /* cuFuncGetAttribute */
{
  uint32_t max_threads_per_block;       /* .maxntid, else 1024 */
  uint32_t registers;                   /* per thread, at least 1 (an estimate: 32 or what .maxnreg says) */
  uint64_t shared_bytes, const_bytes, local_bytes;
  uint64_t param_bytes;                 /* size of the parameter block */
  uint32_t num_params;
  uint32_t ptx_version;                 /* 60 = 6.0 */
} ptx_attributes;

/* What comes before an operation of a stream, for PTX_CHECK_RACE: of each stream all that has a ticket up to the one in
   BEFORE.  Streams have places, and tickets only grow.  */
#define PTX_ORDER_STREAMS 64
typedef struct ptx_order
{
  uint32_t stream;                      /* its place */
  uint32_t number;                      /* for messages: 0 the default stream, else in the order of their making */
  uint32_t device;                      /* for messages: which of several, from 1; 0: there is one */
  uint64_t ticket;
  uint64_t callers[2];                  /* where the program has asked for it, and who called there; 0: unknown */
  void (*name_caller) (const uint64_t *callers, char *text, size_t size);
  uint64_t before[PTX_ORDER_STREAMS];
  uint64_t always[PTX_ORDER_STREAMS];   /* what comes before all that is asked for from then on, too */
} ptx_order;

typedef struct ptx_launch_config
{
  uint32_t grid[3], block[3];
  uint32_t shared_bytes;                /* dynamic */
  uint32_t threads;                     /* host threads at most; 0 = as many as CPUs */
  uint32_t seed;                        /* of the order of blocks and warps; 0 = by their numbers */
  uint32_t together;                    /* all blocks run at a time, a host thread each: they may wait for each other */
  const void *params;                   /* the parameter block, laid out as ptx_function_param says */
  size_t params_size;
  uint64_t workspace;                   /* %envreg1 and %envreg2: two zeroed words of device memory, the barrier's of
                                           a grid whose blocks run together; 0 = none */
  const ptx_order *order;               /* among the operations of other streams; NULL: after all that came before */
  uint64_t asker;                       /* which thread of the program wants it: for the memory's `warn` */
  const ptx_memory *memory;             /* as this launch has it: a window that reaches into other devices' memory,
                                           which has the module's; NULL: the module's */
  uint64_t *ran;                        /* where the nanoseconds of processor time are put that all blocks have taken,
                                           by those of the calling thread; NULL: that is not wanted */
} ptx_launch_config;

/* A texture: a record in device memory, whose address is the handle of an object; a reference (.texref) is one. */
enum ptx_texture_number
{
  PTX_TEXTURE_U8 = 1, PTX_TEXTURE_U16 = 2, PTX_TEXTURE_U32 = 3, /* formats: CUarray_format */
  PTX_TEXTURE_S8 = 8, PTX_TEXTURE_S16 = 9, PTX_TEXTURE_S32 = 10, PTX_TEXTURE_HALF = 16, PTX_TEXTURE_FLOAT = 32,
  PTX_TEXTURE_WRAP = 0, PTX_TEXTURE_CLAMP = 1, PTX_TEXTURE_MIRROR = 2, PTX_TEXTURE_BORDER = 3, /* CUaddress_mode */
  PTX_TEXTURE_INTEGERS = 1,             /* flags: small integers are read as such, not as floats of [0, 1] or [-1, 1] */
  PTX_TEXTURE_NORMALIZED = 2,           /* coordinates that are floats are of [0, 1) */
  PTX_TEXTURE_LINEAR_MEMORY = 4,        /* by number of the element only; zeros beyond */
  PTX_TEXTURE_SURFACE = 8,              /* the record of a surface, not of a texture */
  PTX_TEXTURE_LAYERS = 16,              /* slices are layers or faces: as many in each level of a mipmapped array */
  PTX_TEXTURE_LEVELS = 18,              /* the most that a mipmapped array has */
  PTX_TEXTURE_ROW = 32, PTX_TEXTURE_LEVEL = 512, /* of what an array's rows, and its levels, are multiples, in bytes */
  PTX_TEXTURE_MAGIC = 0x74786574
};

typedef struct ptx_texture
{
  uint64_t magic;
  uint64_t address;                     /* 0: nothing is bound */
  uint64_t pitch, slice;                /* bytes from row to row, from slice to slice */
  uint32_t width, height, depth;
  uint32_t format, channels;            /* 1, 2 or 4 components */
  uint32_t modes[3];                    /* beyond the edges */
  uint32_t filter;                      /* 0: the nearest element, 1: linear between elements */
  uint32_t flags;
  float border[4];
  uint32_t levels;                      /* of a mipmapped array, whose first is told above; 0: it is none */
  uint32_t mipmap_filter;               /* as `filter`, between levels */
  float bias, least, most;              /* added to the level that is asked for; what it is kept between */
  uint32_t reserved[5];
} ptx_texture;

/* The next level of a mipmapped array, of elements of SIZE bytes: half as large, behind this one.  */
static inline void
ptx_texture_halve (ptx_texture *t, uint32_t size)
{
  uint64_t end = t->address + t->slice * t->depth;
  t->address = (end + PTX_TEXTURE_LEVEL - 1) / PTX_TEXTURE_LEVEL * PTX_TEXTURE_LEVEL;
  t->width = t->width > 1 ? t->width / 2 : 1;
  t->height = t->height > 1 ? t->height / 2 : 1;
  if (!(t->flags & PTX_TEXTURE_LAYERS))
    t->depth = t->depth > 1 ? t->depth / 2 : 1;
  t->pitch = ((uint64_t) t->width * size + PTX_TEXTURE_ROW - 1) / PTX_TEXTURE_ROW * PTX_TEXTURE_ROW;
  t->slice = t->pitch * t->height;
}

typedef struct ptx_image ptx_image;     /* linked, not loaded; reference counted by the modules made of it */
typedef struct ptx_module ptx_module;
typedef struct ptx_function ptx_function; /* lives as long as its module */

/* Link N objects; CHECK: 0, or enum ptx_check's values, for code with checks.  LOG (NUL-terminated, cut to LOG_SIZE,
   may be NULL) gets the errors, one line each: "NAME:LINE: error: ...". */
int ptx_link (const ptx_object *objects, size_t n, unsigned check, ptx_image **image, char *log, size_t log_size);
void ptx_image_free (ptx_image *image);

/* Put an image into device memory.  FAILURE may be NULL. */
int ptx_load (ptx_image *image, const ptx_memory *memory, ptx_module **module, ptx_error *failure);
/* No launch of it may be running. */
void ptx_unload (ptx_module *module);

int ptx_find_function (ptx_module *module, const char *name, ptx_function **function); /* else 500 */
/* The kernels that can be found by name, in the order of the texts: up to ROOM of them; how many there are. */
size_t ptx_kernels (ptx_module *module, ptx_function **functions, size_t room);
int ptx_find_variable (ptx_module *module, const char *name, uint64_t *address, uint64_t *size);
const char *ptx_function_name (const ptx_function *function);
int ptx_function_attributes (const ptx_function *function, ptx_attributes *attributes);
/* 1 past the end */
int ptx_function_param (const ptx_function *function, uint32_t index, uint64_t *offset, uint64_t *size);

/* The same kernel without checks, for launches among those of FUNCTION: its module's other code is made when that is
   first asked for, which may take long.  It lives as long as the module.  NULL: there is none, as of code that looks
   for races, or it could not be made. */
ptx_function *ptx_unchecked (ptx_function *function);

/* Run a kernel to its end in the calling thread and helpers.  On failure memory stays as it is at that moment. */
int ptx_launch (ptx_function *function, const ptx_launch_config *config, ptx_error *failure);

/* An operation that is no kernel, WHAT, reads or writes ROWS of SIZE bytes, PITCH apart; ASKER as of a launch.
   PTX_CHECK_RACE: a race with other streams is told by the memory's `warn`. */
void ptx_note_access (const ptx_memory *memory, const ptx_order *order, uint64_t asker, const char *what,
                      uint64_t address, uint64_t size, uint64_t rows, uint64_t pitch, int writes);

#ifdef __cplusplus
}
#endif
#endif
