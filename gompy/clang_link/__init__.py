"""clang's linker wrapper: device images out of objects and archives, linked, registered, and the host's link run."""
