/* MPI: one device a rank.  OMPI_CC=gompcc mpicc -fopenmp ranks.c -o ranks
   OFFLOAD_EMUL_NUM=2 mpirun -n 2 ./ranks  */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>

int
main (int argc, char **argv)
{
  int rank, ranks, where = -1;
  double part = 0, sum = 0;
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &ranks);
  if (omp_get_num_devices () > 0)
    omp_set_default_device (rank % omp_get_num_devices ());
#pragma omp target teams distribute parallel for reduction(+: part) map(tofrom: part)
  for (int i = rank; i < 1000; i += ranks)
    part += i;
#pragma omp target map(from: where)
  where = omp_is_initial_device () ? -1 : omp_get_device_num ();
  MPI_Reduce (&part, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  for (int turn = 0; turn < ranks; turn++)
    {
      int other = where;
      if (turn && rank == turn)
	MPI_Send (&where, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
      if (turn && rank == 0)
	MPI_Recv (&other, 1, MPI_INT, turn, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank == 0)
	printf ("rank %d on device %d\n", turn, other);
    }
  if (rank == 0)
    printf ("sum %g\n", sum);
  MPI_Finalize ();
}
