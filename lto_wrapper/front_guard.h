/* Who deletes the folder of what was begun, if Python does not come to it.  Included by front_begin.h.

   Python may end before it knows of the folder: a program in its place, a damaged installation, no memory.  So a
   process of its own waits for Python's end, by a pipe that Python has, and Python ends it once the folder is its own
   (gompy/tools/begun.py).  */
#include <poll.h>
#include <sys/syscall.h>

/* Delete what was made.  */
static void
delete_files (struct begun *begun)
{
  struct text path = { 0 };
  DIR *folder = begun->folder[0] ? gompy_opendir (begun->folder) : NULL;
  for (struct dirent *entry; folder != NULL && (entry = readdir (folder)) != NULL;)
    {
      path.used = 0;
      text_add (&path, begun->folder, strlen (begun->folder));
      text_add (&path, "/", 1);
      text_add_string (&path, entry->d_name);
      if (path.data != NULL && strcmp (entry->d_name, ".") != 0 && strcmp (entry->d_name, "..") != 0)
        unlink (path.data);
    }
  if (folder != NULL)
    closedir (folder);
  if (begun->folder[0])
    rmdir (begun->folder);
  free (path.data);
}

/* The guard's life: after Python's end let the compiler end, and delete what was made.  Python that has come to it
   deletes the folder, and then there is nothing to do.  */
static void
stand_guard (struct begun *begun, int watch, int compiler)
{
  struct pollfd ended = { .fd = compiler, .events = POLLIN };
  char byte;
  while (read (watch, &byte, 1) < 0 && errno == EINTR)
    ;
  if (access (begun->folder, F_OK) != 0)
    return;
  while (poll (&ended, 1, -1) < 0 && errno == EINTR)
    ;
  delete_files (begun);
}

/* Close all descriptors but two.  */
static void
close_others (int one, int other)
{
  const unsigned low = (unsigned) (one < other ? one : other), high = (unsigned) (one < other ? other : one);
  const unsigned ranges[][2] = { { 0, low }, { low + 1, high }, { high + 1, ~0u } };
  for (size_t i = 0; i < COUNT (ranges); i++)
    if (ranges[i][0] < ranges[i][1] && syscall (SYS_close_range, ranges[i][0], ranges[i][1] - 1, 0) != 0)
      for (unsigned fd = ranges[i][0]; fd < ranges[i][1] && fd < 1024; fd++) /* a kernel before 5.9 */
        close ((int) fd);
}

/* Start the guard; without one, a folder may be left.  It has nothing open of ours: who waits for the end of our
   output does not wait for it.  */
static void
start_guard (struct begun *begun)
{
  int ends[2], compiler = gompy_pidfd (begun->pid);
  begun->watched = -1;
  if (compiler >= 0 && gompy_pipe (ends) == 0)
    {
      begun->guard = fork ();
      if (begun->guard == 0)
        {
          close_others (ends[0], compiler);
          stand_guard (begun, ends[0], compiler);
          _exit (0);
        }
      close (ends[0]);
      if (begun->guard < 0)
        close (ends[1]);
      else
        {
          begun->watched = ends[1];
          fcntl (ends[1], F_SETFD, 0);
        }
    }
  if (compiler >= 0)
    close (compiler);
}

/* End the guard: the folder is deleted by us.  */
static void
end_guard (struct begun *begun)
{
  int status;
  if (begun->watched < 0)
    return;
  close (begun->watched);
  while (waitpid (begun->guard, &status, 0) < 0 && errno == EINTR)
    ;
}
