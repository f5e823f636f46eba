/* check: past-section text */
#include <stdio.h>

int main(void)
{
  char text[13] = "offload again";
  int letters = 0;
#pragma omp target map(to: text) map(tofrom: letters)
  for (int i = 0; i <= 13; i++) letters += text[i] != ' ';
  printf("%d\n", letters > 0);
  return 0;
}
