"""OpenCL as a backend of the virtual device, and kernels made of regions' JSON (docs/opencl.md)."""
