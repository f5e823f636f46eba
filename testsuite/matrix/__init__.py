"""``make check-matrix``: other systems than this machine's, in trees made of their packages."""
