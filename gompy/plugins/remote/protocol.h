/* What the plugin `remote` and a worker say to each other over TCP.  docs/cluster.md has it in words.

   Both ends are little-endian x86-64 or aarch64: words go as they lie in memory, and the greeting's magic fails
   elsewhere.  */
#ifndef GOMPY_REMOTE_PROTOCOL_H
#define GOMPY_REMOTE_PROTOCOL_H

#include <stdint.h>

#define REMOTE_MAGIC 0x31746d6579706d67ull
#define REMOTE_VERSION 3u
#define REMOTE_NONCE 32
#define REMOTE_MAC 32

/* The handshake: fixed sizes, nothing else is read of somebody who has not shown that he knows the token.  */
struct remote_greeting /* the server, at once */
{
  uint64_t magic;
  uint32_t version, reserved;
  unsigned char nonce[REMOTE_NONCE];
};

struct remote_claim /* the client: mac = keyed BLAKE2b-256 (token, "client" + both nonces) */
{
  uint64_t magic;
  uint32_t version, reserved;
  unsigned char nonce[REMOTE_NONCE];
  unsigned char mac[REMOTE_MAC];
};

struct remote_verdict /* the server: mac = the same with "server", all zero if it refuses */
{
  uint32_t refused, reserved;
  unsigned char mac[REMOTE_MAC];
};

enum
{
  REMOTE_ACCEPTED,
  REMOTE_WRONG_TOKEN,
  REMOTE_OTHER_VERSION,
  REMOTE_NO_WORKER,
};

/* Then frames, both ways: this, and `size` bytes.  */
struct remote_frame
{
  uint32_t kind, status;
  uint64_t id;   /* of the call, in both directions; 0 where there is no answer */
  uint64_t size; /* of what follows */
};

enum
{
  /* of the client */
  REMOTE_START = 1, /* status: the device's number; environment, each NAME=VALUE with its NUL; is answered by what
		       gompy_guard_step tells */
  REMOTE_ALLOC,     /* words: size */
  REMOTE_FREE,      /* words: address; no answer */
  REMOTE_WRITE,     /* words: address; then the bytes; no answer */
  REMOTE_READ,      /* words: address, size */
  REMOTE_COPY,      /* words: to, from, size; no answer */
  REMOTE_RUN,       /* a remote_launch, the launch's argument words */
  REMOTE_LATER,     /* the same; others may be run meanwhile */
  REMOTE_ACC_RUN,   /* a remote_launch, 3 words of dimensions, then the data's addresses */
  REMOTE_LOAD,      /* a remote_image, the host's table of indirect functions */
  REMOTE_IMAGE,     /* the bytes of an image that the server asked for; no answer */
  REMOTE_UNLOAD,    /* words: the image's number */
  REMOTE_PROPERTY,  /* words: the property */
  REMOTE_PING,
  REMOTE_BYE,
  REMOTE_GUARD,     /* words: start, size, to be closed; no answer */
  /* of the server */
  REMOTE_INFO = 65, /* a remote_info */
  REMOTE_ANSWER,    /* words: the value */
  REMOTE_DATA,      /* the bytes, of a READ, RUN, LATER */
  REMOTE_TABLE,     /* words: the image's number, the number of pairs, the pairs */
  REMOTE_OUTPUT,    /* status: 1 or 2, the stream; what the device has printed */
  REMOTE_FAILED,    /* text: the device cannot go on */
  REMOTE_PONG,
};

#define REMOTE_WORDS 4096u           /* bytes, of the frames with words */
#define REMOTE_TEXT 4096u            /* bytes, of a text or a piece of output */
#define REMOTE_SNAPSHOT (1u << 20)   /* bytes that may come with a region's end */
#define REMOTE_IMAGE_MOST (1u << 30) /* bytes of an image */
#define REMOTE_PAIRS_MOST (1u << 24) /* bytes of a table */
#define REMOTE_BLOCK_MOST (1ull << 44)
#define REMOTE_ARGUMENTS 64u

struct remote_launch
{
  uint64_t function, variables;
  uint64_t start, bytes; /* what is to come back with the end */
};

struct remote_image
{
  unsigned char hash[32]; /* BLAKE2b-256 of the packed image */
  uint64_t size;          /* of the packed image */
  uint32_t version, indirect;
};

struct remote_info
{
  uint32_t type, caps;
  char name[24];
};

/* A packed image: this, then its parts one behind the other.  */
struct remote_packed
{
  uint32_t type; /* GOMP_DEVICE_* */
  uint32_t abi, accel, named;
  uint64_t functions, variables, symbols, bytes;
  uint32_t objects, indirect;
  uint64_t texts; /* bytes of names, each with its NUL */
};

#endif
