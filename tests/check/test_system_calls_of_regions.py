"""`gompy run --check`: whichever call of the C library a region gives memory to, the kernel finds the pages open."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"
TABLE = ROOT / "gompy" / "plugins" / "intelmic" / "device_call_table.h"

PROGRAM = """
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <signal.h>
#include <sys/timerfd.h>
#include <unistd.h>
#define TRY(k, call) \\
  do { long r; errno = 0; r = (long) (call); results[k] = errno == EFAULT ? EFAULT : r != 0; } while (0)
#define COUNT(p) ((socklen_t *) (*(int *) (p + 4096) = 128, p + 4096))
#define PARTS(p, n) (&(struct iovec){ (p), (n) })
#define MESSAGE(p) (&(struct msghdr){ .msg_iov = PARTS (p, 4), .msg_iovlen = 1 })
/* Each call has memory of its own, whose pages nothing else uses.  */
enum { rows = 100, row = 12288 };
static char in[rows][row], out[rows][row];
int
main (void)
{
  int results[rows] = { 0 };
  @texts@
  #pragma omp target map(to: in) map(alloc: out) map(tofrom: results)
  {
    int pair[2], file = open ("file", O_RDWR | O_CREAT | O_TRUNC, 0600), epoll = epoll_create1 (0);
    struct epoll_event wanted = { .events = EPOLLOUT };
    FILE *stream = fopen ("stream", "w+");
    socketpair (AF_UNIX, SOCK_DGRAM, 0, pair);
    write (file, "0123456789", 10);
    epoll_ctl (epoll, EPOLL_CTL_ADD, pair[1], &wanted);
    @calls@
  }
  for (int i = 0; i < @count@; i++)
    printf ("%d\\n", results[i]);
}
"""

CASES = """
readv (file, PARTS (O, 4), 1)
writev (file, PARTS (I, 4), 1)
preadv (file, PARTS (O, 4), 1, 0)
pwritev (file, PARTS (I, 4), 1, 0)
preadv2 (file, PARTS (O, 4), 1, 0, 0)
pread (file, O, 4, 0)
pwrite (file, I, 4, 0)
send (pair[0], I, 4, 0)
recv (pair[1], O, 4, MSG_DONTWAIT)
sendto (pair[0], I, 4, 0, NULL, 0)
recvfrom (pair[1], O, 4, MSG_DONTWAIT, (void *) (O + 4096), (socklen_t *) I)
sendmsg (pair[0], MESSAGE (I), 0)
recvmsg (pair[1], MESSAGE (O), MSG_DONTWAIT)
getsockopt (pair[0], SOL_SOCKET, SO_TYPE, O, COUNT (I))
setsockopt (pair[0], SOL_SOCKET, SO_KEEPALIVE, I, 4)
getsockname (pair[0], (void *) O, COUNT (I))
connect (pair[0], (void *) I, sizeof (struct sockaddr_un)) == -1 && errno != EFAULT
bind (pair[0], (void *) I, sizeof (struct sockaddr_un)) == -1 && errno != EFAULT
socketpair (AF_UNIX, SOCK_STREAM, 0, (int *) O)
pipe ((int *) O)
pipe2 ((int *) O, 0)
poll ((void *) I, 1, 0)
select (1, (fd_set *) I, NULL, NULL, (void *) (I + 4096))
epoll_wait (epoll, (void *) O, 1, 0)
epoll_ctl (epoll, EPOLL_CTL_ADD, pair[0], (void *) I)
nanosleep ((void *) I, NULL)
clock_nanosleep (CLOCK_REALTIME, 0, (void *) I, NULL)
clock_gettime (CLOCK_PROCESS_CPUTIME_ID, (void *) O)
clock_getres (CLOCK_MONOTONIC, (void *) O)
gettimeofday ((void *) O, NULL)
getitimer (ITIMER_REAL, (void *) O)
setitimer (ITIMER_REAL, (void *) I, (void *) O)
timerfd_settime (timerfd_create (CLOCK_MONOTONIC, 0), 0, (void *) I, (void *) O)
timerfd_gettime (timerfd_create (CLOCK_MONOTONIC, 0), (void *) O)
sigprocmask (SIG_BLOCK, (void *) I, (void *) O)
(errno = pthread_sigmask (SIG_BLOCK, (void *) I, (void *) O))
sigaltstack (NULL, (void *) O)
times ((void *) O) == -1
uname ((void *) O)
sysinfo ((void *) O)
getrusage (RUSAGE_SELF, (void *) O)
getrlimit (RLIMIT_CORE, (void *) O)
prlimit (0, RLIMIT_CORE, NULL, (void *) O)
getrandom (O, 100, 0)
getentropy (O, 100)
getgroups (0, (void *) O) == -1
sched_getaffinity (0, 128, (void *) O) == -1
waitpid (-1, (void *) O, 0) == -1 && errno != ECHILD
ioctl (pair[0], FIONREAD, O)
fcntl (file, F_GETLK, I)
fstat (file, (void *) O)
fstatfs (file, (void *) O) == -1
stat (I, (void *) O) : file
lstat (I, (void *) O) : file
fstatat (AT_FDCWD, I, (void *) O, 0) : file
statx (AT_FDCWD, I, 0, STATX_SIZE, (void *) O) : file
statfs (I, (void *) O) : file
access (I, R_OK) : file
faccessat (AT_FDCWD, I, R_OK, 0) : file
truncate (I, 8) : file
chmod (I, 0600) : file
utimensat (AT_FDCWD, I, NULL, 0) : file
mkdir (I, 0700) : folder
chdir (I) : .
opendir (I) == NULL : folder
rmdir (I) : folder
symlink (I, I + 4096) : file name
readlink (I, O, 10) : name
link (I, I + 4096) : file file3
rename (I, I + 4096) : file file2
unlink (I) : file2
remove (I) : name
mkfifo (I, 0600) : fifo
open (I, O_RDONLY) == -1 : stream
openat (AT_FDCWD, I, O_RDONLY) == -1 : stream
fopen (I, "r") == NULL : stream
getcwd (O, 4096) != O
memfd_create (I, 0) == -1 : memory
system (I) : true
fputs (I, stream) < 0
fwrite (I, 1, 8000, stream)
fread ((rewind (stream), O), 1, 8000, stream)
""".strip().splitlines()
"""Calls.  I: what the host has mapped, with the words behind `:` in it, each in a page; O: what nothing has written."""

NAMES = {"I": "in", "O": "out"}


def run(folder: Path, *options: str) -> tuple[int, str, str]:
    """What the program does on the emulated MIC."""
    command = [BIN / "gompy", "run", "--device", "intelmic", *options, "../a.out"]
    folder.mkdir()
    env = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_no_call_meets_a_closed_page(tmp_path: Path) -> None:
    """Each answers as it does without the check."""
    texts, calls = [], []
    for at, (call, _, words) in enumerate(case.partition(" : ") for case in CASES):
        texts += [f'strcpy (in[{at}] + {4096 * n}, "{word}");' for n, word in enumerate(words.split())]
        calls.append("TRY ({}, {});".format(at, re.sub(r"\b[IO]\b", lambda m, at=at: f"{NAMES[m[0]]}[{at}]", call)))
    text = PROGRAM.replace("@count@", str(len(CASES)))
    text = text.replace("@texts@", "\n  ".join(texts)).replace("@calls@", "\n    ".join(calls))
    (tmp_path / "a.c").write_text(text)
    subprocess.run([BIN / "gompcc", "-w", "-O1", "-fopenmp", "a.c"], cwd=tmp_path, check=True)
    plain = run(tmp_path / "plain")
    assert plain[0] == 0 and str(errno.EFAULT) not in plain[1].split(), plain
    checked = run(tmp_path / "checked", "--check")
    assert {c: r for c, r in zip(CASES, checked[1].split(), strict=True) if r == str(errno.EFAULT)} == {}
    assert checked == plain


def test_each_function_is_in_the_c_library() -> None:
    """And has one line."""
    names = re.findall(r"^KERNEL_CALL \((\w+), ", TABLE.read_text(), re.MULTILINE)
    library = ctypes.CDLL(None)
    assert len(names) > 150 and len(set(names)) == len(names)
    assert [name for name in names if not hasattr(library, name)] == []


BAD = """
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#define TRY(call) (errno = 0, results[n++] = (call) == -1 ? errno : 0)
int
main (void)
{
  int results[100] = { 0 }, n = 0, a[100];
  #pragma omp target map(tofrom: results, n) map(alloc: a)
  {
    int pair[2];
    char *page = mmap (NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap (page + 4096, 4096);
    page[4095] = 'x';
    a[0] = 1;
    /* The last one goes on where nothing is.  */
    void *bad[] = { NULL, (void *) 8, (void *) -4096L, page + 4096, page + 4095 };
    socketpair (AF_UNIX, SOCK_DGRAM, 0, pair);
    for (int i = 0; i < 5; i++)
      {
        TRY (readv (pair[0], bad[i], 1));
        TRY (writev (pair[0], bad[i], 1));
        TRY (ioctl (pair[0], FIONREAD, bad[i]));
        TRY (access (bad[i], R_OK));
        TRY (stat (bad[i], bad[i]));
        TRY (open (bad[i], O_RDONLY));
        TRY (sendmsg (pair[0], bad[i], 0));
        TRY (recvmsg (pair[0], bad[i], MSG_DONTWAIT));
        TRY (sendmmsg (pair[0], bad[i], 2, 0));
        TRY (getsockname (pair[0], (void *) page, bad[i]));
        TRY (write (pair[0], bad[i], 8));
        TRY (poll (bad[i], 2, 0));
        TRY (i == 0 ? 0 : nanosleep (bad[i], NULL));
      }
  }
  for (int i = 0; i < n; i++)
    printf ("%d%c", results[i], (i + 1) % 13 ? ' ' : '\\n');
}
"""


@pytest.mark.slow
def test_bad_pointers_are_the_kernels_to_refuse(tmp_path: Path) -> None:
    """What only looks where a call's structures lead to does not end the region."""
    (tmp_path / "a.c").write_text(BAD)
    subprocess.run([BIN / "gompcc", "-w", "-O1", "-fopenmp", "a.c"], cwd=tmp_path, check=True)
    plain = run(tmp_path / "plain")
    assert plain[0] == 0 and plain[1].split().count(str(errno.EFAULT)) > 50, plain
    assert run(tmp_path / "checked", "--check") == plain
