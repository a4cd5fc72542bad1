"""All scenes by name."""

from __future__ import annotations

from tests.faults.far_copying import FAR_COPYING
from tests.faults.filing import FILING
from tests.faults.keeping import KEEPING
from tests.faults.talking import TALKING
from tests.faults.trusting import TRUSTING

SCENES = TALKING | FILING | KEEPING | FAR_COPYING | TRUSTING
