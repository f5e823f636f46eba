"""The device that shares the program's memory: regions are the program's own functions, in threads of its own."""
