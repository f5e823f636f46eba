"""``python -m gompy.cli``: the command, where its script is not at hand."""

import sys

from gompy.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
