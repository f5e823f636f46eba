"""LLVM's own tests of libomptarget, run by LLVM's lit on gompy's library or on LLVM's."""
