"""`python -P -m acp_adapter`."""

import sys

from acp_adapter.entry import main

sys.exit(main())
