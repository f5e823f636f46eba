"""The true accelerator compiler: GCC's lto1 configured for the emulated device, built on demand (docs/accel.md)."""
