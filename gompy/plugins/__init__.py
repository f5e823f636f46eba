"""Device plugins: one device kind a folder, each a table of GOMP_OFFLOAD_* functions."""
