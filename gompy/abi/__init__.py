"""Numbers and layouts of the binary interfaces that gompy meets, each in one table.

Python imports the tables.  The compiled parts cimport .pxd files, which the build writes from them
(gompy/native/generate.py).
"""
