/* What a region has a system call use: the kernel answers EFAULT at a closed page (device_marks.h), and asks nobody.
   So the pages are opened before.  Included once, by device_calls.pxi.  */
#ifndef GOMPY_DEVICE_CALLS_H
#define GOMPY_DEVICE_CALLS_H

/* What the kernel reads of [BEGIN, END) of a page: the mark of the first byte that is doubtful, its offset in *WHERE;
   and whether all of them are (*ALL).  */
static unsigned
mic_doubt_in (const unsigned char *marks, uint64_t begin, uint64_t end, uint64_t *where, int *all)
{
  unsigned found = 0;
  for (uint64_t i = begin; i < end; i++)
    if (marks[i % 4096] <= MIC_MARK_GOOD)
      *all = 0;
    else if (found < marks[i % 4096])  /* what the host has changed comes first */
      {
	found = marks[i % 4096];
	*where = i;
      }
  return found;
}

/* The kernel is to use SIZE bytes of a region's, or to write there.  Nothing more is known of their pages then.  A read
   of what is doubtful gives its mark, and the address in *WHERE: who passes a structure passes what lies unset between
   its members, too, so that all must be.  EXACT: pages of the arena are open, and their marks are the images' own.  */
static unsigned
mic_open_for_kernel (const void *p, size_t size, int writes, int exact, uint64_t *where)
{
  uint64_t begin = (uintptr_t) p - (uintptr_t) mic_marked_base, end = begin + size, at = 0;
  unsigned found = 0, mark;
  int all = 1;
  if (mic_marks == NULL || size == 0 || size > mic_marked_size)
    return 0;
  while (atomic_flag_test_and_set (&mic_marks_busy))
    sched_yield ();
  for (uint64_t page = begin & ~4095ull; page != ((end + 4095) & ~4095ull); page += 4096)
    {
      uint64_t low = page == (begin & ~4095ull) ? begin : page, high = low + (4096 - low % 4096);
      if (!mic_page_in_use (page) || (exact && page < mic_marked_size))
	continue;
      high = high - begin < size ? high : end;
      mark = writes ? 0 : mic_doubt_in (mic_page_marks (page), low, high, &at, &all);
      if (mark > found)
	{
	  found = mark;
	  *where = at + (uintptr_t) mic_marked_base;
	}
      mic_forget_page (page);
    }
  atomic_flag_clear (&mic_marks_busy);
  return found == MIC_MARK_STALE || all ? found : 0;
}

/* The C library's function of a name, once it is known in *KEPT.  */
static inline void *
mic_next_call (void **kept, const char *name)
{
  void *found = __atomic_load_n (kept, __ATOMIC_RELAXED);
  if (found == NULL)
    __atomic_store_n (kept, found = dlsym (RTLD_NEXT, name), __ATOMIC_RELAXED);
  return found;
}

static void *mic_next_read, *mic_next_write, *mic_next_pread, *mic_next_pwrite, *mic_next_fread, *mic_next_fwrite;
static void *mic_next_open, *mic_next_openat, *mic_next_fopen;

/* The C library's headers say more of these functions than is so here, and have other names for some.  */
ssize_t mic_read_call (int, void *, size_t) __asm__ ("read");
ssize_t mic_write_call (int, const void *, size_t) __asm__ ("write");
ssize_t mic_pread_call (int, void *, size_t, off_t) __asm__ ("pread");
ssize_t mic_pwrite_call (int, const void *, size_t, off_t) __asm__ ("pwrite");
ssize_t mic_pread64_call (int, void *, size_t, off_t) __asm__ ("pread64");
ssize_t mic_pwrite64_call (int, const void *, size_t, off_t) __asm__ ("pwrite64");
int mic_open_call (const char *, int, unsigned) __asm__ ("open");
int mic_open64_call (const char *, int, unsigned) __asm__ ("open64");
int mic_openat_call (int, const char *, int, unsigned) __asm__ ("openat");
int mic_openat64_call (int, const char *, int, unsigned) __asm__ ("openat64");
FILE *mic_fopen_call (const char *, const char *) __asm__ ("fopen");
FILE *mic_fopen64_call (const char *, const char *) __asm__ ("fopen64");
size_t mic_fread_call (void *, size_t, size_t, FILE *) __asm__ ("fread");
size_t mic_fwrite_call (const void *, size_t, size_t, FILE *) __asm__ ("fwrite");

#endif
