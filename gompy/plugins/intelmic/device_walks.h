/* The device's side of -foffload-check: places of code that walk through memory.

   A place that goes on where it was last, as in a loop that is not asked about at once, is followed.  Its accesses to a
   kilobyte are noted together when it leaves that, and all of a thread's before anything by which the thread may come
   to know of others or they of it.  A walk begins only where all bytes are good and where nothing is noted of others
   that it could race with, whatever they release.  So what is noted of them at its end happened meanwhile: no release
   since can have ordered that.  Images by former hooks do not tell when a thread may come to know of others: with one
   of them there are no walks.  Included once, by device_access.h.  */
#ifndef GOMPY_DEVICE_WALKS_H
#define GOMPY_DEVICE_WALKS_H

#define MIC_WALKS 256u      /* places that are remembered, a power of 2 */
#define MIC_OPEN_WALKS 32u  /* of these, at a time */
#define MIC_AGAIN 256u      /* accesses to what a walk has been at; then it ends: atomic operations look for it */
#define MIC_WALKED 512u     /* bytes of an access that may be a step of a walk */

/* All places are addresses, as compiled code compares and moves those of a site's walks (access.h: gompy_step).  */
struct mic_walk
{
  const unsigned char *site; /* of the first walk of a site, or of a row's place of code */
  uintptr_t next, end;       /* where the walk goes on; where it ends at the latest, 0: there is none */
  uintptr_t begin;           /* from there to `next` is to be noted; where nothing is, that is the last access */
  uintptr_t place;           /* the code's, and whether it writes */
  unsigned again;
} __attribute__ ((aligned (64)));
_Static_assert (offsetof (struct mic_walk, site) == offsetof (struct gompy_step, site)
                  && offsetof (struct mic_walk, next) == offsetof (struct gompy_step, next)
                  && offsetof (struct mic_walk, end) == offsetof (struct gompy_step, end)
                  && sizeof (struct mic_walk) == GOMPY_STEP_BYTES,
                "compiled code finds a walk's step");

/* A row that is asked about as a whole, or an access of a site.  Each of its spans has a walk, and its own place of
   code.  */
struct mic_row
{
  struct mic_walk spans[GOMPY_STEPS];
};

/* What a thread follows.  It is 80 KiB, which the C library would clear at the start of each thread, of devices that
   check nothing, too: so a thread has its own from the first walk on.  Before, it reads one in which nothing is ever
   written.  */
struct mic_followed
{
  struct mic_row rows[GOMPY_SITES];  /* first: compiled code looks there */
  struct mic_walk walks[MIC_WALKS];
  uint32_t images;                   /* what mic_images_were was; 0: it is mic_nothing */
};

/* How often images were closed, and 1.  A row is known by its place in one: another image may have another row there,
   which reads what that has written.  */
static _Atomic uint32_t mic_images_were = 1;
static struct mic_followed mic_nothing;
static __thread struct mic_followed *mic_followed __attribute__ ((tls_model ("local-exec"))) = &mic_nothing;
static pthread_key_t mic_followed_key;
static __thread struct mic_walk *mic_open_walks[MIC_OPEN_WALKS]; /* and some that have ended since */
static __thread unsigned mic_open_walk_count;

static void
mic_free_followed (void *followed)
{
  mic_open_walk_count = 0;
  mic_followed = &mic_nothing;
  munmap (followed, sizeof *mic_followed);
}

/* Once, before any access.  */
static int
mic_begin_following (void)
{
  return pthread_key_create (&mic_followed_key, mic_free_followed) == 0;
}

/* Have the calling thread's own, with nothing in it; false: there is no memory for it, and nothing is followed.  */
static int __attribute__ ((noinline))
mic_follow (void)
{
  struct mic_followed *own = mic_followed;
  if (own != &mic_nothing)
    {
      mic_end_walks ();
      memset (own, 0, sizeof *own);
    }
  else if ((own = mic_reserve (sizeof *own)) == NULL)
    return 0;
  else
    pthread_setspecific (mic_followed_key, own);
  own->images = atomic_load (&mic_images_were);
  mic_followed = own;
  return 1;
}

static inline int
mic_may_follow (void)
{
  uint32_t images = atomic_load_explicit (&mic_images_were, memory_order_relaxed);
  return __builtin_expect (mic_followed->images == images, 1) || mic_follow ();
}

/* An image is closed: its rows are none any more.  */
static void
mic_forget_rows (void)
{
  atomic_fetch_add (&mic_images_were, 1);
}

static void __attribute__ ((noinline))
mic_end_walk (struct mic_walk *w)
{
  int writes = w->place & 1;
  const void *pc = (const void *) (w->place >> 1);
  uint64_t begin = w->begin - gompy_access.low, end = w->next - gompy_access.low;
  w->end = 0;
  mic_walk_ends = 1;
  if (!mic_note_span (begin, end, writes, pc))
    mic_race (begin, end - begin, writes, 0, pc);
  mic_walk_ends = 0;
}

