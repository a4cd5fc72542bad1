"""The server's command line."""

from __future__ import annotations

import pytest

from acp_adapter import __version__
from acp_adapter.cli import SUBCOMMANDS
from acp_adapter.entry import parse_arguments
from acp_adapter.startup import ServerOptions
from tests.support.each import each


@each(
    ("arguments", "options"),
    [
        ([], ServerOptions()),
        (["--offline"], ServerOptions(model="offline", provider="offline")),
        (["--model", "m", "--provider", "p"], ServerOptions(model="m", provider="p")),
        (["--base-url=http://localhost/v1"], ServerOptions(base_url="http://localhost/v1")),
        (["--profile", "work", "--verbose"], ServerOptions(profile="work", verbose=True)),
        (["acp"], ServerOptions()),
        (["acp", "--profile", "work"], ServerOptions(profile="work")),
        (["--offline", "acp"], ServerOptions(model="offline", provider="offline")),
    ],
)
def test_what_is_chosen(arguments: list[str], options: ServerOptions) -> None:
    assert parse_arguments(arguments) == options


@pytest.mark.parametrize(
    "arguments",
    [
        ["--offline", "--model", "m"],
        ["--offline", "--provider", "p"],
        ["--offline", "--base-url", "http://x"],
        ["--nonsense"],
        ["--off"],
        ["word"],
        ["acp", "acp"],
        ["acp", "word"],
        ["--model"],
    ],
)
def test_wrong_arguments_end_with_a_usage_message_and_nothing_on_stdout(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_arguments(arguments)
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "usage: hermes-acp" in said.err


@pytest.mark.parametrize(
    ("argument", "said"), [("--version", f"hermes-acp {__version__}\n"), ("--help", "--offline")]
)
def test_questions_about_the_program_are_answered(
    argument: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_arguments([argument])
    assert ended.value.code == 0
    assert said in capsys.readouterr().out


def test_the_help_names_each_command_and_what_it_is_for(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_arguments(["--help"])
    told = capsys.readouterr().out
    assert all(f"  {name} " in told and purpose in told for name, purpose in SUBCOMMANDS.items())
