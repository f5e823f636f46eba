"""gompcc, gompc++, gompfortran: drop-in compiler drivers."""
