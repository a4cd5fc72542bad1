"""What is logged: a file for the user alone, without the secrets that records hold."""

from __future__ import annotations

import io
import logging
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_adapter.logs import RedactingFormatter, set_up_logs
from agent_core.activity import working_for
from agent_core.home import Home
from tools.redaction import Redactor, redact

TOKEN = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """The root logger, which gets back the handlers that it had."""
    logger = logging.getLogger()
    before, level = list(logger.handlers), logger.level
    yield logger
    for handler in set(logger.handlers) - set(before):
        logger.removeHandler(handler)
        handler.close()
    logger.setLevel(level)


def written(log, redacting=redact) -> str:
    """What a logger that formats as ours writes."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(RedactingFormatter("%(levelname)s %(message)s", redacting))
    logger = logging.Logger("secrets")  # noqa: LOG001 - of this test alone
    logger.addHandler(handler)
    log(logger)
    return stream.getvalue()


def test_a_secret_in_the_message_or_its_arguments_is_not_written() -> None:
    assert written(lambda logger: logger.warning("sent %s to %s", TOKEN, "the server")) == (
        "WARNING sent [redacted: github token] to the server\n"
    )


def test_a_secret_in_a_traceback_is_not_written() -> None:
    def log(logger: logging.Logger) -> None:
        try:
            int(f"bad token {TOKEN}")
        except ValueError:
            logger.exception("it failed")

    text = written(log)

    assert TOKEN not in text
    assert "bad token [redacted: github token]" in text.partition("ValueError")[2]
    assert "Traceback" in text


def test_a_key_of_ours_without_a_shape_is_not_written() -> None:
    assert "local-words-only" not in written(
        lambda logger: logger.info("key: local-words-only"), Redactor(["local-words-only"])
    )


def test_the_file_and_stderr_get_the_same_without_secrets(
    home: Path, root: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up_logs(Home(home), verbose=True)

    logging.getLogger("somewhere").warning("sent %s", TOKEN)

    file = home / "logs" / "hermes-acp.log"
    for text in (file.read_text("utf-8"), capsys.readouterr().err):
        assert "sent [redacted: github token]" in text
        assert TOKEN not in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_record_says_for_which_session_and_turn_it_is(root: logging.Logger, home: Path) -> None:
    set_up_logs(Home(home), verbose=False)
    with working_for("ses_1", "turn-1"):
        logging.getLogger("x").warning("inside")
    logging.getLogger("x").warning("outside")
    inside, outside = (home / "logs" / "hermes-acp.log").read_text().splitlines()
    assert " WARNING session=ses_1 turn=turn-1 x [MainThread] inside" in inside
    assert " WARNING session=- turn=- x [MainThread] outside" in outside
