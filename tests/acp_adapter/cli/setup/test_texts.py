"""Settings and keys, changed in their files' text."""

from __future__ import annotations

import re
from io import StringIO

import pytest
import yaml
from dotenv import dotenv_values

from acp_adapter.cli.setup.config_files import (
    NotEditable,
    first_config,
    model_lines,
    with_model,
    with_variable,
)
from agent_core.settings.model import Settings
from tests.support.each import each

NEW = {"provider": "openai", "default": "gpt-5"}


@each(
    ("before", "after"),
    [
        ("", "model:\n  provider: openai\n  default: gpt-5\n"),
        ("# mine\n", "# mine\nmodel:\n  provider: openai\n  default: gpt-5\n"),
        ("agent: {max_turns: 3}", "agent: {max_turns: 3}\nmodel:\n  provider: openai\n  default: gpt-5\n"),
        ("model: old  # why\nb: 1\n", "model:  # why\n  provider: openai\n  default: gpt-5\nb: 1\n"),
        ("model:\nb: 1\n", "model:\n  provider: openai\n  default: gpt-5\nb: 1\n"),
        ("model: # none yet", "model: # none yet\n  provider: openai\n  default: gpt-5\n"),
        (
            "# top\nmodel:\n    default: 'old'   # fast\n    # who\n    provider: groq\nb: 1\n",
            "# top\nmodel:\n    default: gpt-5   # fast\n    # who\n    provider: openai\nb: 1\n",
        ),
        (
            "model:\n  default: old",
            "model:\n  provider: openai\n  default: gpt-5\n",
        ),
        ("model:\n  provider:\n  default: ''\n", "model:\n  provider: openai\n  default: gpt-5\n"),
        (
            "model:\r\n  default: old\r\nb: 1\r\n",
            "model:\r\n  provider: openai\r\n  default: gpt-5\r\nb: 1\r\n",
        ),
    ],
)
def test_the_model_is_set_and_every_other_line_stays(before: str, after: str) -> None:
    assert with_model(before, NEW) == after


def test_what_belonged_to_the_old_server_becomes_comments() -> None:
    before = """\
model:
  provider: custom
  base_url: http://llm.example.com/v1  # the old one
  headers:
    X-Team: blue
    # inside
    X-Way: 1

  # about the next
  api_keys:
  - one
  - two
  default: old
  note: mine
agent:
  max_turns: 3
"""
    after = """\
model:
  provider: openai
  # base_url: http://llm.example.com/v1  # the old one
  # headers:
  #   X-Team: blue
  #   # inside
  #   X-Way: 1

  # about the next
  # api_keys:
  # - one
  # - two
  default: gpt-5
  note: mine
agent:
  max_turns: 3
"""
    assert with_model(before, NEW, ("base_url", "headers", "api_keys", "context_length")) == after


def test_a_key_at_the_end_of_the_file_can_become_a_comment() -> None:
    before = "model:\n  default: old\n  provider: groq\n  api_key: |\n    sk-1\n"
    assert with_model(before, NEW, ("api_key",)) == (
        "model:\n  default: gpt-5\n  provider: openai\n  # api_key: |\n  #   sk-1\n"
    )


@each("name", ["qwen:7b", "1.5", "a b", "yes", "x#y", "-", "a: b", "~", "org/model@v1", 'quo"te'])
def test_any_name_of_a_model_is_read_back_as_it_is(name: str) -> None:
    written = with_model("", {"provider": "custom", "default": name})
    assert yaml.safe_load(written)["model"]["default"] == name
    assert yaml.safe_load(model_lines({"default": name})) == {"model": {"default": name}}


@each(
    "text",
    [
        '{"model": {"default": "old"}}',
        "model: {default: old}\n",
        "model: [a]\n",
        "model: 'old'\n",
        "model:\n  default: a\nmodel:\n  default: b\n",
        "model:\n  default: >\n    old\n    name\n",
        "model:\n  default: &name old\nauxiliary:\n  title: {model: *name}\n",
        "model: &m\n  default: old\nproviders:\n  x: *m\n",
        "a: 1\n...\n",
    ],
)
def test_what_is_written_in_another_way_is_not_touched(text: str) -> None:
    with pytest.raises(NotEditable):
        with_model(text, NEW)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "KEY=sk-1\n"),
        ("# mine\nOTHER=1", "# mine\nOTHER=1\nKEY=sk-1\n"),
        ("A=1\n\nKEY=old # why\nB=2\n", "A=1\n\nKEY=sk-1\nB=2\n"),
        ("export KEY='old'\nB=2\nKEY=older\n", "KEY=sk-1\nB=2\n"),
        ('A="1\nKEY=inner"\nKEY=old\n', 'A="1\nKEY=inner"\nKEY=sk-1\n'),
        ("A=1\r\nKEY=old\r\n", "A=1\r\nKEY=sk-1\r\n"),
        ("# KEY=old\nMY_KEY=x\n", "# KEY=old\nMY_KEY=x\nKEY=sk-1\n"),
    ],
)
def test_a_key_is_set_where_it_was_and_every_other_line_stays(before: str, after: str) -> None:
    assert with_variable(before, "KEY", "sk-1") == after


@each("value", ["a b", "it's", "x#y", "$HOME", "back\\slash", '"q"', "${A}", "a'b\\'c"])
def test_any_key_is_read_back_as_it_is(value: str) -> None:
    written = with_variable("A=1\n", "KEY", value)
    assert dict(dotenv_values(stream=StringIO(written), interpolate=False)) == {"A": "1", "KEY": value}


def test_the_mark_that_editors_of_windows_write_stays_and_is_no_part_of_a_name() -> None:
    assert with_variable("\ufeffA_KEY=old\r\nB=1\r\n", "A_KEY", "new") == "\ufeffA_KEY=new\r\nB=1\r\n"


def test_a_file_in_which_a_new_line_would_mean_something_else_is_refused() -> None:
    with pytest.raises(NotEditable):
        with_variable("A='\n", "KEY", "b c")


def test_a_first_config_says_in_comments_what_else_there_is_and_each_of_them_is_right() -> None:
    text = first_config(NEW)
    assert yaml.safe_load(text) == {"model": NEW}
    # Every setting that is shown, with its sign taken off.
    lines = [line.removeprefix("# ") for line in text.splitlines() if re.fullmatch(r"# ( *- .*| *\w+:( .*)?)", line)]
    shown = yaml.safe_load("\n".join(lines))
    assert set(shown) == {"fallback_providers", "approvals", "agent", "mcp_servers"}
    Settings.model_validate(shown)
    assert with_model(text, {"default": "other"}) == text.replace("gpt-5", "other")
