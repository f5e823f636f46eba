/* Interoperability objects as GCC 15 compiles them; the calls are written out, for older compilers.  Prints all
   properties of an object, then what was done by means of its stream.  */
#include <dlfcn.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct object;
typedef struct object *interop;
#define DEFAULT -5
#define CHECK(ok) do { if (!(ok)) { printf ("line %d: " #ok "\n", __LINE__); exit (1); } } while (0)
extern void GOMP_interop (int, int, interop **, const int *, const char **, int, interop *, int, interop **, unsigned,
			  void **);
extern intptr_t omp_get_interop_int (interop, int, int *);
extern void *omp_get_interop_ptr (interop, int, int *);
extern const char *omp_get_interop_str (interop, int, int *);
extern const char *omp_get_interop_type_desc (interop, int);
extern const char *omp_get_interop_name (interop, int);
extern int omp_get_num_interop_properties (interop);
extern const char *omp_get_interop_rc_desc (interop, int);
extern int gompy_interop_call (interop, void (*) (void *), void *);
extern int gompy_interop_copy (interop, void *, const void *, size_t, int);

static interop make (int device, int wanted, const char *preferred)
{
  interop o = (interop) -1, *list[] = { &o };
  GOMP_interop (device, 1, list, &wanted, preferred ? &preferred : NULL, 0, NULL, 0, NULL, 0, NULL);
  return o;
}

static void use (interop o) { GOMP_interop (DEFAULT, 0, NULL, NULL, NULL, 1, &o, 0, NULL, 0, NULL); }

static void end (interop *o, unsigned flags, void **depend)
{
  interop *list[] = { o };
  GOMP_interop (DEFAULT, 0, NULL, NULL, NULL, 0, NULL, 1, list, flags, depend);
}

static void show (interop o)
{
  for (int p = -1; p >= -9; p--)
    {
      int i, q, s;
      intptr_t number = omp_get_interop_int (o, p, &i);
      void *pointer = omp_get_interop_ptr (o, p, &q);
      const char *text = omp_get_interop_str (o, p, &s);
      printf ("%s: %s,", omp_get_interop_name (o, p), omp_get_interop_type_desc (o, p));
      if (i == 0 && q != 0)
	printf (" %ld,", (long) number);
      if (q == 0)
	printf (pointer ? " pointer," : " NULL,");
      if (s == 0)
	printf (" \"%s\",", text);
      printf (" %d %d %d\n", i, q, s);
    }
}

static int order[8], steps;
static void step (void *what) { order[steps++] = *(int *) what; }

static void emulated_stream (interop o, int device)
{
  int x[4] = { 1, 2, 3, 4 }, y[4] = { 0 }, one = 1, two = 2;
  int *d = omp_target_alloc (sizeof x, device);
  CHECK (gompy_interop_copy (o, d, x, sizeof x, 1) == 0 && gompy_interop_call (o, step, &one) == 0);
  CHECK (gompy_interop_copy (o, y, d, sizeof y, 0) == 0 && gompy_interop_call (o, step, &two) == 0);
  use (o);
  CHECK (y[0] == 1 && y[3] == 4 && steps == 2 && order[0] == 1 && order[1] == 2);
  omp_target_free (d, device);
  puts ("stream: right");
}

static void cuda_stream (interop o)
{
  void *lib = dlopen ("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), *stream = omp_get_interop_ptr (o, -9, NULL);
  void *context = omp_get_interop_ptr (o, -8, NULL), *found = NULL;
  unsigned long long at = 0;
  int x[4] = { 1, 2, 3, 4 }, y[4] = { 0 };
  CHECK (lib != NULL && context != NULL);
#define CALL(name, ...) CHECK (((int (*) ()) dlsym (lib, #name)) (__VA_ARGS__) == 0)
  CALL (cuCtxPushCurrent_v2, context);
  CALL (cuStreamGetCtx, stream, &found);
  CHECK (found == context);
  CALL (cuMemAlloc_v2, &at, sizeof x);
  CALL (cuMemcpyHtoDAsync_v2, at, x, sizeof x, stream);
  CALL (cuMemcpyDtoHAsync_v2, y, at, sizeof y, stream);
  use (o);
  CHECK (y[0] == 1 && y[3] == 4);
  CALL (cuMemFree_v2, at);
  CALL (cuCtxPopCurrent_v2, &found);
  puts ("stream: right");
}

int main (void)
{
  int code, done = 0;
  interop plain = make (0, 1, NULL), o = make (DEFAULT, 3, "\x80\x07\x80\0\x80\x02\x80""ompx_a\0ompx_b\0\0");
  CHECK (make (omp_get_num_devices (), 3, NULL) == NULL && make (-1, 3, NULL) == NULL);
  CHECK (plain != NULL && omp_get_interop_ptr (plain, -9, &code) == NULL && code == 1);
  CHECK (omp_get_interop_int (NULL, -1, &code) == 0 && code == -1);
  CHECK (omp_get_interop_int (o, 0, &code) == 0 && code == -2 && omp_get_interop_int (o, -10, NULL) == 0);
  CHECK (omp_get_num_interop_properties (o) == 0 && omp_get_interop_rc_desc (o, -5) && !omp_get_interop_rc_desc (o, -6));
  CHECK (omp_get_interop_type_desc (NULL, -1) == NULL && omp_get_interop_name (NULL, 0) == NULL);
  use (NULL);
  end (&plain, 1, NULL);
  CHECK (plain == NULL);
  show (o);
  if (omp_get_interop_int (o, -1, NULL) == 100)
    emulated_stream (o, 0);
  else
    cuda_stream (o);
  #pragma omp parallel num_threads (2)
  #pragma omp single
  {
    interop mine = make (0, 2, NULL);
    void *depend[] = { (void *) 1, (void *) 0, &done };
    #pragma omp target nowait map(tofrom: done) depend(out: done)
    done = 7;
    end (&mine, 1, depend);
    #pragma omp task depend(inout: done) shared(done, mine)
    CHECK (done == 7 && mine == NULL);
    #pragma omp taskwait
    CHECK (done == 7 && mine == NULL);
  }
  end (&o, 0, NULL);
  printf ("%s\n", o == NULL ? "ended" : "still there");
  return 0;
}
