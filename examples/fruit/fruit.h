/* Three translation units with two target regions each: which one ran, and where?  */

#ifndef FRUIT_H
#define FRUIT_H

struct bite			/* what a region tells */
{
  int number;			/* its own */
  int fruit;			/* what it read from, and wrote to, its unit's device variable */
  int on_host;
};

struct bite apple_peel (int), apple_core (int);
struct bite banana_peel (int), banana_slice (int);
struct bite citron_peel (int), citron_juice (int);

#endif
