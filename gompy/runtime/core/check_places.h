/* `gompy run --check`: which constructs of the program have been met, by where their calls return to.

   A construct that is met for the first time is followed, whatever share of the time checks have had: a program's later
   parts are looked at as its first one is.  Included once, by check_rest.h.  */
#ifndef GOMPY_CHECK_PLACES_H
#define GOMPY_CHECK_PLACES_H

#define GOMPY_PLACES 4096u  /* a power of two; half of them are used, what is met then is taken as known */

static uintptr_t *gompy_places;
static unsigned gompy_place_count;

/* Whether a construct's place is met for the first time; it is known from now on.  */
static int
gompy_new_place (uintptr_t where)
{
  unsigned at = (unsigned) ((where * 0x9E3779B97F4A7C15ull) >> 32) % GOMPY_PLACES;
  if (gompy_places == NULL)
    gompy_places = gompy_check_room (GOMPY_PLACES * sizeof *gompy_places);
  if (where == 0 || gompy_places == NULL)
    return 0;
  for (; gompy_places[at]; at = (at + 1) % GOMPY_PLACES)
    if (gompy_places[at] == where)
      return 0;
  if (gompy_place_count == GOMPY_PLACES / 2)
    return 0;
  gompy_places[at] = where;
  gompy_place_count++;
  return 1;
}

#endif
