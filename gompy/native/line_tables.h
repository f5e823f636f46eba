/* Source lines of an ELF file: its line tables, as binutils' readelf writes them.

   addr2line of binutils 2.40 takes the wrong file name in units that LTO made: those have another name for file 0 than
   for file 1.  */
#ifndef GOMPY_NATIVE_LINE_TABLES_H
#define GOMPY_NATIVE_LINE_TABLES_H

#include "descriptors.h"
#include "environment.h"

#include <stdint.h>
#include <sys/wait.h>

/* A row: FILE and LINE of the code from BEGIN up to END.  */
typedef void (*gompy_line_fn) (void *data, uint64_t begin, uint64_t end, const char *file, int line);

/* Start `readelf -W --debug-dump=decodedline <file on fd>`.  Returns its output, NULL if it can't be started.  */
static FILE *
gompy_start_readelf (int fd, pid_t *pid)
{
  char path[40];
  char *argv[] = { "readelf", "-W", "--debug-dump=decodedline", path, NULL };
  int ends[2], error;
  posix_spawn_file_actions_t actions;
  snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
  if (gompy_pipe (ends) != 0)
    return NULL;
  posix_spawn_file_actions_init (&actions);
  posix_spawn_file_actions_adddup2 (&actions, fd, fd);
  posix_spawn_file_actions_adddup2 (&actions, ends[1], 1);
  posix_spawn_file_actions_addopen (&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen (&actions, 2, "/dev/null", O_WRONLY, 0);
  error = gompy_spawnp (pid, argv[0], &actions, NULL, argv, gompy_child_environ ());
  posix_spawn_file_actions_destroy (&actions);
  close (ends[1]);
  if (error == 0)
    return fdopen (ends[0], "r");
  close (ends[0]);
  return NULL;
}

/* Split a row `NAME LINE 0xADDRESS …`, in place, from its end: a name may have blanks, and may itself look like a
   number.  Returns the line, `-` at a sequence's end, or NULL where it is no row; TEXT is the name then.  */
static const char *
gompy_split_row (char *text, uint64_t *address)
{
  char *hex = NULL, *at, *number;
  int length = 0;
  for (at = strstr (text, " 0x"); at != NULL; at = strstr (at + 1, " 0x"))
    hex = at;
  if (hex == NULL || sscanf (hex, " 0x%lx%n", address, &length) != 1
      || hex[length + strspn (hex + length, " \t\n0123456789xEND")] != 0)
    return NULL;
  while (hex > text && hex[-1] == ' ')
    hex--;
  *hex = 0;
  at = strrchr (text, ' ');
  if (at == NULL || at[1 + strspn (at + 1, "0123456789-")] != 0)
    return NULL;
  number = at + 1;
  while (at > text && at[-1] == ' ')
    at--;
  *at = 0;
  return at > text ? number : NULL;
}

/* The environment's strings are read, so that their pages are open.  They lie behind the first thread's frames, of
   which `gompy run --check` may have closed one's page: a child that shares the memory dies there.  */
static void
gompy_touch_environment (void)
{
  size_t length = 0;
  for (char **at = gompy_child_environ (); at != NULL && *at != NULL; at++)
    length += strlen (*at);
  __asm__ volatile ("" : : "r" (length));
}

/* Read what readelf says of the file on FD.  0: it could not be started, or has died.  */
static int
gompy_read_lines_once (int fd, gompy_line_fn fn, void *data)
{
  char last_name[256], *text = NULL;
  const char *number;
  uint64_t value, before = 0;
  size_t room = 0;
  int inside = 0, last = 0, status = 0;
  pid_t pid = 0;
  FILE *rows = gompy_start_readelf (fd, &pid);
  if (rows == NULL)
    return 0;
  while (getline (&text, &room, rows) > 0)
    {
      number = gompy_split_row (text, &value);
      if (number == NULL)
        continue;
      if (inside && before < value)
        fn (data, before, value, last_name, last);
      inside = number[0] != '-';
      if (inside)
        {
          before = value;
          last = atoi (number);
          snprintf (last_name, sizeof last_name, "%s", text);
        }
    }
  free (text);
  fclose (rows);
  while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
    continue;
  return !WIFSIGNALED (status);
}

/* Call FN with each row of the file on FD.  In readelf's output a row is name, line, address; a sequence of them ends
   with the line "-".  All of it is read, for readelf must not die of a closed pipe.  */
static void
gompy_read_lines (int fd, gompy_line_fn fn, void *data)
{
  for (int tries = 0; tries < 3; tries++)
    {
      gompy_touch_environment ();
      if (gompy_read_lines_once (fd, fn, data))
        break;
    }
}

#endif
