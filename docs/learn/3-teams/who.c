#include <omp.h>
#include <stdio.h>
int main (void)
{
  int team[8], thread[8];
  #pragma omp target teams distribute parallel for num_teams(2) num_threads(2) map(from: team, thread)
  for (int i = 0; i < 8; i++)
    {
      team[i] = omp_get_team_num ();
      thread[i] = omp_get_thread_num ();
    }
  for (int i = 0; i < 8; i++)
    printf ("iteration %d: team %d, thread %d\n", i, team[i], thread[i]);
}
