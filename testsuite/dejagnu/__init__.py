"""GCC's libgomp testsuite under DejaGnu, driven by GCC's own .exp files: what `make check-target-libgomp` runs.

suite: where the tests come from.  site: what DejaGnu is told.  workers: the processes and what they say meanwhile.
log: results read from libgomp.log.  expectation: the kept list.  report: tables and JUnit.
"""
