"""GCC offloading, toolchain and runtime, on top of a stock gcc."""
