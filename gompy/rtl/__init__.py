"""Our devices below LLVM's own libomptarget: a library of its plugin interface."""
