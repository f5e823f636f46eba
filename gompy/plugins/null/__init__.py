"""The null device: answers at once, does nothing; measures the host side alone."""
