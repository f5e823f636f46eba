# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The PTX executor: executor.h implemented.

cache.pxi    files of the compiled-code cache: which are trusted, and which are in memory only
compiler.pxi the compiler's process, which fills it
link.pxi     objects to an image: symbols resolved, code loaded
load.pxi     an image in a device's memory: variables, function descriptors, link words
launch.pxi   blocks over host threads
schedule.pxi the warps of a block: stacks, barriers, the end
lanes.pxi    what compiled code calls: accesses lane by lane, atomics, indirect calls, faults
print.pxi    vprintf
check.pxi    the executor's part of checked code (GOMPY_CHECK)

Runs in processes without an interpreter: `nogil`, C types, no exceptions; module-level variables start as zero.
"""

include "types.pxi"
include "cache.pxi"
include "compiler.pxi"
include "link.pxi"
include "load.pxi"
include "lanes.pxi"
include "print.pxi"
include "schedule.pxi"
include "check.pxi"
include "launch.pxi"
