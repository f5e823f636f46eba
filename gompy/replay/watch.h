/* Stores of this process to pages that are watched: each faults, is let through by a single step, and is noted with the
   contents before and after.

   Pages can be read as ever.  While one thread does its step the page is open to all: who wants to see all stores has
   the threads on one processor.  */
#ifndef GOMPY_REPLAY_WATCH_H
#define GOMPY_REPLAY_WATCH_H

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define GOMPY_STORE_PAGE 4096ull
#define GOMPY_STORE_TRAP 0x100          /* TF of EFLAGS */

enum { GOMPY_STORE_BYTES = 64, GOMPY_STORES_MOST = 1 << 20, GOMPY_STORE_PAGES = 4096, GOMPY_STORE_PARTS = 4 };

struct gompy_store
{
  uint64_t pc, address;
  uint32_t size;
  unsigned char before[GOMPY_STORE_BYTES], after[GOMPY_STORE_BYTES];
};

static struct gompy_store *gompy_stores;        /* GOMPY_STORES_MOST of them */
static volatile unsigned gompy_store_count;     /* may be more */
static uint64_t gompy_store_pages[GOMPY_STORE_PAGES];  /* in ascending order */
static unsigned gompy_store_page_count;
static struct sigaction gompy_store_old[2];
static __thread struct gompy_store gompy_step[GOMPY_STORE_PARTS];  /* a store may meet two pages */
static __thread unsigned gompy_step_count;

static int
gompy_store_watches (uint64_t page)
{
  unsigned low = 0, high = gompy_store_page_count;
  while (low < high)
    {
      unsigned middle = (low + high) / 2;
      if (gompy_store_pages[middle] == page)
	return 1;
      if (gompy_store_pages[middle] < page)
	low = middle + 1;
      else
	high = middle;
    }
  return 0;
}

static void
gompy_store_fault (int signo, siginfo_t *info, void *context)
{
  greg_t *registers = ((ucontext_t *) context)->uc_mcontext.gregs;
  uint64_t address = (uint64_t) info->si_addr, page = address & -GOMPY_STORE_PAGE;
  struct gompy_store *store = NULL;
  int error = errno;
  if (info->si_code != SEGV_ACCERR || !gompy_store_watches (page) || gompy_step_count == GOMPY_STORE_PARTS)
    {
      sigaction (signo, &gompy_store_old[0], NULL);  /* it happens again */
      return;
    }
  mprotect ((void *) page, GOMPY_STORE_PAGE, PROT_READ | PROT_WRITE);
  for (unsigned i = 0; i < gompy_step_count; i++)
    if (gompy_step[i].address == address)
      store = &gompy_step[i];  /* another thread has closed the page since */
  if (!store)
    {
      store = &gompy_step[gompy_step_count++];
      store->pc = (uint64_t) registers[REG_RIP];
      store->address = address;
      store->size = page + GOMPY_STORE_PAGE - address < GOMPY_STORE_BYTES
		    ? (uint32_t) (page + GOMPY_STORE_PAGE - address) : GOMPY_STORE_BYTES;
      memcpy (store->before, (void *) address, store->size);
    }
  registers[REG_EFL] |= GOMPY_STORE_TRAP;
  errno = error;
}

static void
gompy_store_stepped (int signo, siginfo_t *info, void *context)
{
  int error = errno;
  (void) info;
  if (!gompy_step_count)
    {
      sigaction (signo, &gompy_store_old[1], NULL);
      raise (signo);
      return;
    }
  ((ucontext_t *) context)->uc_mcontext.gregs[REG_EFL] &= ~(greg_t) GOMPY_STORE_TRAP;
  while (gompy_step_count)
    {
      struct gompy_store *store = &gompy_step[--gompy_step_count];
      unsigned number = __atomic_fetch_add (&gompy_store_count, 1, __ATOMIC_RELAXED);
      memcpy (store->after, (void *) store->address, store->size);
      if (number < GOMPY_STORES_MOST)
	gompy_stores[number] = *store;
      else
	gompy_store_count = GOMPY_STORES_MOST;
      mprotect ((void *) (store->address & -GOMPY_STORE_PAGE), GOMPY_STORE_PAGE, PROT_READ);
    }
  errno = error;
}

/* Begin to watch the pages; -1, and errno.  */
static int
gompy_stores_begin (void)
{
  struct sigaction action = { .sa_flags = SA_SIGINFO };
  if (!gompy_stores)
    {
      void *room = mmap (NULL, GOMPY_STORES_MOST * sizeof (struct gompy_store), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (room == MAP_FAILED)
	return -1;
      gompy_stores = room;
    }
  gompy_store_count = 0;
  sigemptyset (&action.sa_mask);
  action.sa_sigaction = gompy_store_fault;
  if (sigaction (SIGSEGV, &action, &gompy_store_old[0]))
    return -1;
  action.sa_sigaction = gompy_store_stepped;
  if (sigaction (SIGTRAP, &action, &gompy_store_old[1]))
    return -1;
  for (unsigned i = 0; i < gompy_store_page_count; i++)
    if (mprotect ((void *) gompy_store_pages[i], GOMPY_STORE_PAGE, PROT_READ))
      return -1;
  return 0;
}

/* Open the pages again.  */
static void
gompy_stores_end (void)
{
  for (unsigned i = 0; i < gompy_store_page_count; i++)
    mprotect ((void *) gompy_store_pages[i], GOMPY_STORE_PAGE, PROT_READ | PROT_WRITE);
  sigaction (SIGSEGV, &gompy_store_old[0], NULL);
  sigaction (SIGTRAP, &gompy_store_old[1], NULL);
}

#endif
