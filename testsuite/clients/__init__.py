"""Programs of other people that use the CUDA driver: their own tests on the emulated GPU."""
