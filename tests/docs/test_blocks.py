"""Every block of code in the documentation is tried: run, read as settings, or proved by a test that is named."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import shlex
import tomllib
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from dotenv import dotenv_values
from pydantic import BaseModel

from acp_adapter.cli import SUBCOMMANDS, module_of
from acp_adapter.cli.editors import loads
from acp_adapter.entry import parse_arguments
from agent_core.config import load
from agent_core.home import Home
from agent_core.settings.model import Settings
from tests.support.doc_blocks import DOCS, ROOT, DocBlock, blocks, commands, indented
from tests.support.doc_fates import NOT_RUN, PARSED, PROVED_BY, SHOWN
from tests.support.doc_links import documents
from tests.support.each import each

# Its figures are printed by a program, and are set anew with each release.
_UNFENCED = {"performance.md"}
_PAGES = [os.path.relpath(path, DOCS) for path in documents()]
_BLOCKS = [block for page in _PAGES for block in blocks(page)]
_COMMANDS = {"sh", "console"}
_TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def _of(*languages: str) -> list[DocBlock]:
    return [block for block in _BLOCKS if block.language in languages and not _is_proved(block)]


def _is_proved(block: DocBlock) -> bool:
    return (block.page, block.first) in PROVED_BY


@each("page", _PAGES)
def test_all_code_stands_in_a_block_that_says_what_it_is(page: str) -> None:
    assert [block.line for block in blocks(page) if not block.language] == []
    assert page in _UNFENCED or indented(page) == []


@each("block", _BLOCKS)
def test_every_block_is_of_a_kind_that_is_tried(block: DocBlock) -> None:
    kinds = {"json", "yaml", "dotenv", "lua", "elisp"} | _COMMANDS | SHOWN
    assert _is_proved(block) or block.language in kinds, f"{block.page}:{block.line}: say in doc_fates what proves it"


@each("place, test", PROVED_BY.items())
def test_every_entry_of_the_list_is_of_a_block_and_a_test_that_are_there(place: tuple[str, str], test: str) -> None:
    assert [block for block in _BLOCKS if (block.page, block.first) == place]
    assert (ROOT / test).is_file()
    assert Path(place[0]).name in (ROOT / test).read_text(encoding="utf-8")


@each("block", _of("yaml"))
def test_settings_are_settings(block: DocBlock, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(block.code, encoding="utf-8")
    assert load(Home(tmp_path), environ={}).warnings == ()
    written = yaml.safe_load(block.code)
    assert [key for part, values in written.items() for key in _unknown(part, values)] == []


def _unknown(part: str, values: object) -> list[str]:
    """Keys of a part that its model does not have; of hooks the keys are events."""
    kind = Settings.model_fields[part].annotation
    if part == "hooks" or not (isinstance(kind, type) and issubclass(kind, BaseModel) and isinstance(values, dict)):
        return []
    return [f"{part}.{key}" for key in values if key not in kind.model_fields]


@each("block", _of("json"))
def test_json_is_json(block: DocBlock) -> None:
    assert _values(block.code)


def _values(text: str) -> list[Any]:
    """One value, or one after the other; a member alone is the one of an object."""
    stripped = text.strip()
    if stripped.startswith('"'):
        return [loads(f"{{{stripped}}}")]
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(stripped):
        value, end = decoder.raw_decode(stripped, at)
        found.append(value)
        at = end + len(stripped[end:]) - len(stripped[end:].lstrip())
    return found


@each("block", _of("dotenv"))
def test_variables_are_named_values(block: DocBlock) -> None:
    assert all(dotenv_values(stream=StringIO(block.code)).values())


@each("command", [command for block in _of(*_COMMANDS) for command in commands(block)])
def test_every_command_is_understood(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if command in NOT_RUN:
        return
    with monkeypatch.context() as patch:
        for words in _programs(command):
            _understood(words, patch)


def _programs(command: str) -> list[list[str]]:
    words = shlex.split(command, comments=True)
    found: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            found.append([])
        else:
            found[-1].append(word)
    return found


def _understood(words: list[str], patch: pytest.MonkeyPatch) -> None:
    program, *arguments = words
    if program == "make":
        assert set(arguments) <= _TARGETS
    elif program == "hermes-acp":
        _parsed(arguments, patch)
    else:
        assert program in {"git", "jq", "grep"}, f"{program}: say in doc_fates why it is not run"


class _ParsedError(Exception):
    """The arguments were understood; nothing was done."""


def _parsed(arguments: list[str], patch: pytest.MonkeyPatch) -> None:
    if not arguments or arguments[0] not in SUBCOMMANDS:
        parse_arguments(arguments)
        return
    parse = argparse.ArgumentParser.parse_args

    def stop(parser: argparse.ArgumentParser, *args: Any, **kw: Any) -> Any:
        try:
            parse(parser, *args, **kw)
        except SystemExit as refused:
            raise AssertionError("the command line is refused") from refused
        raise _ParsedError

    patch.setattr(argparse.ArgumentParser, "parse_args", stop)
    with pytest.raises(_ParsedError):
        importlib.import_module(module_of(arguments[0])).main(arguments[1:])


@each("command", ["", *SUBCOMMANDS])
def test_every_option_of_a_command_is_told_of(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[str] = set()

    def stop(parser: argparse.ArgumentParser, *_: Any, **__: Any) -> Any:
        seen.update(_options(parser))
        raise _ParsedError

    begin = importlib.import_module(module_of(command)).main if command else parse_arguments
    with monkeypatch.context() as patch:
        patch.setattr(argparse.ArgumentParser, "parse_args", stop)
        with pytest.raises(_ParsedError):
            begin(["--offline"])

    page = f"{command}.md" if command in {"batch", "doctor"} else "cli.md"
    text = (DOCS / page).read_text(encoding="utf-8")
    assert {option for option in seen if option not in text} == {"--help"} & seen


def _options(parser: argparse.ArgumentParser) -> set[str]:
    """Its long options, with those of the actions below it and their names."""
    found = {name for action in parser._actions for name in action.option_strings if name.startswith("--")}
    for action in parser._actions:
        for name, below in (action.choices or {}).items() if isinstance(action.choices, dict) else ():
            found |= {name, *_options(below)}
    return found


def test_every_command_of_the_lists_is_on_a_page() -> None:
    written = {command for block in _of(*_COMMANDS) for command in commands(block)}
    assert [command for command in (*PARSED, *NOT_RUN) if command not in written] == []


def test_every_extra_is_told_of() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    section = (DOCS / "install.md").read_text(encoding="utf-8").partition("## Extras")[2]
    rows = "\n".join(line.split("|")[1] for line in section.splitlines() if line.startswith("| `"))
    assert set(re.findall(r"`(\w+)`", rows)) == set(project["optional-dependencies"]) - {"dev"}
