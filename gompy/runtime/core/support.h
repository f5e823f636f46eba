/* What libgompy needs of C that Cython has no words for: thread-local variables, variable argument lists, atomic
   operations, a constructor and a destructor.  Included once, by libgompy.pyx.  */
#ifndef GOMPY_SUPPORT_H
#define GOMPY_SUPPORT_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gompy/native/lock.h"

#define GOMPY_EXPORT __attribute__ ((visibility ("default")))
#define GOMPY_MESSAGE_SIZE 1024

/* --- reports (libgomp: error.c for the form of the text) --------------------------------------------------------- */

/* The text of the failure that a mapping function of this thread returned (failures.pxi).  */
static __thread char gompy_failure[GOMPY_MESSAGE_SIZE];

/* 0 unless GOMP_DEBUG asks for debug output; set by environment.pxi.  */
static int gompy_debug_level;

/* check_log.h */
static void gompy_log_text (uint32_t, const char *, size_t);

static void
gompy_vreport (const char *fmt, va_list ap)
{
  char text[2 * GOMPY_MESSAGE_SIZE];
  int used = snprintf (text, sizeof text, "\nlibgomp: ");
  used += vsnprintf (text + used, sizeof text - used - 1, fmt, ap);
  if (used > (int) sizeof text - 2)
    used = sizeof text - 2;
  text[used++] = '\n';
  fflush (stdout);
  fwrite (text, 1, used, stderr);
  gompy_log_text (0, text, used);
}

static void __attribute__ ((format (printf, 1, 2)))
gompy_error (const char *fmt, ...)
{
  va_list ap;
  va_start (ap, fmt);
  gompy_vreport (fmt, ap);
  va_end (ap);
}

/* One line of libgompy's own, not one of libgomp's messages.  */
static void __attribute__ ((format (printf, 1, 2)))
gompy_note (const char *fmt, ...)
{
  char text[2 * GOMPY_MESSAGE_SIZE];
  va_list ap;
  va_start (ap, fmt);
  int used = snprintf (text, sizeof text, "libgompy: ");
  used += vsnprintf (text + used, sizeof text - used - 1, fmt, ap);
  va_end (ap);
  if (used > (int) sizeof text - 2)
    used = sizeof text - 2;
  text[used++] = '\n';
  fflush (stdout);
  fwrite (text, 1, used, stderr);
}

/* The thread whose exit finalises the devices, once gompy_exiting is set.  */
static int gompy_exiting;
static pthread_t gompy_exiting_thread;

static void
gompy_begin_exit (void)
{
  gompy_exiting_thread = pthread_self ();
  __atomic_store_n (&gompy_exiting, 1, __ATOMIC_RELEASE);
}

/* A thread whose device goes away because another one ends the program has nothing to report: it waits for the end.  */
static void
gompy_wait_for_exit (void)
{
  if (__atomic_load_n (&gompy_exiting, __ATOMIC_ACQUIRE) && !pthread_equal (gompy_exiting_thread, pthread_self ()))
    for (;;)
      pause ();
}

/* End the program with status 1.  exit runs handlers, which finalise the devices: the caller holds no lock.  A second
   fatal error of the same thread, from a handler, ends at once; one of another thread waits for the end.  */
static int gompy_error_exit;

/* While a door's construct is launched in this thread: where it is, and what the door says last of a fatal error.
   Such a program ends by SIGABRT, when all is put away.  */
static __thread const void *gompy_door_place;
static void (*gompy_door_says) (const void *place);
static int gompy_ends_by_abort;
static void (*gompy_devices_end) (void);   /* what exit calls */
static void gompy_library_ends (void);