/* The calling thread's word is about to change, or what it knows of others.  */
static void
mic_end_walks (void)
{
  while (mic_open_walk_count != 0)
    {
      struct mic_walk *w = mic_open_walks[--mic_open_walk_count];
      if (w->end != 0)
        mic_end_walk (w);
    }
}

/* Whether what is noted of all of a block is the thread's, or before a barrier of its group.  */
static int
mic_is_behind (const _Atomic uint64_t *place)
{
  uint32_t interval = atomic_load_explicit (place, memory_order_relaxed) >> 16 & 0xffffff;
  return !mic_of_others (place, mic_word | 0xff, 0xff)
         || (interval != mic_place.interval
             && mic_interval_team[interval] == ((struct mic_group *) mic_place.group)->team);
}

/* Whether a walk may begin in a kilobyte.  */
static int
mic_may_walk (uint64_t offset, int writes)
{
  struct mic_block *block = &mic_blocks[offset / MIC_BLOCK];
  if (mic_word == 0 || mic_former || mic_has_atomics (block)
      || !mic_is_good (block, offset) || !mic_is_behind (&block->write))
    return 0;
  if (!writes)
    return !mic_has_cells (&block->last_write) || mic_may_own (block, 0);
  return mic_may_own (block, 0) && mic_is_behind (&block->read) && mic_is_behind (&block->before)
	 && !mic_settle (offset);
}

/* Begin a walk with [ADDRESS, NEXT), where that may be.  */
static int
mic_begin_walk (struct mic_walk *w, uintptr_t address, uintptr_t next)
{
  uint64_t offset = address - gompy_access.low, last = (offset & -(uint64_t) MIC_BLOCK) + MIC_BLOCK;
  unsigned i;
  if (offset >= mic_access_size || next - address > MIC_BLOCK || next - gompy_access.low > last
      || !mic_may_walk (offset, w->place & 1))
    return 0;
  __builtin_prefetch (&mic_blocks[last / MIC_BLOCK]); /* where it goes on, as a rule */
  for (i = 0; i < mic_open_walk_count && mic_open_walks[i] != w; i++)
    ;
  if (i == MIC_OPEN_WALKS)
    return 0;
  if (i == mic_open_walk_count)
    mic_open_walks[mic_open_walk_count++] = w;
  w->begin = address;
  w->next = next;
  w->end = gompy_access.low + last;
  w->again = 0;
  return 1;
}

/* An access that is in no walk, or ends that of its place; NEAR: it begins where the last one was.  1: a walk has begun
   by it.  */
static int __attribute__ ((noinline))
mic_walk_anew (struct mic_walk *w, uintptr_t place, uintptr_t address, size_t size, int near)
{
  uintptr_t edge = w->end, from = address;
  if (near && address < edge && size <= MIC_BLOCK && address + size > edge)
    w->next = from = edge; /* its first bytes are the last ones of the walk's kilobyte */
  if (edge != 0)
    mic_end_walk (w);
  w->place = place;
  if (near && mic_begin_walk (w, from, address + size))
    return 1;
  w->begin = address;
  w->next = address + size;
  return 0;
}

/* That of a place of code, which is the place's or will be.  */
static inline __attribute__ ((always_inline)) struct mic_walk *
mic_walk_of (uintptr_t place)
{
  return &mic_followed->walks[(place ^ place >> 8) % MIC_WALKS];
}

/* Whether an access is a step of a walk that is its place's, and to be noted at its end.  Nothing is called here: who
   asks this first, and leaves all else to another function, needs no frame.  */
static inline __attribute__ ((always_inline)) int
mic_follows (struct mic_walk *w, uintptr_t place, uintptr_t address, size_t size)
{
  uintptr_t next = address + size;
  if (__builtin_expect (w->place != place || address - w->begin > w->next - w->begin || next > w->end
                          || (next <= w->next && ++w->again >= MIC_AGAIN), 0))
    return 0;
  w->next = next > w->next ? next : w->next;
  return 1;
}

static inline __attribute__ ((always_inline)) int
mic_walks_on (uintptr_t address, size_t size, int writes, const void *pc)
{
  uintptr_t place = (uintptr_t) pc << 1 | (unsigned) writes;
  return mic_follows (mic_walk_of (place), place, address, size);
}

/* The same of one that is none by what mic_follows says: whether a walk begins by it.  */
static inline int
mic_follows_anew (struct mic_walk *w, uintptr_t place, uintptr_t address, size_t size)
{
  int near = w->place == place && address - w->begin <= w->next - w->begin;
  if (near || w->end != 0)
    return mic_walk_anew (w, place, address, size, near);
  w->place = place;
  w->begin = address;
  w->next = address + size;
  return 0;
}

static inline int
mic_walks_anew (uintptr_t address, size_t size, int writes, const void *pc)
{
  uintptr_t place = (uintptr_t) pc << 1 | (unsigned) writes;
  return mic_may_follow () && mic_follows_anew (mic_walk_of (place), place, address, size);
}

/* --- rows of statements ------------------------------------------------------------------------------------------ */

static __thread struct mic_row *mic_row; /* whose spans are asked about one by one; NULL: no spans are followed */

