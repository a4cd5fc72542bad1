"""`python -P -m acp_adapter`."""

import sys

from acp_adapter.entry import main

if __name__ == "__main__":  # the workers of a batch load this under another name
    sys.exit(main())
