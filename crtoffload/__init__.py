"""crtoffloadbegin.o, crtoffloadend.o and crtoffloadtable.o: the ends of the host offload tables."""
