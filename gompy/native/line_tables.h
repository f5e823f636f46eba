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

/* Call FN with each row of the file on FD.  In readelf's output a row is name, line, address; a sequence of them ends
   with the line "-".  All of it is read, for readelf must not die of a closed pipe.  */
static void
gompy_read_lines (int fd, gompy_line_fn fn, void *data)
{
  char name[256], last_name[256], number[32], *text = NULL;
  uint64_t value, before = 0;
  size_t room = 0;
  int inside = 0, last = 0, status;
  pid_t pid = 0;
  FILE *rows = gompy_start_readelf (fd, &pid);
  if (rows == NULL)
    return;
  while (getline (&text, &room, rows) > 0)
    {
      if (sscanf (text, "%255s %31s 0x%lx", name, number, &value) != 3)
        continue;
      if (inside && before < value)
        fn (data, before, value, last_name, last);
      inside = number[0] != '-';
      if (inside)
        {
          before = value;
          last = atoi (number);
          memcpy (last_name, name, sizeof name);
        }
    }
  free (text);
  fclose (rows);
  while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
    continue;
}

#endif
