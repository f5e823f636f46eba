/* TLS for a connection: a thread that encrypts, between the plugin's end of a pair of sockets and the network.

   OpenSSL 3 is loaded when it is asked for, without its work at exit: our thread may be in it then.  The thread takes
   no signals, so that a write to a connection that has gone is an error and no SIGPIPE.  */
#ifndef GOMPY_REMOTE_TLS_H
#define GOMPY_REMOTE_TLS_H

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gompy/native/clock.h"
#include "gompy/native/descriptors.h"

#define TLS_LIBRARY "libssl.so.3"
#define TLS_ROOM 65536
#define TLS_NO_ATEXIT 0x80000ull		/* OPENSSL_INIT_NO_ATEXIT */
#define TLS_VERIFY_PEER 1
#define TLS_CTRL_MODE 33		/* SSL_CTRL_MODE */
#define TLS_PARTIAL_MOVING 3		/* SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER */
#define TLS_CTRL_HOST_NAME 55		/* SSL_CTRL_SET_TLSEXT_HOSTNAME */
#define TLS_CTRL_MIN_VERSION 123		/* SSL_CTRL_SET_MIN_PROTO_VERSION */
#define TLS_1_2 0x0303
#define TLS_IGNORE_EOF 0x80ull		/* SSL_OP_IGNORE_UNEXPECTED_EOF: our frames tell what is missing */
#define TLS_WANT_READ 2
#define TLS_WANT_WRITE 3
#define TLS_ENDED 6			/* SSL_ERROR_ZERO_RETURN */

/* What is used of OpenSSL.  */
#define TLS_FUNCTIONS(F) \
  F (int, OPENSSL_init_ssl, (uint64_t, const void *)) \
  F (const void *, TLS_client_method, (void)) \
  F (void *, SSL_CTX_new, (const void *)) \
  F (void, SSL_CTX_free, (void *)) \
  F (long, SSL_CTX_ctrl, (void *, int, long, void *)) \
  F (uint64_t, SSL_CTX_set_options, (void *, uint64_t)) \
  F (void, SSL_CTX_set_verify, (void *, int, void *)) \
  F (int, SSL_CTX_load_verify_locations, (void *, const char *, const char *)) \
  F (void *, SSL_new, (void *)) \
  F (void, SSL_free, (void *)) \
  F (int, SSL_set_fd, (void *, int)) \
  F (int, SSL_set1_host, (void *, const char *)) \
  F (void *, SSL_get0_param, (void *)) \
  F (long, SSL_ctrl, (void *, int, long, void *)) \
  F (int, SSL_connect, (void *)) \
  F (int, SSL_read, (void *, void *, int)) \
  F (int, SSL_write, (void *, const void *, int)) \
  F (int, SSL_shutdown, (void *)) \
  F (int, SSL_get_error, (const void *, int)) \
  F (long, SSL_get_verify_result, (const void *)) \
  F (const char *, X509_verify_cert_error_string, (long)) \
  F (int, X509_VERIFY_PARAM_set1_ip_asc, (void *, const char *)) \
  F (unsigned long, ERR_peek_error, (void)) \
  F (void, ERR_clear_error, (void)) \
  F (const char *, ERR_reason_error_string, (unsigned long))

#define TLS_MEMBER(type, name, arguments) type (*name) arguments;
#define TLS_NAME(type, name, arguments) #name,
static struct { TLS_FUNCTIONS (TLS_MEMBER) } tls;
static const char *const tls_names[] = { TLS_FUNCTIONS (TLS_NAME) };

/* Why a connection in use has ended, if OpenSSL has said so; the program ends with the first.  */
static char tls_reason[200];

struct tls_relay
{
  int network, plain;
  void *context, *session;
  uint64_t until; /* of the handshake, nanoseconds */
  /* What is on its way, up to the network and down from it.  */
  size_t up_first, up_last, down_first, down_last;
  char up[TLS_ROOM], down[TLS_ROOM];
};

/* What the thread says once the handshake is done, or has failed.  */
struct tls_verdict
{
  uint32_t failed;
  char why[252];
};

