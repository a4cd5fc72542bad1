"""What commands say when they fail holds no secret, whatever made the words."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_adapter.cli.main import say_failed
from tests.support.settings_files import configure
from tests.support.subcommands import main_of


def test_what_a_server_or_a_file_has_said_is_told_without_its_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    say_failed("prompt", "The server refused: Bearer abcdefgh12345678901234567890 \x1b[31m")
    assert capsys.readouterr() == ("", "hermes-acp prompt: The server refused: Bearer [redacted: bearer token] \n")


@pytest.mark.parametrize(("command", "arguments"), [("models", []), ("mcp", ["list"])])
def test_a_setting_that_is_wrong_is_not_repeated_with_the_password_in_it(
    home: Path, command: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    configure(home, {"telemetry": {"endpoint": "ftp://me:hunterSecret99@example.org/x"}})
    assert main_of(command)(arguments) == 1
    told = capsys.readouterr().err
    assert "telemetry.endpoint" in told
    assert "hunterSecret99" not in told
