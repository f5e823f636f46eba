"""What gdb loads for programs with device regions: offload.py runs in gdb's own Python, with nothing of gompy."""
