"""Calls of the CUDA driver that programs of these tests make, for which they have no header."""

from __future__ import annotations

DECLARED = """
int cuInit (unsigned);
int cuDevicePrimaryCtxRetain (void **, int);
int cuCtxSetCurrent (void *);
int cuModuleLoadData (void **, const void *);
int cuModuleGetFunction (void **, void *, const char *);
int cuLaunchKernel (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                    void **);
int cuStreamCreate (void **, unsigned);
int cuCtxSynchronize (void);
"""
