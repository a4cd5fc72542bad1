"""What is loaded while the person types: a prompt then waits for no module."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.support.model_server import ModelServer, Reply
from tests.support.settings_files import use_model

_PROGRAM = """
import json, sys
from pathlib import Path
from agent_core.settings.options import SessionChoices
from agent_core.config import ConfigSource
from agent_core.factory import AgentFactory
from agent_core.home import Home

factory = AgentFactory(ConfigSource(Home(Path(sys.argv[1]))))
workspace = factory.workspace(Path(sys.argv[2]), (), SessionChoices())
factory.sessions.store.create("s", sys.argv[2])
factory.warm(for_stored=sys.argv[3] == "stored")
loaded = set(sys.modules)
services = factory.services("s", workspace)
answer = factory.agent("s", workspace, services).chat("hi")
print(json.dumps([answer, sorted(set(sys.modules) - loaded)]))
factory.close()
"""


def test_the_first_prompt_loads_no_module(home, tmp_path, model_server: ModelServer):
    use_model(home, model_server)
    assert _asked_in_a_process_of_its_own(home, tmp_path, model_server, "new") == ["Hello.", []]


def test_nor_does_that_of_a_stored_session_for_which_less_is_loaded(home, tmp_path, model_server: ModelServer):
    use_model(home, model_server)
    _asked_in_a_process_of_its_own(home, tmp_path, model_server, "new")
    assert _asked_in_a_process_of_its_own(home, tmp_path, model_server, "stored") == ["Hello.", []]


def _asked_in_a_process_of_its_own(home: Path, cwd: Path, model_server: ModelServer, session: str) -> list[object]:
    """The answer, and which modules the prompt loaded."""
    model_server.add(Reply("Hello."))
    run = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(home), str(cwd), session], capture_output=True, check=True, text=True
    )
    told: list[object] = json.loads(run.stdout)
    return told
