/* Each number is a misuse of OpenACC's routines that libgomp has a message for.  */
#include <acc_prof.h>
#include <openacc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*region) (void *);
extern void GOACC_parallel_keyed (int, region, size_t, void **, size_t *, unsigned short *, ...);
extern void GOACC_enter_exit_data (int, size_t, void **, size_t *, unsigned short *, int, int, ...);
extern void GOACC_exit_data (int, size_t, void **, size_t *, unsigned short *, int, int, ...);
extern void GOACC_update (int, size_t, void **, size_t *, unsigned short *, int, int, ...);

extern void GOACC_enter_data (int, size_t, void **, size_t *, unsigned short *, int, int, ...);
enum { DIM = 1 << 28, FOR_A_TYPE = 3 << 16, LATER = 9 << 28, POINTER = 0x04, DETACH = 0x51, UNKNOWN = 0x7f };

static char a[64], b[64];
static struct { int first[8], second[8]; } s;

static void
body (void *unused)
{
}

static void
starts (acc_prof_info *info, acc_event_info *event, acc_api_info *api)
{
  acc_malloc (8);
}

static void
on_host (void)
{
#pragma acc parallel if (0)
  acc_shutdown (acc_device_default);
}

int
main (int argc, char **argv)
{
  void *hosts[1] = { a };
  size_t sizes[1] = { sizeof a };
  unsigned short kinds[1] = { UNKNOWN };
  const char *what = argv[1];
  void *memory;
  if (!strcmp (what, "while it starts"))
    acc_prof_register (acc_ev_device_init_start, starts, acc_reg);
  if (!strcmp (what, "no device"))
    acc_set_device_type (acc_device_not_host);
  memory = acc_malloc (64);
  if (!strcmp (what, "free mapped"))
    {
      acc_copyin (a, sizeof a);
      acc_free (acc_deviceptr (a));
    }
  else if (!strcmp (what, "map nothing"))
    acc_map_data (NULL, memory, sizeof a);
  else if (!strcmp (what, "map twice"))
    {
      acc_copyin (a, sizeof a);
      acc_map_data (a, memory, sizeof a);
    }
  else if (!strcmp (what, "map to the same"))
    {
      acc_map_data (a, memory, sizeof a);
      acc_map_data (b, memory, sizeof b);
    }
  else if (!strcmp (what, "map on the host"))
    {
      acc_set_device_type (acc_device_host);
      acc_map_data (a, b, sizeof a);
    }
  else if (!strcmp (what, "unmap nothing"))
    acc_unmap_data (a);
  else if (!strcmp (what, "unmap within"))
    {
      acc_map_data (a, memory, sizeof a);
      acc_unmap_data (a + 8);
    }
  else if (!strcmp (what, "unmap a copy"))
    {
      acc_copyin (a, sizeof a);
      acc_unmap_data (a);
    }
  else if (!strcmp (what, "copy nothing"))
    acc_copyin (NULL, 8);
  else if (!strcmp (what, "delete more"))
    {
      acc_copyin (a, 8);
      acc_delete (a, 16);
    }
  else if (!strcmp (what, "attach nothing"))
    acc_attach ((void **) a);
  else if (!strcmp (what, "detach nothing"))
    acc_detach ((void **) a);
  else if (!strcmp (what, "detach of a kind"))
    {
      kinds[0] = DETACH;
      GOACC_exit_data (-1, 1, hosts, sizes, kinds, -2, 0);
    }
  else if (!strcmp (what, "to no device address"))
    acc_memcpy_to_device (NULL, a, 8);
  else if (!strcmp (what, "from no host address"))
    acc_memcpy_to_device (memory, NULL, 8);
  else if (!strcmp (what, "too much"))
    acc_memcpy_to_device (memory, a, (size_t) 1 << 40);
  else if (!strcmp (what, "within"))
    acc_memcpy_device (memory, a, 8);
  else if (!strcmp (what, "shutdown in data"))
    {
#pragma acc data copy(a)
      acc_shutdown (acc_device_default);
    }
  else if (!strcmp (what, "shutdown on the host"))
    on_host ();
  else if (!strcmp (what, "type in data"))
    {
#pragma acc data copy(a)
      acc_set_device_type (acc_device_host);
    }
  else if (!strcmp (what, "shutdown twice"))
    {
      acc_shutdown (acc_device_default);
      acc_shutdown (acc_device_default);
    }
  else if (!strcmp (what, "init twice"))
    acc_init (acc_device_default);
  else if (!strcmp (what, "number"))
    acc_set_device_num (99, acc_device_default);
  else if (!strcmp (what, "type"))
    acc_set_device_type ((acc_device_t) 99);
  else if (!strcmp (what, "launch for a type"))
    GOACC_parallel_keyed (-1, body, 0, NULL, NULL, NULL, DIM | FOR_A_TYPE, 0);
  else if (!strcmp (what, "launch by a later gcc"))
    GOACC_parallel_keyed (-1, body, 0, NULL, NULL, NULL, LATER, 0);
  else if (!strcmp (what, "update of a kind"))
    GOACC_update (-1, 1, hosts, sizes, kinds, -2, 0);
  else if (!strcmp (what, "data of a kind"))
    GOACC_enter_exit_data (-1, 1, hosts, sizes, kinds, -2, 0);
  else if (!strcmp (what, "exit of a kind"))
    GOACC_exit_data (-1, 1, hosts, sizes, kinds, -2, 0);
  else if (!strcmp (what, "enter of a kind"))
    {
      kinds[0] = POINTER;
      GOACC_enter_data (-1, 1, hosts, sizes, kinds, -2, 0);
    }
  else if (!strcmp (what, "members apart"))
    {
#pragma acc enter data copyin(s.first)
#pragma acc enter data copyin(s.first, s.second)
    }
  else if (!strcmp (what, "copy from nothing within"))
    acc_memcpy_device (memory, NULL, 8);
  else if (!strcmp (what, "no code"))
    GOACC_parallel_keyed (-1, body, 0, NULL, NULL, NULL, 0);
  printf ("went on\n");
  return 0;
}
