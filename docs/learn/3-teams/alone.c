#include <omp.h>
#include <stdio.h>
int main (void)
{
  int here, teams, inside;
  #pragma omp target map(from: here)
  here = omp_get_num_threads ();
  #pragma omp target teams num_teams(3) map(from: teams)
  if (omp_get_team_num () == 0)
    teams = omp_get_num_teams ();
  #pragma omp target parallel num_threads(4) map(from: inside)
  if (omp_get_thread_num () == 0)
    inside = omp_get_num_threads ();
  printf ("target: %d thread; target teams: %d teams; target parallel: %d threads\n", here, teams, inside);
}
