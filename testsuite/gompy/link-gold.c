/* link-options.c with gold, which orders sections in its own way.  Identical code folding makes one function of the two
   regions that are alike: libgompy takes the first for both, libgomp 12 knows only "Duplicate node" (and hangs after it).
   Safe folding leaves functions alone whose address is taken, as the table takes it.  */
/* { dg-do run } */
/* { gompy-needs "ld.gold" } */
/* { gompy-sets "-fuse-ld=gold -O2" "-fuse-ld=gold -ffunction-sections -fdata-sections -Wl,--gc-sections" } */
/* { gompy-sets "-fuse-ld=gold -ffunction-sections -Wl,--icf=safe -O2" "-fuse-ld=gold -no-pie -fno-pie" } */
/* { gompy-sets "-fuse-ld=gold -g -flto" "-fuse-ld=gold -ffunction-sections -Wl,--icf=all -O2" } */
/* { dg-skip-if "libgomp: Duplicate node" { offload_target_nvptx && { ! gompy } } { "-Wl,--icf=all" } } */
/* { dg-xfail-run-if "the host's tables are dropped: Cannot map (expected 0, have 6)" { offload_target_nvptx && { ! gompy } } { "-Wl,--gc-sections" } } */
/* { gompy-launches 4 } */
#include "link-options.c"
