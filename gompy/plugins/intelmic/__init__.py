"""The emulated Intel MIC device: another process with another address space."""