static inline __attribute__ ((always_inline)) struct mic_row *
mic_row_of (uintptr_t pc)
{
  return &mic_followed->rows[(pc ^ pc >> 8) % GOMPY_SITES];
}

/* The row or access of SITE, which looks at ROW, has that from here on.  */
static void
mic_take_row (struct mic_row *row, const unsigned char *site)
{
  for (unsigned i = 0; i < GOMPY_STEPS; i++)
    {
      if (row->spans[i].end != 0)
        mic_end_walk (&row->spans[i]);
      memset (&row->spans[i], 0, sizeof row->spans[i]);
    }
  row->spans[0].site = site;
}

/* Whether a span goes on where it was last; what is not in the arena does.  */
static int
mic_span_goes_on (struct mic_walk *w, uintptr_t address, uint64_t size)
{
  uint64_t offset = address - gompy_access.low;
  if (mic_follows (w, w->place, address, size))
    return 1;
  if (offset >= mic_access_size)
    return offset <= -size;
  return w->place != 0 && address - w->begin <= w->next - w->begin && mic_walk_anew (w, w->place, address, size, 1);
}

/* The same of a row, where not each span is a step forwards.  Where the answer is 0, each is asked about.  */
static int
mic_row_goes_on (struct mic_row *row, uint64_t kinds, const uintptr_t *at, const unsigned char *site)
{
  mic_row = row;
  if (row->spans[0].site != site)
    mic_take_row (row, site);
  for (unsigned i = 0; i < GOMPY_STEPS && kinds != 0; i++, kinds >>= GOMPY_ROW_BITS)
    if (!mic_span_goes_on (&row->spans[i], at[i], kinds & GOMPY_RANGE_SIZE))
      return 0;
  return 1;
}

static int __attribute__ ((noinline))
mic_row_anew (uint64_t kinds, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, const void *pc)
{
  const uintptr_t at[GOMPY_STEPS] = { a, b, c, d };
  mic_row = NULL;
  return mic_may_follow () && mic_row_goes_on (mic_row_of ((uintptr_t) pc), kinds, at, pc);
}

/* That of a site.  */
static int
mic_access_row_at (uint64_t kinds, const uintptr_t *at, const unsigned char *site, const void *pc)
{
  (void) pc;  /* each of its spans has its own, by `range` */
  mic_row = NULL;
  return mic_may_follow () && mic_row_goes_on (&mic_followed->rows[*site], kinds, at, site);
}

/* Whether an access of a site that compiled code has found to be no step forwards is one of its walk, or begins one.
   The site says whose walk it is: its code may be there more than once.  */
static int
mic_site_walks (uintptr_t address, size_t size, int writes, const unsigned char *site, const void *pc)
{
  struct mic_row *row;
  struct mic_walk *w;
  if (!mic_may_follow ())
    return 0;
  row = &mic_followed->rows[*site];
  w = &row->spans[0];
  if (w->site != site)
    mic_take_row (row, site);
  if (mic_follows (w, w->place, address, size))
    return 1;
  return mic_walk_anew (w, (uintptr_t) pc << 1 | (unsigned) writes, address, size,
                        address - w->begin <= w->next - w->begin);
}

/* Whether a span is a step of its walk that goes forwards.  Its bytes before the walk's begin are the last ones of the
   walk's before it.  */
static inline __attribute__ ((always_inline)) int
mic_span_steps (struct mic_walk *w, uintptr_t address, uint64_t size)
{
  uintptr_t next = address + size;
  if (__builtin_expect (next - w->next - 1 >= size || next > w->end, 0))
    return 0;
  w->next = next;
  return 1;
}

static int
mic_access_row (uint64_t kinds, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, const void *pc)
{
  struct mic_row *row = mic_row_of ((uintptr_t) pc);
  const unsigned bits = GOMPY_ROW_BITS;
  if (__builtin_expect (row->spans[0].site != pc, 0)
      || !mic_span_steps (&row->spans[0], a, kinds & GOMPY_RANGE_SIZE)
      || (kinds >> bits != 0 && !mic_span_steps (&row->spans[1], b, kinds >> bits & GOMPY_RANGE_SIZE))
      || (kinds >> 2 * bits != 0 && !mic_span_steps (&row->spans[2], c, kinds >> 2 * bits & GOMPY_RANGE_SIZE))
      || (kinds >> 3 * bits != 0 && !mic_span_steps (&row->spans[3], d, kinds >> 3 * bits & GOMPY_RANGE_SIZE)))
    return mic_row_anew (kinds, a, b, c, d, pc);
  return 1;
}

/* Whether one of its spans goes on, or a walk begins by it.  */
static int
mic_span_walks (uintptr_t address, size_t size, int kind, const void *pc)
{
  uintptr_t place = (uintptr_t) pc << 1 | (kind / GOMPY_RANGE_WRITES & 1);
  struct mic_walk *w;
  if (mic_row == NULL)
    return 0;
  w = &mic_row->spans[GOMPY_ROW_SPAN (kind)];
  return mic_follows (w, place, address, size) || mic_follows_anew (w, place, address, size);
}

#endif