static int
tls_load (char *why, size_t room)
{
  static int loaded;
  void *library = NULL;
  if (loaded)
    return 0;
  library = dlopen (TLS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    {
      snprintf (why, room, "TLS needs OpenSSL 3: %s", dlerror ());
      return -1;
    }
  for (size_t i = 0; i < sizeof tls_names / sizeof *tls_names; i++)
    {
      void *found = dlsym (library, tls_names[i]);
      if (found == NULL)
        {
          snprintf (why, room, "TLS needs OpenSSL 3: " TLS_LIBRARY " has no %s", tls_names[i]);
          return -1;
        }
      memcpy ((char *) &tls + i * sizeof found, &found, sizeof found);
    }
  tls.OPENSSL_init_ssl (TLS_NO_ATEXIT, NULL);
  loaded = 1;
  return 0;
}

/* OpenSSL's reason for what has just failed.  */
static const char *
tls_error (struct tls_relay *r)
{
  long verified = r->session ? tls.SSL_get_verify_result (r->session) : 0;
  unsigned long code = tls.ERR_peek_error ();
  const char *text = code ? tls.ERR_reason_error_string (code) : NULL;
  if (verified != 0)
    return tls.X509_verify_cert_error_string (verified);
  return text ? text : errno ? strerror (errno) : "it has ended";
}

static void
tls_free (struct tls_relay *r)
{
  if (r->session)
    tls.SSL_free (r->session);
  if (r->context)
    tls.SSL_CTX_free (r->context);
  if (r->network >= 0)
    close (r->network);
  if (r->plain >= 0)
    close (r->plain);
  free (r);
}

/* A session that trusts the certificates in the file CA, and wants one for NAME.  */
static int
tls_prepare (struct tls_relay *r, const char *name, const char *ca, char *why, size_t room)
{
  unsigned char address[16];
  int is_address = inet_pton (AF_INET, name, address) == 1 || inet_pton (AF_INET6, name, address) == 1;
  tls.ERR_clear_error ();
  r->context = tls.SSL_CTX_new (tls.TLS_client_method ());
  if (r->context == NULL || access (ca, R_OK) != 0 || !tls.SSL_CTX_load_verify_locations (r->context, ca, NULL))
    {
      snprintf (why, room, "GOMPY_REMOTE_CA=%s: %s", ca, r->context && access (ca, R_OK) == 0
                ? "it holds no certificate" : strerror (errno));
      return -1;
    }
  tls.SSL_CTX_ctrl (r->context, TLS_CTRL_MIN_VERSION, TLS_1_2, NULL);
  tls.SSL_CTX_ctrl (r->context, TLS_CTRL_MODE, TLS_PARTIAL_MOVING, NULL);
  tls.SSL_CTX_set_options (r->context, TLS_IGNORE_EOF);
  tls.SSL_CTX_set_verify (r->context, TLS_VERIFY_PEER, NULL);
  r->session = tls.SSL_new (r->context);
  if (r->session && tls.SSL_set_fd (r->session, r->network)
      && (is_address ? tls.X509_VERIFY_PARAM_set1_ip_asc (tls.SSL_get0_param (r->session), name)
          : tls.SSL_set1_host (r->session, name)))
    {
      if (!is_address)
        tls.SSL_ctrl (r->session, TLS_CTRL_HOST_NAME, 0, (void *) name);
      return 0;
    }
  snprintf (why, room, "TLS: %s", tls_error (r));
  return -1;
}

/* The handshake.  The verdict goes to the plugin's end.  */
static int
tls_greet (struct tls_relay *r)
{
  struct tls_verdict verdict = { 0, "" };
  int done = 0;
  while (!done && !verdict.failed)
    {
      uint64_t now = gompy_now ();
      tls.ERR_clear_error ();
      errno = 0;
      int result = tls.SSL_connect (r->session);
      int how = result == 1 ? 0 : tls.SSL_get_error (r->session, result);
      struct pollfd one = { r->network, how == TLS_WANT_WRITE ? POLLOUT : POLLIN, 0 };
      if (result == 1)
        done = 1;
      else if (how != TLS_WANT_READ && how != TLS_WANT_WRITE)
        {
          int trusted = tls.SSL_get_verify_result (r->session) == 0;
          verdict.failed = 1;
          snprintf (verdict.why, sizeof verdict.why, trusted ? "TLS: %s: does it serve with --tls-cert?"
                    : "its certificate: %s (GOMPY_REMOTE_CA)", tls_error (r));
        }
      else if (now >= r->until || poll (&one, 1, (int) ((r->until - now) / 1000000) + 1) == 0)
        {
          verdict.failed = 1;
          snprintf (verdict.why, sizeof verdict.why, "no answer: no gompy device serve with --tls-cert there?");
        }
    }
  return send (r->plain, &verdict, sizeof verdict, MSG_NOSIGNAL) == sizeof verdict && done ? 0 : -1;
}

/* Move what can be moved.  1: something was, 0: nothing, -1: an end.  EVENTS: what the network is waited for.  */
static int
tls_move (struct tls_relay *r, short *events)
{
  int moved = 0;
  ssize_t n;
  *events = 0;
  if (r->down_first == r->down_last)
    {
      tls.ERR_clear_error ();
      errno = 0;
      n = tls.SSL_read (r->session, r->down, TLS_ROOM);
      int how = n > 0 ? 0 : tls.SSL_get_error (r->session, (int) n);
      if (n > 0)
        r->down_first = 0, r->down_last = (size_t) n, moved = 1;
      else if (how == TLS_WANT_READ || how == TLS_WANT_WRITE)
        *events |= how == TLS_WANT_READ ? POLLIN : POLLOUT;
      else
        {
          if (how != TLS_ENDED && errno != ECONNRESET && errno != EPIPE && (errno || tls.ERR_peek_error ()))
            snprintf (tls_reason, sizeof tls_reason, "lost: TLS: %s", tls_error (r));
          return -1;
        }
    }
  if (r->down_first < r->down_last)
    {
      n = send (r->plain, r->down + r->down_first, r->down_last - r->down_first, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && errno != EAGAIN)
        return -1;
      if (n > 0)
        r->down_first += (size_t) n, moved = 1;
    }
  if (r->up_first == r->up_last)
    {
      n = recv (r->plain, r->up, TLS_ROOM, MSG_DONTWAIT);
      if (n == 0 || (n < 0 && errno != EAGAIN))
        return -1;
      if (n > 0)
        r->up_first = 0, r->up_last = (size_t) n, moved = 1;
    }
  if (r->up_first < r->up_last)
    {
      tls.ERR_clear_error ();
      n = tls.SSL_write (r->session, r->up + r->up_first, (int) (r->up_last - r->up_first));
      int how = n > 0 ? 0 : tls.SSL_get_error (r->session, (int) n);
      if (n > 0)
        r->up_first += (size_t) n, moved = 1;
      else if (how == TLS_WANT_READ || how == TLS_WANT_WRITE)
        *events |= how == TLS_WANT_READ ? POLLIN : POLLOUT;
      else
        return -1;
    }
  return moved;
}

static void *
tls_thread (void *data)
{
  struct tls_relay *r = data;
  int moved = tls_greet (r);
  while (moved >= 0)
    {
      short events;
      moved = tls_move (r, &events);
      if (moved == 0)
        {
          struct pollfd both[2] = { { r->network, events, 0 }, { r->plain, 0, 0 } };
          if (r->up_first == r->up_last)
            both[1].events |= POLLIN;
          if (r->down_first < r->down_last)
            both[1].events |= POLLOUT;
          poll (both, 2, -1);
        }
    }
  if (moved < 0 && r->session)
    tls.SSL_shutdown (r->session);
  tls_free (r);
  return NULL;
}

/* Have a connection encrypted: the descriptor to go on with, in place of NETWORK; or -1, NETWORK closed, and the reason
   in WHY.  */
static int
remote_tls_begin (int network, const char *name, const char *ca, uint64_t until_ns, char *why, size_t room)
{
  struct tls_relay *r = calloc (1, sizeof *r);
  struct tls_verdict verdict;
  sigset_t all, old;
  pthread_t thread;
  int ends[2] = { -1, -1 }, on = 1, error;
  snprintf (why, room, "out of memory");
  if (r == NULL)
    {
      close (network);
      return -1;
    }
  r->network = network;
  r->plain = -1;
  r->until = until_ns;
  if (tls_load (why, room) != 0 || tls_prepare (r, name, ca, why, room) != 0)
    {
      tls_free (r);
      return -1;
    }
  if (gompy_socketpair (ends) != 0)
    {
      snprintf (why, room, "TLS: %s", strerror (errno));
      tls_free (r);
      return -1;
    }
  r->plain = ends[1];
  ioctl (network, FIONBIO, &on);
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &old);
  error = pthread_create (&thread, NULL, tls_thread, r);
  pthread_sigmask (SIG_SETMASK, &old, NULL);
  if (error)
    {
      snprintf (why, room, "TLS: %s", strerror (error));
      close (ends[0]);
      tls_free (r);
      return -1;
    }
  pthread_detach (thread);
  if (recv (ends[0], &verdict, sizeof verdict, MSG_WAITALL) != sizeof verdict)
    snprintf (why, room, "TLS: it has ended");
  else if (!verdict.failed)
    {
      ioctl (ends[0], FIONBIO, &on);
      return ends[0];
    }
  else
    snprintf (why, room, "%s", verdict.why);
  close (ends[0]);
  return -1;
}

/* What to say of a connection that has ended: OpenSSL's reason, or TEXT.  */
static const char *
remote_tls_end (const char *text)
{
  return tls_reason[0] ? tls_reason : text;
}

#endif
