"""`python -m proa` is `proa`."""

import sys

from proa.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
