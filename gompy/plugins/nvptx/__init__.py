"""The nvptx device: NVIDIA GPUs, or the emulated one, over the CUDA driver interface."""
