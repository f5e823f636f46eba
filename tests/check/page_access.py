"""C for a region of the emulated MIC: what access the program's own process has to an address."""

from __future__ import annotations

FUNCTION = r"""#pragma omp declare target
static int NAME (int process, unsigned long address)
{
  char line[512], access[8];
  unsigned long low, high;
  int found = 0;
  FILE *maps;
  snprintf (line, sizeof line, "/proc/%d/maps", process);
  maps = fopen (line, "r");
  while (fgets (line, sizeof line, maps))
    if (sscanf (line, "%lx-%lx %5s", &low, &high, access) == 3 && low <= address && address < high)
      found = strcmp (access, "ACCESS") == 0;
  fclose (maps);
  return found;
}
#pragma omp end declare target
"""


def asks(name: str, access: str) -> str:
    """A function ``int NAME (int process, unsigned long address)``: whether it is that of /proc/PROCESS/maps, ``r--p``.

    It takes <stdio.h> and <string.h>, and is a device's, too.
    """
    return FUNCTION.replace("NAME", name).replace("ACCESS", access)
