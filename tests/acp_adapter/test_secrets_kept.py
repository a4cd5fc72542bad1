"""No diagnostics hold a secret: planted ones are looked for in all that is sent and in all files of the home."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_adapter.logs import set_up_logs
from agent_core.config import ConfigSource, secrets_of
from agent_core.home import Home
from tests.support.in_memory import serving
from tests.support.model_server import ModelServer, Reply, Status
from tests.support.settings_files import use_model
from tools.redaction import Redactor

OURS = "local-server-key-without-a-shape"
THEIRS = "sk-proj-Zx9Yw8Vu7Ts6Rq5Po4Nm3Lk2Ji1Hg0Fe"
OTHER = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def logged(home: Path) -> Iterator[ConfigSource]:
    """Settings whose secrets the log of this home knows, as in a process."""
    root = logging.getLogger()
    before, level, redactor = list(root.handlers), root.level, Redactor()
    set_up_logs(Home(home), verbose=False, redacting=redactor)
    yield ConfigSource(Home(home), on_load=lambda settings: redactor.learn(secrets_of(settings)))
    for handler in set(root.handlers) - set(before):
        root.removeHandler(handler)
        handler.close()
    root.setLevel(level)


def found_in(home: Path, said: str) -> list[tuple[str, str]]:
    texts = {"the wire": said}
    for path in home.rglob("*"):
        if path.is_file() and path.name != "config.yaml":
            texts[str(path.relative_to(home))] = path.read_bytes().decode("utf-8", "replace")
    assert texts["logs/hermes-acp.log"]
    return [(place, key) for place, text in texts.items() for key in (OURS, THEIRS, OTHER) if key in text]


async def test_a_provider_that_echoes_keys_puts_them_nowhere(
    home: Path, workspace: Path, logged: ConfigSource, model_server: ModelServer
) -> None:
    refusal = f"Incorrect API key {OURS}, or {THEIRS}, from upstream with Authorization: Bearer {OTHER}"
    model_server.add(*[Status(401, {"error": {"message": refusal}})] * 8)
    use_model(home, model_server, model={"api_key": OURS})
    async with serving(home, config=logged, front_door=True) as editor:
        await editor.initialize()
        session = await editor.new_session(workspace)
        with pytest.raises(Exception, match="401"):
            await editor.prompt(session, "hello")
        logging.getLogger("test").warning("the settings had %s and %s", OURS, THEIRS)
        said = json.dumps([frame.message for frame in editor.frames])

    assert "Incorrect API key" in said
    assert found_in(home, said) == []


async def test_a_key_that_the_person_typed_is_in_no_export(
    home: Path, workspace: Path, logged: ConfigSource, model_server: ModelServer
) -> None:
    model_server.add(Reply("I will not repeat it."))
    use_model(home, model_server, model={"api_key": OURS})
    async with serving(home, config=logged, front_door=True) as editor:
        await editor.initialize()
        session = await editor.new_session(workspace)
        await editor.prompt(session, f"Use {THEIRS} and {OURS}.")
        for form in ("html", "md", "jsonl"):
            await editor.prompt(session, f"/export {form}")

    exports = list((home / "exports").iterdir())
    assert len(exports) == 3
    for export in exports:
        text = export.read_text("utf-8")
        assert "I will not repeat it." in text
        assert THEIRS not in text
        assert OURS not in text
