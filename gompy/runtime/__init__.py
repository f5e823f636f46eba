"""libgompy.so.1, the offload half of libgomp (Cython)."""
