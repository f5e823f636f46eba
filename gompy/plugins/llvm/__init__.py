"""LLVM's own device plugins as devices of ours."""