static void __attribute__ ((noreturn))
gompy_exit_fatal (void)
{
  static pthread_t owner;
  int free_state = 0;
  if (__atomic_compare_exchange_n (&gompy_error_exit, &free_state, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    {
      owner = pthread_self ();
      __atomic_store_n (&gompy_error_exit, 2, __ATOMIC_RELEASE);
      if (gompy_door_place)
        {
          gompy_door_says (gompy_door_place);
          gompy_ends_by_abort = 1;
          if (gompy_devices_end && gettid () != getpid ())
            {
              /* Perhaps in one of libomp's helper threads (nowait): within exit libomp waits for all of them.  */
              gompy_devices_end ();
              gompy_library_ends ();
            }
        }
      exit (1);
    }
  if (__atomic_load_n (&gompy_error_exit, __ATOMIC_ACQUIRE) == 2 && pthread_equal (owner, pthread_self ()))
    _exit (1);
  for (;;)
    pause ();
}

/* A region whose device has gone in another thread's fatal error does not begin on the host.  */
static void
gompy_wait_for_error_exit (void)
{
  if (__atomic_load_n (&gompy_error_exit, __ATOMIC_ACQUIRE))
    gompy_wait_for_exit ();
}

/* Report and end; one after an error that ends the program already waits for that end instead.  */
static void __attribute__ ((noreturn))
gompy_vfatal (const char *fmt, va_list ap)
{
  gompy_wait_for_exit ();
  gompy_vreport (fmt, ap);
  gompy_exit_fatal ();
}

static void __attribute__ ((noreturn, format (printf, 1, 2)))
gompy_fatal (const char *fmt, ...)
{
  va_list ap;
  va_start (ap, fmt);
  gompy_vfatal (fmt, ap);
}

static int __attribute__ ((format (printf, 1, 2)))
gompy_fail (const char *fmt, ...)
{
  va_list ap;
  va_start (ap, fmt);
  vsnprintf (gompy_failure, sizeof gompy_failure, fmt, ap);
  va_end (ap);
  return -1;
}

static void __attribute__ ((format (printf, 1, 2)))
gompy_debug (const char *fmt, ...)
{
  if (!gompy_debug_level)
    return;
  va_list ap;
  va_start (ap, fmt);
  fputs ("libgompy: ", stderr);
  vfprintf (stderr, fmt, ap);
  va_end (ap);
}

/* --- the services with variable argument lists (libgomp: libgomp-plugin.c) --------------------------------------- */

GOMPY_EXPORT void
GOMP_PLUGIN_error (const char *fmt, ...)
{
  va_list ap;
  va_start (ap, fmt);
  gompy_vreport (fmt, ap);
  va_end (ap);
}

GOMPY_EXPORT void __attribute__ ((noreturn))
GOMP_PLUGIN_fatal (const char *fmt, ...)
{
  va_list ap;
  va_start (ap, fmt);
  gompy_vfatal (fmt, ap);
}

GOMPY_EXPORT void
GOMP_PLUGIN_debug (int kind, const char *fmt, ...)
{
  (void) kind;
  if (!gompy_debug_level)
    return;
  va_list ap;
  va_start (ap, fmt);
  vfprintf (stderr, fmt, ap);
  va_end (ap);
}

/* --- locks ------------------------------------------------------------------------------------------------------- */

/* A lock that its holder can take again: a plugin may end the program, or ask something, while it is called with locks
   held, and exit handlers and image destructors take them.  held counts, and is written by the holder only.  */
typedef struct
{
  gompy_quick_lock quick;
  pthread_t holder;
  int held;
} gompy_lock_t;

static inline void
gompy_lock_init (gompy_lock_t *lock)
{
  gompy_quick_init (&lock->quick);
  lock->held = 0;
}

/* pthread_self, without a call where the compiler knows how.  */
static inline pthread_t
gompy_self (void)
{
#if defined __x86_64__ && defined __has_builtin
#if __has_builtin (__builtin_thread_pointer)
  return (pthread_t) __builtin_thread_pointer ();
#endif
#endif
  return pthread_self ();
}

/* A holder that is none any more may stand there: held is 0 until the next one does.  */
static inline bool
gompy_lock_is_mine (gompy_lock_t *lock)
{
  return (__atomic_load_n (&lock->held, __ATOMIC_ACQUIRE)
          && pthread_equal (__atomic_load_n (&lock->holder, __ATOMIC_RELAXED), gompy_self ()));
}

static inline void
gompy_lock_acquire (gompy_lock_t *lock)
{
  if (__builtin_expect (gompy_lock_is_mine (lock), 0))
    {
      __atomic_store_n (&lock->held, lock->held + 1, __ATOMIC_RELAXED);
      return;
    }
  gompy_quick_acquire (&lock->quick);
  __atomic_store_n (&lock->holder, gompy_self (), __ATOMIC_RELAXED);
  __atomic_store_n (&lock->held, 1, __ATOMIC_RELEASE);
}

/* Without waiting; false: another thread holds it.  */
static inline bool
gompy_lock_try (gompy_lock_t *lock)
{
  if (!gompy_lock_is_mine (lock) && !gompy_quick_try (&lock->quick))
    return false;
  __atomic_store_n (&lock->holder, gompy_self (), __ATOMIC_RELAXED);
  __atomic_store_n (&lock->held, lock->held + 1, __ATOMIC_RELEASE);
  return true;
}

/* In what also runs at the end of the program.  After an error a thread that holds the lock may be waiting for that end
   (gompy_exit_fatal, or in a plugin whose device has died): false if it does not give it back within 100 ms.  */
static bool
gompy_lock_at_exit (gompy_lock_t *lock)
{
  if (!__atomic_load_n (&gompy_error_exit, __ATOMIC_ACQUIRE))
    {
      gompy_lock_acquire (lock);
      return true;
    }
  for (int i = 0; i < 100; i++)
    {
      if (gompy_lock_try (lock))
        return true;
      usleep (1000);
    }
  return false;
}

static inline void
gompy_lock_release (gompy_lock_t *lock)
{
  if (__builtin_expect (lock->held > 1, 0))
    {
      __atomic_store_n (&lock->held, lock->held - 1, __ATOMIC_RELAXED);
      return;
    }
  __atomic_store_n (&lock->held, 0, __ATOMIC_RELEASE);
  gompy_quick_release (&lock->quick);
}

/* The lock of the images and the device list.  */
static gompy_lock_t gompy_register_lock;  /* zeros: free */

/* --- atomic operations ------------------------------------------------------------------------------------------- */

static inline int gompy_load (int *p) { return __atomic_load_n (p, __ATOMIC_ACQUIRE); }
static inline void gompy_store (int *p, int v) { __atomic_store_n (p, v, __ATOMIC_RELEASE); }
static inline void *gompy_load_ptr (void *p) { return __atomic_load_n ((void **) p, __ATOMIC_ACQUIRE); }
static inline void gompy_store_ptr (void *p, void *v) { __atomic_store_n ((void **) p, v, __ATOMIC_RELEASE); }
static inline void gompy_count (uint64_t *p) { __atomic_fetch_add (p, 1, __ATOMIC_RELAXED); }
/* One more, in what only shows how often: what two threads count at one time may count once, and nobody waits.  */
static inline void
gompy_about_one_more (uint64_t *p)
{
  __atomic_store_n (p, __atomic_load_n (p, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}
static inline uint64_t gompy_read_count (uint64_t *p) { return __atomic_load_n (p, __ATOMIC_RELAXED); }

static inline bool
gompy_first (const char **p, const char *v)
{
  const char *none = NULL;
  return __atomic_compare_exchange_n (p, &none, v, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* --- thread state ------------------------------------------------------------------------------------------------ */

/* The target data constructs that this thread is in, innermost first (a TargetMem).  */
static __thread void *gompy_data_stack;

/* --- faults of copies between host and device (host_faults.pxi) -------------------------------------------------- */

static void gompy_copy_fault (uintptr_t address, int code);
static void gompy_host_fault (uintptr_t address, uintptr_t pc);  /* checks.pxi */
static struct sigaction gompy_segv_before, gompy_bus_before;

static void
gompy_on_fault (int signo, siginfo_t *info, void *context)
{
  struct sigaction *before = signo == SIGSEGV ? &gompy_segv_before : &gompy_bus_before;
  if (info->si_code > 0)
    gompy_copy_fault ((uintptr_t) info->si_addr, signo == SIGBUS ? -1 : info->si_code);
  if (before->sa_flags & SA_RESETHAND)
    signal (signo, SIG_DFL);
  if (before->sa_flags & SA_SIGINFO)
    before->sa_sigaction (signo, info, context);
  else if (before->sa_handler == SIG_DFL)
    {
      if (info->si_code > 0)
        gompy_host_fault ((uintptr_t) info->si_addr, (uintptr_t) ((ucontext_t *) context)->uc_mcontext.gregs[REG_RIP]);
      signal (signo, SIG_DFL);  /* the instruction faults again, and that ends the program as it would have */
      if (info->si_code <= 0)
        raise (signo);
    }
  else if (before->sa_handler != SIG_IGN)
    before->sa_handler (signo);
}

static void
gompy_catch (int signo, struct sigaction *before)
{
  struct sigaction ours;
  if (sigaction (signo, NULL, before) != 0
      || (!(before->sa_flags & SA_SIGINFO) && before->sa_handler == SIG_IGN))
    return;
  ours = *before;
  ours.sa_sigaction = gompy_on_fault;
  ours.sa_flags = (before->sa_flags & (SA_NODEFER | SA_RESTART)) | SA_SIGINFO | SA_ONSTACK;
  sigaction (signo, &ours, NULL);
}

static void
gompy_catch_copy_faults (void)
{
  gompy_catch (SIGSEGV, &gompy_segv_before);
  gompy_catch (SIGBUS, &gompy_bus_before);
}

/* --- load and end of the library --------------------------------------------------------------------------------- */

static void gompy_library_loaded (void);

static void __attribute__ ((constructor)) gompy_constructor (void) { gompy_library_loaded (); }
static void __attribute__ ((destructor)) gompy_destructor (void) { gompy_library_ends (); }

#endif
