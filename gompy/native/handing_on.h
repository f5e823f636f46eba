/* A signal's handler hands it on to the one that it was set over.  Was that one set over this one before, it hands the
   signal back: from a deeper frame, while this one waits for it.  (A handler may also leave by longjmp.)  */
#ifndef GOMPY_HANDING_ON_H
#define GOMPY_HANDING_ON_H

/* With the model "initial-exec" it is there from the start, not made at its first use, in a handler.  Who includes this
   chooses: there is little room for such variables of libraries that are opened late, as Python opens libgompy.  */
#ifndef GOMPY_HANDING_MODEL
#define GOMPY_HANDING_MODEL "global-dynamic"
#endif
static __thread struct { void *context, *frame; } gompy_handing __attribute__ ((tls_model (GOMPY_HANDING_MODEL)));

/* Whether the calling handler has handed on this very signal.  */
static inline __attribute__ ((always_inline)) int
gompy_comes_back (void *context)
{
  return gompy_handing.context == context && __builtin_frame_address (0) < gompy_handing.frame;
}

static inline __attribute__ ((always_inline)) void
gompy_begin_handing (void *context)
{
  gompy_handing.context = context;
  gompy_handing.frame = __builtin_frame_address (0);
}

static inline void
gompy_end_handing (void)
{
  gompy_handing.context = (void *) 0;
}

#endif
