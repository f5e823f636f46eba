"""A profile of a program at its exit: regions, directives, variables, devices; a library for ACC_PROFLIB."""
