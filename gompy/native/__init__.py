"""What the compiled parts share: headers, and the .pxd files that describe them to Cython.

They are cimported (``from gompy.native.environment cimport …``) and need no interpreter at run time.
"""
