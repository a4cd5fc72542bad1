"""The golden transcripts and the protocol's requirements, with the pre-release of the SDK's next version.

All of them by `make golden-rc`; otherwise some that meet every part of the SDK.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SDK = Path(os.environ.get("HERMES_RC_SDK", ROOT / ".cache" / "sdk-rc"))
_SOME = (*("handshake", "first_session", "edit_allowed", "cancel_request", "load", "fork", "set_mode", "bad_params"),)
_SAYS_VERSION = "import importlib.metadata as m; print(m.version('agent-client-protocol'))"


@pytest.mark.long
@pytest.mark.skipif(not (SDK / "acp").is_dir(), reason="the SDK's pre-release is not there: make sdk-rc")
@pytest.mark.timeout(3600)  # each transcript has a limit of its own
def test_the_transcripts_are_the_same_with_the_sdks_next_version() -> None:
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join((str(SDK), str(ROOT)))}
    surroundings.pop("GOLDEN_UPDATE", None)
    surroundings.pop("PYTHONDONTWRITEBYTECODE", None)  # nobody else imports this SDK

    def python(*words: str) -> str:
        ran = subprocess.run(
            [sys.executable, *words], cwd=ROOT, env=surroundings, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stdout[-8000:] + ran.stderr[-2000:]
        return ran.stdout

    assert python("-c", _SAYS_VERSION).startswith("1.")
    goldens = "tests/acp_adapter/test_golden.py"
    if os.environ.get("GOLDEN_RC") == "all":
        python("-m", "pytest", "--maxfail=5", goldens, "tests/tck")
    else:
        name = f"{goldens}::test_the_transcript_is_as_it_was_reviewed"
        python("-m", "pytest", "--maxfail=5", *(f"{name}[{scenario}]" for scenario in _SOME))
