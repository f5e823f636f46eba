/* A list whose nodes are mapped one by one, each attached to the one before: regions follow a hundred pointers on the device;
   the host's pointers come back as they were.  From gcc 14 on, a map of what a member points to counts the struct, too, as
   libgomp 14 with GCC's own nvptx plugin does: so each exit names what its enter named.  */
/* { dg-do run } */
/* { gompy-sets "-O0" "-O2" } */
/* { gompy-launches 4 } */

#include <stdlib.h>

struct node { int value; struct node *next; int *more; };
enum { N = 100 };

int
main (void)
{
  struct node *all[N], *head = NULL, *n;
  for (int i = N - 1; i >= 0; i--)
    {
      n = all[i] = malloc (sizeof *n);
      n->value = i;
      n->more = malloc (10 * sizeof (int));
      for (int j = 0; j < 10; j++)
	n->more[j] = i + j;
      n->next = head;
      head = n;
    }

#pragma omp target enter data map(to: head[:1])
  for (n = head; n; n = n->next)
    {
#pragma omp target enter data map(to: n->more[:10])
      if (n->next)
	{
#pragma omp target enter data map(to: n->next[:1])
	}
    }

  long sum = 0;
  int length = 0;
#pragma omp target map(tofrom: sum, length)
  for (struct node *p = head; p; p = p->next)
    {
      length++;
      p->value *= 2;
      for (int j = 0; j < 10; j++)
	sum += p->more[j]++;
    }
  if (length != N || sum != 10 * 4950 + N * 45)
    abort ();

  /* Take the last node off on the host, detached and attached anew: the list is shorter on the device.  */
  n = all[N - 2];
  struct node *last = n->next;
  int *last_more = last->more;
#pragma omp target exit data map(from: last->more[:10])
#pragma omp target exit data map(from: n->next[:1])
  if (last->value != 2 * (N - 1) || last->more != last_more || last_more[9] != N - 1 + 10)
    abort ();
  n->next = NULL;
#pragma omp target map(to: n[:1])
  n->next = NULL;
  length = 0;
#pragma omp target map(tofrom: length)
  for (struct node *p = head; p; p = p->next)
    length++;
  if (length != N - 1)
    abort ();

  for (int i = N - 2; i >= 0; i--)
    {
      n = all[i];
      struct node *next = i < N - 2 ? all[i + 1] : NULL;
      int *more = n->more;
#pragma omp target exit data map(from: n->more[:10])
      if (i)
	{
	  struct node *before = all[i - 1];
#pragma omp target exit data map(from: before->next[:1])
	}
      else
	{
#pragma omp target exit data map(from: head[:1])
	}
      if (n->value != 2 * i || n->next != next || n->more != more || more[0] != i + 1)
	abort ();
    }
  length = 0;
#pragma omp target map(tofrom: length)
  length = 5;
  return length != 5;
}
