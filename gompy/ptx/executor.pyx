# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The PTX executor: executor.h implemented.

cache.pxi    files of the compiled-code cache: which are trusted, and which are in memory only
compiler_process.pxi  the process that fills it
link.pxi     objects to an image: symbols resolved
shared.pxi   where its shared variables lie
runs.pxi     a launch, and the host threads and warps at work on it
failures.pxi how a kernel fails
print.pxi    vprintf, malloc and the driver's other functions
code.pxi     code files, mapped or compiled when they are first called
load.pxi     an image in a device's memory: variables, function descriptors
twins.pxi    a module's functions once more, without checks
blocks.pxi   which blocks a host thread runs
turns.pxi    the stacks of warps, and going from one to the next
lanes.pxi    what compiled code calls: accesses lane by lane, atomics, indirect calls, faults
barriers.pxi where warps wait for each other
fetches.pxi tex (texture.h)
matrices.pxi mma (matrix.h), and barriers in shared memory
bulk_copies.pxi copies between device and shared memory
race_types.pxi, race_launches.pxi, race_calls.pxi  GOMPY_CHECK=race: races.h, launches, accesses, what is told
race_streams.pxi  the same between streams (race_streams.h)
stores.pxi   GOMPY_CUDA_STORES: stores that are watched (stores.h)
check.pxi    the executor's part of checked code (GOMPY_CHECK)
ops.pxi      the tables of what compiled code calls
schedule.pxi the warps of a block: stacks, turns, the end
alone.pxi    kernels that need no warp but their first
launch.pxi   blocks over host threads

Runs in processes without an interpreter: `nogil`, C types, no exceptions; module-level variables start as zero.
"""

include "types.pxi"
include "cache.pxi"
include "compiler_process.pxi"
include "link.pxi"
include "shared.pxi"
include "race_types.pxi"
include "runs.pxi"
include "failures.pxi"
include "stores.pxi"
include "race_launches.pxi"
include "print.pxi"
include "code.pxi"
include "load.pxi"
include "twins.pxi"
include "blocks.pxi"
include "turns.pxi"
include "lanes.pxi"
include "barriers.pxi"
include "matrices.pxi"
include "fetches.pxi"
include "surface_bytes.pxi"
include "check.pxi"
include "bulk_copies.pxi"
include "race_streams.pxi"
include "race_calls.pxi"
include "race_notes.pxi"
include "ops.pxi"
include "schedule.pxi"
include "alone.pxi"
include "launch.pxi"
