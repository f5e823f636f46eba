/* What sockets of this machine take for what a remote region sends and gets: requests of two words, how many bytes follow and
   how many are wanted, answered by another process.  */
#ifndef PLAIN_H
#define PLAIN_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <signal.h>
#include <unistd.h>

static int
plain_all (int fd, char *data, size_t size, int sending)
{
  while (size)
    {
      ssize_t n = sending ? send (fd, data, size, MSG_NOSIGNAL) : recv (fd, data, size, 0);
      if (n <= 0)
	return -1;
      data += n;
      size -= (size_t) n;
    }
  return 0;
}

/* One exchange of the caller's side.  */

static int
plain_ask (int fd, char *data, uint64_t there, uint64_t back)
{
  uint64_t head[3] = { there, back, 0 };
  if (plain_all (fd, (char *) head, sizeof head, 1) || plain_all (fd, data, there, 1))
    return -1;
  return plain_all (fd, data, back, 0);
}

static void
plain_serve (int listener)
{
  int fd = accept (listener, NULL, NULL), on = 1;
  uint64_t head[3];
  char *data = malloc (64 << 20);
  setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  while (data && plain_all (fd, (char *) head, sizeof head, 0) == 0 && plain_all (fd, data, head[0], 0) == 0)
    if (plain_all (fd, data, head[1], 1))
      break;
  _exit (0);
}

/* A connection to a process that answers; to PORT instead if that is not 0 (something in between, which reaches the port that is
   written to TELL).  */

static int
plain_open (int port, int tell)
{
  struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl (INADDR_LOOPBACK) } };
  socklen_t size = sizeof at;
  int listener = socket (AF_INET, SOCK_STREAM, 0), fd = socket (AF_INET, SOCK_STREAM, 0), on = 1;
  if (bind (listener, (struct sockaddr *) &at, size) || listen (listener, 1)
      || getsockname (listener, (struct sockaddr *) &at, &size))
    return -1;
  if (fork () == 0)
    {
      prctl (PR_SET_PDEATHSIG, SIGKILL);
      plain_serve (listener);
    }
  close (listener);
  if (port)
    {
      dprintf (tell, "%d\n", ntohs (at.sin_port));
      at.sin_port = htons (port);
    }
  setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return connect (fd, (struct sockaddr *) &at, size) ? -1 : fd;
}

#endif
