"""GCC's own libgomp tests without DejaGnu: where they come from, the report, the lists of known failures.

How a test is read and carried out is in ``gompy.dg``.
"""
