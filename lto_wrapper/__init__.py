"""Drop-in for GCC's lto-wrapper."""
