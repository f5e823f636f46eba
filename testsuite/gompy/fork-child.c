/* A forked child goes on without exec.  With libgompy nothing is mapped there; the emulated MIC stays the parent's, so the
   child's region runs on the host, and a line says so.  (libgomp 12 lets the child go on with the parent's device; CUDA
   refuses everything in a child.)  Without a device there is nothing to lose.  */
/* { dg-do run } */
/* { dg-skip-if "CUDA does not survive fork" { offload_target_nvptx && { ! gompy } } } */
/* { dg-output "not usable in a forked child of a program that has used devices" { target gompy } } */
/* { gompy-launches 2 } */

#include <omp.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int
main (void)
{
  int data[10] = { 1, 2, 3 }, devices = omp_get_num_devices (), device = omp_get_default_device ();
#pragma omp target enter data map(to: data)
#pragma omp target
  data[0] += 10;
  pid_t child = fork ();
  if (child == 0)
    {
      if (devices && omp_target_is_present (data, device))
	_exit (1);
      int sum = 0;
#pragma omp target map(tofrom: data) map(from: sum)
      {
	data[1] += 20;
	sum = data[0] + data[1] + data[2];
      }
      _exit (sum != (devices ? 1 : 11) + 22 + 3 || data[1] != 22);
    }
  int status;
  if (waitpid (child, &status, 0) != child || !WIFEXITED (status) || WEXITSTATUS (status) != 0)
    abort ();
#pragma omp target
  data[2] += 30;
#pragma omp target exit data map(from: data)
  return data[0] != 11 || data[1] != 2 || data[2] != 33;
}
