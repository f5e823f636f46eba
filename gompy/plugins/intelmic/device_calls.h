/* What a region has a system call use: the kernel answers EFAULT at a closed page (device_marks.h), and asks nobody.
   So the pages are opened before.  Included once, by device_calls.pxi.  */
#ifndef GOMPY_DEVICE_CALLS_H
#define GOMPY_DEVICE_CALLS_H

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#define MIC_PARTS_MOST 1024u    /* IOV_MAX, UIO_MAXIOV */
#define MIC_REQUEST_MOST 128u   /* bytes that an ioctl's argument points to; its request tells of few */

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

/* Whether any of SIZE bytes may have marks.  Calls of the handler of faults, which has the marks already, are about its
   stack: they go no further than this.  */
static int
mic_may_be_marked (uint64_t begin, uint64_t size)
{
  if (begin < mic_marked_size || begin + size < size)
    return 1;
  for (uint32_t i = 0; i < mic_outer->count && i < MIC_OUTER_PAGES; i++)
    if (mic_outer->pages[i] - (uintptr_t) mic_marked_base + 4096 > begin
        && mic_outer->pages[i] - (uintptr_t) mic_marked_base < begin + size)
      return 1;
  return 0;
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
  if (mic_marks == NULL || size == 0 || size > mic_marked_size || !mic_may_be_marked (begin, size))
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
      mic_forget_pages (page, 4096, 1);
    }
  atomic_flag_clear (&mic_marks_busy);
  return found == MIC_MARK_STALE || all ? found : 0;
}

/* Of the functions that libasan calls before it has a shadow: they are not to look at one.  */
#define MIC_BEFORE_ALL __attribute__ ((no_sanitize ("address,undefined")))

/* The C library's function of a name, once it is known in *KEPT.  */
static inline MIC_BEFORE_ALL void *
mic_next_call (void **kept, const char *name)
{
  void *found = __atomic_load_n (kept, __ATOMIC_RELAXED);
  if (found == NULL)
    __atomic_store_n (kept, found = dlsym (RTLD_NEXT, name), __ATOMIC_RELAXED);
  return found;
}

/* A region gives memory to the kernel, which reads it or WRITES there; PC: where it returns to.  device_calls.pxi.  */
void mic_kernel_uses (const void *, size_t, int, void *);
void mic_kernel_reads_text (const char *);

/* Whether SIZE bytes can be read; what has marks can, or is judged as it is read.  The kernel is asked by a call that
   reads eight bytes, then finds that its first argument is wrong.  */
static int
mic_is_readable (const void *p, size_t size)
{
  uintptr_t at = (uintptr_t) p & ~7ull, end = (uintptr_t) p + size, before = errno;
  int readable = at != 0 && end >= (uintptr_t) p;  /* of a null pointer it reads nothing */
  for (; readable && at < end; at = (at & ~4095ull) + 4096)
    if (!mic_may_be_marked (at - (uintptr_t) mic_marked_base, 8)
        && syscall (SYS_rt_sigprocmask, ~0, (void *) at, NULL, (size_t) 8) != 0)
      readable = errno != EFAULT;
  errno = (int) before;
  return readable;
}

/* The size of a string with its end; 0 if it is none that can be read: the kernel answers EFAULT.  */
static size_t
mic_text_size (const char *text)
{
  size_t size = 0, part;
  while (mic_is_readable (text + size, 1))
    {
      part = 4096 - ((uintptr_t) text + size) % 4096;
      const char *end = memchr (text + size, 0, part);
      if (end != NULL)
        return (size_t) (end - text) + 1;
      size += part;
    }
  return 0;
}

/* The parts of a list, whose structures the kernel reads.  Their number is the program's: no list is longer.  */
static void
mic_kernel_uses_parts (const struct iovec *parts, size_t count, int writes, void *pc)
{
  if (count > MIC_PARTS_MOST || !mic_is_readable (parts, count * sizeof *parts))
    return;
  for (size_t i = 0; i < count; i++)
    mic_kernel_uses (parts[i].iov_base, parts[i].iov_len, writes, pc);
  mic_kernel_uses (parts, count * sizeof *parts, 0, pc);
}

/* Memory of a size that the kernel reads, and changes.  */
static void
mic_kernel_counts (const void *p, const socklen_t *size, void *pc)
{
  if (p == NULL || !mic_is_readable (size, sizeof *size))
    return;
  mic_kernel_uses (p, *size, 1, NULL);
  mic_kernel_uses (size, sizeof *size, 0, pc);
}

/* Messages, each of them STRIDE bytes behind the one before.  */
static void
mic_kernel_uses_messages (const char *at, size_t count, size_t stride, int writes, void *pc)
{
  if (count > MIC_PARTS_MOST)
    return;
  for (size_t i = 0; i < count; i++, at += stride)
    {
      const struct msghdr *message = (const struct msghdr *) at;
      if (!mic_is_readable (at, stride ? stride : sizeof *message))
        return;
      mic_kernel_uses (message->msg_name, message->msg_namelen, writes, pc);
      mic_kernel_uses (message->msg_control, message->msg_controllen, writes, pc);
      mic_kernel_uses_parts (message->msg_iov, message->msg_iovlen, writes, pc);
      mic_kernel_uses (message, stride ? stride : sizeof *message, 1, NULL);  /* there lies padding, too */
    }
}

/* Each call is made with all registers that may have arguments.  The C library's headers say more of these functions
   than is so here, so the names in C are others.  */
typedef long (*mic_call_fn) (long, long, long, long, long, long);
#define IN(p, size) mic_kernel_uses ((void *) (p), (size_t) (size), 0, pc);
#define OUT(p, size) mic_kernel_uses ((void *) (p), (size_t) (size), 1, NULL);
#define TEXT(p) mic_kernel_reads_text ((const char *) (p));
#define IN_PARTS(p, count) mic_kernel_uses_parts ((struct iovec *) (p), (size_t) (int) (count), 0, pc);
#define OUT_PARTS(p, count) mic_kernel_uses_parts ((struct iovec *) (p), (size_t) (int) (count), 1, pc);
#define OUT_COUNTED(p, size) mic_kernel_counts ((void *) (p), (socklen_t *) (size), pc);
#define MESSAGES(p, count, stride, writes) \
  mic_kernel_uses_messages ((const char *) (p), (unsigned) (count), stride, writes, pc);
#define SETS(x, y, z, n) OUT (x, MIC_SET_SIZE (n)) OUT (y, MIC_SET_SIZE (n)) OUT (z, MIC_SET_SIZE (n))
#define MIC_SET_SIZE(n) (((unsigned) (n) + 63) / 64 * 8)

#define KERNEL_CALL(name, uses) \
  long mic_##name##_call (long, long, long, long, long, long) __asm__ (#name); \
  MIC_BEFORE_ALL long mic_##name##_call (long a, long b, long c, long d, long e, long f) \
  { \
    static void *next; \
    void *pc = __builtin_return_address (0); \
    (void) pc; \
    if (mic_marks != NULL) \
      { \
        uses \
      } \
    return ((mic_call_fn) mic_next_call (&next, #name)) (a, b, c, d, e, f); \
  }
#include "device_call_table.h"
#undef IN
#undef OUT
#undef TEXT

#endif
