"""What the programs of the toolchain share: their frame, processes, temporary files, response files."""
