/* Preloaded: fails the n-th call of a function that gompy's own files make in one kind of process.

   FAULT_CALL=function:n  which call fails
   FAULT_WHERE=host|device  in the program, or in the process of an emulated MIC
   FAULT_MARK=file  made when the call has failed

   Calls that the C library makes inside itself do not come by here; those of libgomp and of the program are let through,
   as are those of tools.  */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc (size_t);
extern void *__libc_calloc (size_t, size_t);
extern void *__libc_realloc (void *, size_t);

static char call[32];
static long wanted;
static long count;
static char mark[256];

__attribute__ ((constructor)) static void
read_settings (void)
{
  const char *text = getenv ("FAULT_CALL"), *where = getenv ("FAULT_WHERE"), *file = getenv ("FAULT_MARK");
  const char *colon = text ? strchr (text, ':') : NULL;
  int device = strcmp (program_invocation_short_name, "offload_target_main") == 0;
  if (!colon || !where || !file || strcmp (where, device ? "device" : "host") != 0)
    return;
  strncpy (mark, file, sizeof mark - 1);
  memcpy (call, text, colon - text);
  wanted = atol (colon + 1);
}

static int
is_gompys (void *caller)
{
  Dl_info info;
  return dladdr (caller, &info) && info.dli_fname != NULL
         && (strstr (info.dli_fname, "/gompy/_native/") != NULL);
}

/* Whether this call, made from `caller`, is the one to fail.  */
static int
fails (const char *name, void *caller)
{
  int fd;
  if (wanted == 0 || strcmp (name, call) != 0 || !is_gompys (caller))
    return 0;
  if (__atomic_add_fetch (&count, 1, __ATOMIC_SEQ_CST) != wanted)
    return 0;
  fd = syscall (SYS_openat, AT_FDCWD, mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  syscall (SYS_close, fd);
  return 1;
}

#define CALLER __builtin_return_address (0)
#define REAL(name) ((__typeof__ (&name)) dlsym (RTLD_NEXT, #name))
#define FAIL(name, error, value) \
  do \
    if (fails (#name, CALLER)) \
      { \
        errno = error; \
        return value; \
      } \
  while (0)

void *malloc (size_t n) { FAIL (malloc, ENOMEM, NULL); return __libc_malloc (n); }
void *calloc (size_t n, size_t m) { FAIL (calloc, ENOMEM, NULL); return __libc_calloc (n, m); }
void *realloc (void *p, size_t n) { FAIL (realloc, ENOMEM, NULL); return __libc_realloc (p, n); }

void *
mmap64 (void *p, size_t n, int access, int flags, int fd, off64_t at)
{
  FAIL (mmap64, ENOMEM, MAP_FAILED);
  return (void *) syscall (SYS_mmap, p, n, access, flags, fd, at);
}

int
mprotect (void *p, size_t n, int access)
{
  FAIL (mprotect, ENOMEM, -1);
  return syscall (SYS_mprotect, p, n, access);
}

int memfd_create (const char *name, unsigned flags)
{ FAIL (memfd_create, EMFILE, -1); return syscall (SYS_memfd_create, name, flags); }

int
open64 (const char *path, int flags, ...)
{
  va_list rest;
  va_start (rest, flags);
  unsigned mode = flags & O_CREAT ? va_arg (rest, unsigned) : 0;
  va_end (rest);
  FAIL (open64, EMFILE, -1);
  return syscall (SYS_openat, AT_FDCWD, path, flags, mode);
}

ssize_t read (int fd, void *to, size_t n) { FAIL (read, EIO, -1); return REAL (read) (fd, to, n); }
ssize_t write (int fd, const void *what, size_t n) { FAIL (write, ENOSPC, -1); return REAL (write) (fd, what, n); }
ssize_t pread64 (int fd, void *to, size_t n, off64_t at) { FAIL (pread64, EIO, -1); return REAL (pread64) (fd, to, n, at); }
ssize_t pwrite64 (int fd, const void *what, size_t n, off64_t at)
{ FAIL (pwrite64, ENOSPC, -1); return REAL (pwrite64) (fd, what, n, at); }
int pipe2 (int *ends, int flags) { FAIL (pipe2, EMFILE, -1); return syscall (SYS_pipe2, ends, flags); }
int ftruncate64 (int fd, off64_t n) { FAIL (ftruncate64, ENOSPC, -1); return syscall (SYS_ftruncate, fd, n); }

int
posix_spawn (pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
             char *const argv[], char *const envp[])
{
  FAIL (posix_spawn, EAGAIN, EAGAIN);
  return REAL (posix_spawn) (pid, path, actions, attributes, argv, envp);
}

int
posix_spawnp (pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
              char *const argv[], char *const envp[])
{
  FAIL (posix_spawnp, EAGAIN, EAGAIN);
  return REAL (posix_spawnp) (pid, path, actions, attributes, argv, envp);
}

int
pthread_create (pthread_t *thread, const pthread_attr_t *attributes, void *(*function) (void *), void *argument)
{
  FAIL (pthread_create, EAGAIN, EAGAIN);
  return REAL (pthread_create) (thread, attributes, function, argument);
}

int execve (const char *path, char *const argv[], char *const envp[])
{ FAIL (execve, ENOMEM, -1); return syscall (SYS_execve, path, argv, envp); }

void *
dlopen (const char *path, int flags)
{
  if (fails ("dlopen", CALLER))
    path = "/no file of this name"; /* then dlerror knows */
  return REAL (dlopen) (path, flags);
}
